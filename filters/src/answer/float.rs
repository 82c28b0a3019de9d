//! Which 32-bit float does a number in text name?
//!
//! An answer of vectors is little else than such numbers, so the common form is read here; `str::parse` knows all the others.

/// Powers of ten, each of which a 64-bit float holds exactly.
const TENS: [f64; 20] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19];

/// The float nearest to the number at the start of `text`, and how many bytes it takes; none when no number stands there. It may be
/// endless.
pub(super) fn read(text: &[u8]) -> Option<(f32, usize)> {
    let start = usize::from(text.first() == Some(&b'-'));
    let (mut digits, mut point, mut is_plain, mut len) = (0_u64, None, true, start);
    for byte in &text[start..] {
        match byte {
            b'0'..=b'9' => digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')),
            b'.' if point.is_none() => point = Some(len),
            b'+' | b'-' | b'.' | b'E' | b'e' => is_plain = false,
            _ => break,
        }
        len += 1;
    }
    let places = point.map_or(0, |point| len - point - 1);
    let count = len - start - usize::from(point.is_some());
    let float = if is_plain && (1..TENS.len()).contains(&count) { nearest(digits, places) } else { None };
    match float {
        Some(float) => Some((if start == 1 { -float } else { float }, len)),
        None => std::str::from_utf8(&text[..len]).ok()?.parse().ok().map(|float| (float, len)),
    }
}

/// The float nearest to these digits, so many of which stand behind the point; none when 64 bits are too few to say.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "what is lost is looked at")]
fn nearest(digits: u64, places: usize) -> Option<f32> {
    // Two roundings leave this within two steps of 64-bit floats of the number. Both have the same nearest 32-bit float, unless the
    // middle between two of those lies as close: there the 29 bits that are lost are a one and zeros.
    let wide = digits as f64 / TENS[places];
    let lost = wide.to_bits() & 0x1fff_ffff;
    (lost.abs_diff(0x1000_0000) > 2).then_some(wide as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What `str::parse` makes of the whole text, and what is read here.
    fn both(text: &str) -> (Option<u32>, Option<u32>) {
        let read = read(text.as_bytes()).filter(|(_, len)| *len == text.len());
        (text.parse().ok().map(f32::to_bits), read.map(|(float, _)| float.to_bits()))
    }

    #[test]
    fn a_number_ends_where_it_ends() {
        assert_eq!(read(b"1.5,2"), Some((1.5, 3)));
        assert_eq!(read(b"-25e-1 ]"), Some((-2.5, 6)));
        assert_eq!(read(b"1e39"), Some((f32::INFINITY, 4)));
        for text in ["", "-", "null", "\"1\"", "[1]", "NaN", "-inf", ".", "1.2.3", "1e", "--1"] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_middle_between_two_floats_is_decided_by_every_digit() {
        // 2^24 + 1 lies in the middle of 2^24 and 2^24 + 2; so do smaller ones with a point.
        for text in [
            "16777217",
            "16777217.0",
            "16777217.00000000001",
            "16777216.99999999999",
            "1.00000005960464477539",
            "1.0000000596046448",
            "1.000000059604644775",
            "1.000000059604644776",
            "0.1000000014901161193",
            "8388608.5",
            "8388609.5",
            "9999999999999999999",
            "0.0000000000000000001",
            "-0",
            "-0.0",
        ] {
            let (parsed, read) = both(text);
            assert_eq!(parsed, read, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn every_number_is_read_as_the_language_reads_it(text in "-?[0-9]{0,12}(\\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?") {
            let (parsed, read) = both(&text);
            prop_assert_eq!(parsed, read);
        }

        #[test]
        fn close_to_a_middle_too(bits in 0x2000_0000_u32..0x5f00_0000, digits in 1_usize..20, step in -3_i64..4) {
            let (low, high) = (f32::from_bits(bits), f32::from_bits(bits + 1));
            let middle = f64::midpoint(low.into(), high.into());
            let near = f64::from_bits(middle.to_bits().wrapping_add_signed(step));
            let (parsed, read) = both(&format!("{near:.digits$}"));
            prop_assert_eq!(parsed, read);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some((_, len)) = read(&bytes) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
