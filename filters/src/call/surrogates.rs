//! How is JSON read whose texts hold halves of surrogate pairs? No UTF-8 text can hold one, and many engines take them.

/// The text with every half of a pair that stands alone replaced; none when there is none, so that something else is wrong with it.
pub(super) fn mended(text: &str) -> Option<String> {
    let mut mended = String::new();
    let (mut done, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        at += found;
        match (unit(text, at), unit(text, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str(&text[done..at]);
                mended.push_str("\\ufffd");
                at += 6;
                done = at;
            }
            // The character behind a backslash is never one that begins an escape.
            _ => at += 2,
        }
        if at >= text.len() {
            break;
        }
    }
    if done == 0 {
        return None;
    }
    mended.push_str(&text[done..]);
    Some(mended)
}

/// The UTF-16 unit that an escape at `at` writes.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) { u16::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_are_replaced_and_pairs_stay() {
        assert_eq!(mended(r#""a\ud83d\ude00b""#), None);
        assert_eq!(
            mended(r#""\ud83d" "\\ud83d" "\ud83d\ude00" "\ude00\ud83d""#).as_deref(),
            Some(r#""\ufffd" "\\ud83d" "\ud83d\ude00" "\ufffd\ufffd""#)
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[\\\\ud83e0\"\u{e4}]{0,40}") {
            let _ = mended(&text);
        }
    }
}
