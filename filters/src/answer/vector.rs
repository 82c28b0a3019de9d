//! Which numbers is a vector, as an OpenAI host writes it: base64 of little-endian 32-bit floats, or a list of numbers?

use super::float;
use base64::Engine;
use base64::engine::general_purpose::PAD;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A vector as it stands in an answer: a JSON text or a JSON list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector<'a>(&'a str);

impl<'a> Vector<'a> {
    /// The vector that a well-formed JSON value may be. What it holds is seen when it is read.
    pub(super) const fn new(value: &'a str) -> Self {
        Self(value)
    }

    /// Whether it is written in base64.
    pub(super) fn is_base64(self) -> bool {
        self.0.starts_with('"')
    }

    /// The JSON value.
    pub(crate) const fn as_json(self) -> &'a str {
        self.0
    }

    /// Appends it as little-endian 32-bit floats, and says how many; none when it is no vector, is empty or has a number in it that is
    /// not finite as a 32-bit float.
    pub(crate) fn append_to(self, out: &mut Vec<u8>) -> Option<usize> {
        let start = out.len();
        match self.text() {
            Some(text) => engine().decode_vec(text.as_bytes(), out).ok()?,
            None => append_numbers(self.0, out)?,
        }
        let bytes = &out[start..];
        let is_whole = !bytes.is_empty() && bytes.len().is_multiple_of(4);
        (is_whole && are_finite(bytes)).then_some(bytes.len() / 4)
    }

    /// The text inside the quotes; some writers escape the slashes of base64.
    fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        serde_json::from_str(self.0).ok().map(Cow::Owned)
    }
}

/// Appends little-endian 32-bit floats as a list of JSON numbers: as 64-bit floats of the same value, as SIE writes them, so that a caller
/// who reads them so gets equal numbers from either side.
pub(crate) fn write_numbers(floats: &[u8], out: &mut Vec<u8>) {
    write_list(floats.as_chunks::<4>().0.iter().map(|float| f64::from(f32::from_le_bytes(*float))), out);
}

/// Appends numbers as a JSON list.
pub(crate) fn write_list(numbers: impl Iterator<Item: Serialize>, out: &mut Vec<u8>) {
    serde_json::Serializer::new(out).collect_seq(numbers).expect("numbers always render as JSON");
}

/// Appends bytes as a JSON text in base64.
pub(crate) fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    let len = base64::encoded_len(bytes.len(), true).expect("it is far shorter than memory");
    out.resize(start + len, 0);
    engine().encode_slice(bytes, &mut out[start..]).expect("there is room for just this");
    out.push(b'"');
}

/// Whether every little-endian 32-bit float is finite. It never stops early, so that the compiler can widen the loop.
fn are_finite(floats: &[u8]) -> bool {
    let is_endless = |float: &[u8; 4]| u32::from_le_bytes(*float) & 0x7f80_0000 == 0x7f80_0000;
    !floats.as_chunks::<4>().0.iter().fold(false, |found, float| found | is_endless(float))
}

/// Appends the numbers of a well-formed JSON value, if it is a list of nothing else.
fn append_numbers(list: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut rest = list.strip_prefix('[')?.strip_suffix(']')?.as_bytes();
    loop {
        let (number, len) = float::read(rest.trim_ascii_start())?;
        out.extend_from_slice(&number.to_le_bytes());
        rest = rest.trim_ascii_start()[len..].trim_ascii_start();
        match rest.split_first() {
            None => return Some(()),
            Some((b',', more)) => rest = more,
            Some(_) => return None,
        }
    }
}

/// The engine for the standard alphabet, with the processor's wide instructions where there are any.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn engine() -> base64::engine::Simd {
    base64::engine::Simd::standard(PAD)
}

/// The engine for the standard alphabet.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn engine() -> base64::engine::GeneralPurpose {
    base64::engine::GeneralPurpose::new(&base64::alphabet::STANDARD, PAD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn floats(json: &str) -> Option<Vec<f32>> {
        let mut out = b"before".to_vec();
        let count = Vector::new(json).append_to(&mut out)?;
        let floats: Vec<f32> = out[6..].as_chunks::<4>().0.iter().map(|float| f32::from_le_bytes(*float)).collect();
        assert_eq!(floats.len(), count);
        Some(floats)
    }

    #[test]
    fn base64_and_lists_are_the_same_numbers() {
        for json in [r#""AACAPwAAAEA=""#, "[1,2]", "[ 1.0 ,\n2e0 ]"] {
            assert_eq!(floats(json), Some(vec![1.0, 2.0]), "{json}");
        }
        assert_eq!(floats(r#""\/\/9\/fw==""#), Some(vec![f32::MAX]), "slashes may be escaped");
        assert_eq!(floats("[-0.0]").map(|floats| floats[0].to_bits()), Some((-0.0_f32).to_bits()));
        assert_eq!(floats("[1e-46,1e-45]"), Some(vec![0.0, f32::from_bits(1)]));
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        for json in [
            r#""""#,
            "[]",
            "[ ]",
            "{}",
            "1",
            "null",
            "true",
            "[null]",
            "[true]",
            r#"["1"]"#,
            "[[1]]",
            "[[1],[2]]",
            "[1,[2]]",
            r#"[{"a":1}]"#,
            r#"["a,inf,b"]"#,
            r#"["nan"]"#,
            "[1e39]",
            "[-1e39]",
            r#""AACAPw""#,
            r#""AACAPw=""#,
            r#""AACAPx==""#,
            r#""AACAP$==""#,
            r#""AACA""#,
            r#"" AACAPw==""#,
            r#""AADAfw==""#,
            r#""AACAfw==""#,
            r#""AACA/w==""#,
            r#""\u00e9""#,
        ] {
            assert_eq!(floats(json), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn every_finite_float_survives_both_forms(bits in prop::collection::vec(any::<u32>(), 1..64)) {
            let list: Vec<f32> = bits.into_iter().map(f32::from_bits).filter(|float| float.is_finite()).collect();
            prop_assume!(!list.is_empty());
            let bytes: Vec<u8> = list.iter().flat_map(|float| float.to_le_bytes()).collect();
            for write in [write_numbers, write_base64] {
                let mut json = Vec::new();
                write(&bytes, &mut json);
                let json: &serde_json::value::RawValue = serde_json::from_slice(&json).expect("it is JSON");
                let mut read = Vec::new();
                prop_assert_eq!(Vector::new(json.get()).append_to(&mut read), Some(list.len()));
                prop_assert_eq!(&read, &bytes);
            }
        }

        #[test]
        fn arbitrary_values_never_panic(json in "[\\[\\]\"{},0-9eE+-.A-Za-z=/\\\\ ]{0,40}") {
            let _ = floats(&json);
        }
    }
}
