//! How many bytes does a base64 text stand for? Looked at, not decoded.

/// What is not a digit of the standard alphabet.
const NO_DIGIT: u8 = 0x80;

const DIGITS: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = [NO_DIGIT; 256];
    let mut at = 0;
    while at < alphabet.len() {
        digits[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    digits
};

/// The length of the bytes that `text` is the padded standard base64 of. Asked for the canonical text, bits that
/// padding leaves over must be zero.
pub(super) fn len(text: &[u8], canonical: bool) -> Option<usize> {
    let digits = match text {
        [digits @ .., b'=', b'='] | [digits @ .., b'='] => digits,
        _ => text,
    };
    if !text.len().is_multiple_of(4) || digits.iter().fold(0, |all, byte| all | DIGITS[usize::from(*byte)]) >= NO_DIGIT
    {
        return None;
    }
    let left_over = match digits.len() % 4 {
        0 => 0,
        2 => 0b1111,
        3 => 0b11,
        _ => return None,
    };
    let last = digits.last().map_or(0, |byte| DIGITS[usize::from(*byte)]);
    (!canonical || last & left_over == 0).then_some(digits.len() / 4 * 3 + (digits.len() % 4).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    #[test]
    fn left_over_bits_matter_to_the_canonical_text_only() {
        assert_eq!((len(b"QQ==", true), len(b"QR==", true), len(b"QR==", false)), (Some(1), None, Some(1)));
        for bad in [&b"Q"[..], b"QQ", b"QQ=", b"Q===", b"QQ==QQ==", b"Q Q=", b"QQ-_"] {
            assert_eq!(len(bad, false), None, "{}", String::from_utf8_lossy(bad));
        }
        assert_eq!(len(b"", true), Some(0));
    }

    proptest! {
        #[test]
        fn the_decoder_agrees(text in "[A-Za-z0-9+/=_ ]{0,16}", bytes in prop::collection::vec(any::<u8>(), 0..16)) {
            prop_assert_eq!(len(text.as_bytes(), true), STANDARD.decode(&text).ok().map(|bytes| bytes.len()));
            prop_assert_eq!(len(STANDARD.encode(&bytes).as_bytes(), true), Some(bytes.len()));
        }
    }
}
