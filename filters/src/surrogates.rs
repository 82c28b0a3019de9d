//! Which texts in JSON hold halves of surrogate pairs, and how are they read? No UTF-8 text can hold one, and many engines take them.

/// Whether a half of a pair stands alone.
pub(crate) fn is_halved(text: &str) -> bool {
    half(text, 0).is_some()
}

/// The text with every half of a pair that stands alone replaced; none when there is none, so that something else is wrong with it.
pub(crate) fn mended(text: &str) -> Option<String> {
    let mut next = Some(half(text, 0)?);
    let (mut mended, mut done) = (String::new(), 0);
    while let Some(at) = next {
        mended.push_str(&text[done..at]);
        mended.push_str("\\ufffd");
        done = at + 6;
        next = half(text, done);
    }
    mended.push_str(&text[done..]);
    Some(mended)
}

/// Where the next half of a pair that stands alone is escaped.
fn half(text: &str, mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'\\', text.as_bytes().get(at..)?)?;
        match unit(text, at) {
            Some(0xd800..=0xdbff) if matches!(unit(text, at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => return Some(at),
            // The character behind a backslash is never one that begins an escape.
            _ => at += 2,
        }
    }
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
            prop_assert_eq!(mended(&text).is_some(), is_halved(&text));
            prop_assert!(mended(&text).is_none_or(|mended| !is_halved(&mended)));
        }
    }
}
