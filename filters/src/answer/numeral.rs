//! What number stands here, and how far must it be read?

use super::array::fits_f32;
use std::str::FromStr;

/// A number as it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number<'a> {
    /// In msgpack, or by numpy.
    Float(f64),
    /// In JSON: read only when its value matters.
    Json {
        text: &'a [u8],
        /// It is far from the end of 32-bit floats by its length alone, as the most numbers are.
        is_small: bool,
    },
    /// In msgpack.
    Whole(i128),
}

impl<'a> Number<'a> {
    /// The number at the start of well-formed JSON, and how many bytes it takes.
    pub(super) fn json(text: &'a [u8]) -> Option<(Self, usize)> {
        text.first().filter(|byte| **byte == b'-' || byte.is_ascii_digit())?;
        let run = |from: usize| {
            text[from..].iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.')).count()
        };
        let plain = run(0);
        let has_exponent = matches!(text.get(plain), Some(b'E' | b'e'));
        let len = if has_exponent { plain + 1 + run(plain + 1) } else { plain };
        Some((Self::Json { text: &text[..len], is_small: len < 38 && !has_exponent }, len))
    }

    pub(super) fn is_finite(self) -> bool {
        match self {
            Self::Float(number) => number.is_finite(),
            Self::Json { text, is_small } => is_small || parsed(text).is_some_and(f64::is_finite),
            Self::Whole(_) => true,
        }
    }

    /// Whether it is finite as a 32-bit float.
    pub(super) fn fits_f32(self) -> bool {
        match self {
            Self::Float(number) => fits_f32(number),
            Self::Json { text, is_small } => is_small || parsed(text).is_some_and(fits_f32),
            Self::Whole(_) => true,
        }
    }

    /// Its value, if it is written as a whole number.
    pub(super) fn whole(self) -> Option<i128> {
        match self {
            Self::Float(_) => None,
            // No counter writes a zero below zero.
            Self::Json { text, .. } => parsed(text).filter(|number| *number != 0 || !text.starts_with(b"-")),
            Self::Whole(number) => Some(number),
        }
    }

    /// Its value as a float, to compare it.
    pub(super) fn float(self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(number),
            Self::Json { text, .. } => parsed(text),
            #[expect(clippy::cast_precision_loss, reason = "it is compared, not passed on")]
            Self::Whole(number) => Some(number as f64),
        }
    }
}

fn parsed<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_what_it_is_written_as() {
        let json = |text: &'static str| Number::json(text.as_bytes()).map(|(number, _)| number);
        for text in ["true", "null", "\"1\"", "[1]", "", "NaN"] {
            assert_eq!(json(text), None, "{text}");
        }
        let read = |text| json(text).map(|number| (number.whole(), number.is_finite(), number.fits_f32()));
        assert_eq!(read("-7"), Some((Some(-7), true, true)));
        assert_eq!(read("1.0"), Some((None, true, true)));
        assert_eq!(read("1e39"), Some((None, true, false)));
        assert_eq!(read("-1e999"), Some((None, false, false)));
        assert_eq!(read("3.4028235e38"), Some((None, true, true)));
        let long = "9".repeat(40);
        let (number, len) = Number::json(long.as_bytes()).expect("a number");
        assert_eq!((len, Number::json(b"1.5,2").map(|(_, len)| len)), (40, Some(3)));
        assert_eq!((number.whole(), number.is_finite(), number.fits_f32()), (None, true, false));
        assert!(!Number::Float(f64::NAN).is_finite() && !Number::Float(1e39).fits_f32());
    }

    proptest! {
        #[test]
        fn short_cuts_say_what_reading_says(text in "-?[0-9]{1,45}(\\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?") {
            let (number, _) = Number::json(text.as_bytes()).expect("a number");
            let read: f64 = text.parse().expect("a float");
            prop_assert_eq!(number.is_finite(), read.is_finite());
            prop_assert_eq!(number.fits_f32(), fits_f32(read));
        }
    }
}
