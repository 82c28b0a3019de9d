//! How large would a JSON text be as a tree? Asked before one is built of what a stranger wrote: a byte of text can become a hundred of
//! memory.

/// The most values that are built into a tree.
pub(crate) const MOST_VALUES: usize = 1 << 17;

/// How deep the brackets nest.
pub(crate) fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    outside_strings(text, |byte| match byte {
        b'{' | b'[' => {
            depth += 1;
            deepest = deepest.max(depth);
        }
        b'}' | b']' => depth = depth.saturating_sub(1),
        _ => {}
    });
    deepest
}

/// At least as many values as there are.
pub(crate) fn values(text: &[u8]) -> usize {
    let mut values = 1;
    outside_strings(text, |byte| values += usize::from(matches!(byte, b',' | b'{' | b'[')));
    values
}

fn outside_strings(text: &[u8], mut see: impl FnMut(u8)) {
    let (mut in_string, mut escaped) = (false, false);
    for &byte in text {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte == b'"' {
            in_string = true;
        } else {
            see(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_strings_does_not_count() {
        let text = br#"{"a,[{":[1,2,{"b":"\\"},"\",["],"c":{}}"#;
        assert_eq!(depth(text), 3);
        assert_eq!(values(text), 9);
        assert_eq!((depth(b"]]["), values(b"\"[[")), (1, 1));
    }
}
