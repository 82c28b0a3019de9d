//! How large would a JSON text be as a tree? Asked before one is built of what a stranger wrote: a byte of text can become a hundred of
//! memory.

use crate::scan::after_string;

/// The most values that are built into a tree.
pub(crate) const MOST_VALUES: usize = 1 << 17;

/// How deep the brackets nest.
pub(crate) fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut rest) = (0_usize, 0, text);
    // What ends a bracket or begins a string is looked for; what is between opens brackets only, and most of it is numbers.
    while let Some(at) = memchr::memchr3(b'"', b']', b'}', rest) {
        depth += openings(&rest[..at]);
        deepest = deepest.max(depth);
        if rest[at] == b'"' {
            rest = after_string(&rest[at + 1..]).unwrap_or_default();
        } else {
            depth = depth.saturating_sub(1);
            rest = &rest[at + 1..];
        }
    }
    deepest.max(depth + openings(rest))
}

/// At least as many values as there are.
pub(crate) fn values(text: &[u8]) -> usize {
    let (mut values, mut rest) = (1, text);
    while let Some(at) = memchr::memchr(b'"', rest) {
        values += starts(&rest[..at]);
        rest = after_string(&rest[at + 1..]).unwrap_or_default();
    }
    values + starts(rest)
}

fn openings(text: &[u8]) -> usize {
    memchr::memchr2_iter(b'{', b'[', text).count()
}

fn starts(text: &[u8]) -> usize {
    memchr::memchr3_iter(b',', b'{', b'[', text).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_stands_in_strings_does_not_count() {
        let text = br#"{"a,[{":[1,2,{"b":"\\"},"\",["],"c":{}}"#;
        assert_eq!(depth(text), 3);
        assert_eq!(values(text), 9);
        assert_eq!((depth(b"]]["), values(b"\"[[")), (1, 1));
    }

    proptest! {
        #[test]
        fn every_byte_outside_strings_counts(text in r#"[\[\]{},"\\1]{0,40}"#) {
            let (mut level, mut deepest, mut count, mut in_string, mut escaped) = (0_usize, 0, 1, false, false);
            for byte in text.bytes() {
                match byte {
                    _ if in_string => {
                        in_string = escaped || byte != b'"';
                        escaped = !escaped && byte == b'\\';
                    }
                    b'"' => in_string = true,
                    b'{' | b'[' => level += 1,
                    b'}' | b']' => level = level.saturating_sub(1),
                    _ => {}
                }
                count += usize::from(!in_string && matches!(byte, b',' | b'{' | b'['));
                deepest = deepest.max(level);
            }
            prop_assert_eq!((depth(text.as_bytes()), values(text.as_bytes())), (deepest, count));
        }
    }
}
