//! What does a numpy array in msgpack hold? Read where it stands, for `msgpack_numpy.json`: a map with names of bytes.

use super::msgpack::{Token, token};
use super::numeral::Number;

/// Most dimensions of an array.
const MAX_DIMS: usize = 8;

/// An array whose data is as long as its shape says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Array<'a> {
    element: Element,
    shape: [usize; MAX_DIMS],
    dims: usize,
    data: &'a [u8],
}

/// What one element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) kind: Kind,
    /// Bytes of one element.
    pub(crate) size: usize,
    big_endian: bool,
}

/// Which numbers elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Float,
    Signed,
    Unsigned,
}

impl<'a> Array<'a> {
    /// The array that `value` is; none when it is anything else, and when it is one that SIE refuses: objects, complex numbers, more
    /// than eight dimensions, data of another length.
    pub(crate) fn read(value: &'a [u8]) -> Option<Self> {
        let fields = Fields::read(value)?;
        let (shape, dims) = fields.shape.filter(|_| fields.nd == Some(true))?;
        let count = shape[..dims].iter().try_fold(1_usize, |count, side| count.checked_mul(*side))?;
        let (element, data) = (fields.element?, fields.data?);
        (count.checked_mul(element.size)? == data.len()).then_some(Self { element, shape, dims, data })
    }

    /// How many elements there are along each dimension.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape[..self.dims]
    }

    /// What its elements are.
    pub(crate) const fn element(&self) -> Element {
        self.element
    }

    /// Whether every element is finite as a 32-bit float. Integers are.
    pub(crate) fn is_finite(&self) -> bool {
        let endless = match (self.element.kind, self.element.size) {
            (Kind::Float, 2) => self.any(|bytes: [u8; 2]| u16::from_le_bytes(bytes) & 0x7c00 == 0x7c00),
            (Kind::Float, 4) => self.any(|bytes: [u8; 4]| u32::from_le_bytes(bytes) & 0x7f80_0000 == 0x7f80_0000),
            (Kind::Float, _) => self.any(|bytes: [u8; 8]| !fits_f32(f64::from_le_bytes(bytes))),
            (Kind::Bool | Kind::Signed | Kind::Unsigned, _) => false,
        };
        !endless
    }

    /// Whether any element is, asked of its little-endian bytes. It never stops early, so that the compiler can widen the loop.
    fn any<const SIZE: usize>(&self, is: impl Fn([u8; SIZE]) -> bool) -> bool {
        let (elements, _) = self.data.as_chunks::<SIZE>();
        elements.iter().fold(false, |found, element| {
            let mut element = *element;
            if self.element.big_endian {
                element.reverse();
            }
            found | is(element)
        })
    }

    /// The largest element and one more, or zero when there is none; none when the elements are no whole numbers or one is negative.
    pub(crate) fn index_bound(&self) -> Option<u64> {
        if matches!(self.element.kind, Kind::Bool | Kind::Float) {
            return None;
        }
        self.data.chunks_exact(self.element.size).try_fold(0_u64, |bound, bytes| {
            let index = u64::try_from(self.element.whole(bytes)).ok()?;
            Some(bound.max(index.checked_add(1)?))
        })
    }
}

/// The number that a numpy scalar is: some engines let one slip where a plain number is meant.
pub(super) fn scalar(value: &[u8]) -> Option<Number<'static>> {
    let fields = Fields::read(value)?;
    let (element, data) = (fields.element?, fields.data?);
    if fields.nd != Some(false) || fields.shape.is_some() || data.len() != element.size {
        return None;
    }
    let mut wide = [0; 8];
    wide[..data.len()].copy_from_slice(data);
    if element.big_endian {
        wide[..data.len()].reverse();
    }
    Some(match (element.kind, element.size) {
        (Kind::Bool, _) => return None,
        (Kind::Float, 2) => Number::Float(half::f16::from_le_bytes([wide[0], wide[1]]).to_f64()),
        (Kind::Float, 4) => Number::Float(f32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]]).into()),
        (Kind::Float, _) => Number::Float(f64::from_le_bytes(wide)),
        (Kind::Signed | Kind::Unsigned, _) => Number::Whole(element.whole(data)),
    })
}

/// Whether a number is finite as a 32-bit float.
pub(super) const fn fits_f32(number: f64) -> bool {
    (number as f32).is_finite()
}

impl Element {
    /// The element that numpy writes as `name`.
    fn named(name: &str) -> Option<Self> {
        let [order, kind, size] = *name.as_bytes() else { return None };
        let size = usize::from(size.wrapping_sub(b'0'));
        let kind = match (order, kind, size) {
            (b'|', b'b', 1) => Kind::Bool,
            (b'<' | b'>', b'f', 2 | 4 | 8) => Kind::Float,
            (b'|', b'i', 1) | (b'<' | b'>', b'i', 2 | 4 | 8) => Kind::Signed,
            (b'|', b'u', 1) | (b'<' | b'>', b'u', 2 | 4 | 8) => Kind::Unsigned,
            _ => return None,
        };
        Some(Self { kind, size, big_endian: order == b'>' })
    }

    /// The whole number that these bytes are.
    fn whole(self, bytes: &[u8]) -> i128 {
        let top = if self.big_endian { bytes.first() } else { bytes.last() };
        let negative = self.kind == Kind::Signed && top.is_some_and(|byte| byte >> 7 == 1);
        let join = |number: i128, byte: &u8| number << 8 | i128::from(*byte);
        let above = -i128::from(negative);
        if self.big_endian { bytes.iter().fold(above, join) } else { bytes.iter().rev().fold(above, join) }
    }
}

/// The members of an array or a scalar, as far as they are there.
#[derive(Default)]
struct Fields<'a> {
    nd: Option<bool>,
    element: Option<Element>,
    kind: Option<()>,
    shape: Option<([usize; MAX_DIMS], usize)>,
    data: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// The members of the map that `value` is; none when one is unknown, stands twice or is not what it should be.
    fn read(value: &'a [u8]) -> Option<Self> {
        let mut rest = value;
        let Token::Map(count @ 0..=5) = next(&mut rest)? else { return None };
        let mut fields = Self::default();
        for _ in 0..count {
            let Token::Bytes(name) = next(&mut rest)? else { return None };
            let repeats = match (name, next(&mut rest)?) {
                (b"nd", Token::Bool(nd)) => fields.nd.replace(nd).is_some(),
                (b"type", Token::Text(name)) => fields.element.replace(Element::named(name)?).is_some(),
                (b"kind", Token::Bytes(b"") | Token::Text("")) => fields.kind.replace(()).is_some(),
                (b"shape", Token::List(dims)) => fields.shape.replace(sides(&mut rest, dims)?).is_some(),
                (b"data", Token::Bytes(data)) => fields.data.replace(data).is_some(),
                _ => return None,
            };
            (!repeats).then_some(())?;
        }
        rest.is_empty().then_some(fields)
    }
}

fn sides(rest: &mut &[u8], dims: u64) -> Option<([usize; MAX_DIMS], usize)> {
    let mut shape = [0; MAX_DIMS];
    let dims = usize::try_from(dims).ok().filter(|dims| *dims <= MAX_DIMS)?;
    for side in &mut shape[..dims] {
        let Token::Whole(length) = next(rest)? else { return None };
        *side = usize::try_from(length).ok()?;
    }
    Some((shape, dims))
}

fn next<'a>(rest: &mut &'a [u8]) -> Option<Token<'a>> {
    let (token, len) = token(rest)?;
    *rest = &rest[len..];
    Some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn array(name: &str, shape: &[u8], data: &[u8]) -> Vec<u8> {
        let short = |bytes: &[u8]| [&[0xc4, u8::try_from(bytes.len()).expect("it is short")], bytes].concat();
        let mut out = vec![0x85];
        out.extend(
            [short(b"nd"), vec![0xc3], short(b"type"), vec![0xa0 | u8::try_from(name.len()).expect("short")]].concat(),
        );
        out.extend([name.as_bytes(), &short(b"kind"), &short(b""), &short(b"shape")].concat());
        out.push(0x90 | u8::try_from(shape.len()).expect("it is short"));
        out.extend([shape, &short(b"data"), &short(data)].concat());
        out
    }

    fn is_finite(name: &str, data: &[u8], size: u8) -> bool {
        let bytes = array(name, &[u8::try_from(data.len()).expect("it is short") / size], data);
        Array::read(&bytes).expect("it is an array").is_finite()
    }

    #[test]
    fn the_shape_must_be_what_the_data_is() {
        for (shape, bytes, is_one) in [
            (&[2_u8][..], 8, true),
            (&[1, 2], 8, true),
            (&[0, 2], 0, true),
            (&[], 4, true),
            (&[1; 8], 4, true),
            (&[1; 9], 4, false),
            (&[2], 4, false),
            (&[1], 5, false),
        ] {
            let bytes = array("<f4", shape, &vec![0; bytes]);
            assert_eq!(Array::read(&bytes).is_some(), is_one, "{shape:?}");
            assert!(Array::read(&[bytes.as_slice(), &[0xc0]].concat()).is_none(), "trailing bytes");
        }
    }

    #[test]
    fn only_plain_numbers_are_elements() {
        for name in ["<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8"] {
            let size = name.as_bytes()[2] - b'0';
            for name in [name.to_owned(), name.replace('<', ">")] {
                let bytes = array(&name, &[1], &vec![0; usize::from(size)]);
                let array = Array::read(&bytes).expect("it is an array");
                assert_eq!((array.element().size, array.shape()), (usize::from(size), &[1][..]), "{name}");
            }
        }
        for name in ["|b1", "|i1", "|u1"] {
            assert!(Array::read(&array(name, &[1], &[0])).is_some(), "{name}");
        }
        for name in ["<c8", "|O1", "<f1", "<f3", "=f4", "f4", "|f4", "<i1", "<u16", "<b1", "", "<f40", "<M8"] {
            assert!(Array::read(&array(name, &[1], &[0; 8])).is_none(), "{name}");
        }
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let good = array("<f4", &[1], &[0; 4]);
        assert!(Array::read(&good).is_some());
        let swapped = |from: &[u8], to: &[u8]| {
            let at = good.windows(from.len()).position(|window| window == from).expect("it is there");
            [&good[..at], to, &good[at + from.len()..]].concat()
        };
        for (bytes, why) in [
            (swapped(b"nd\xc3", b"nd\xc2"), "a scalar with a shape"),
            (swapped(b"nd\xc3", b"nd\x01"), "nd is no boolean"),
            (swapped(b"kind\xc4\x00", b"kind\xc4\x01O"), "an object"),
            (swapped(b"\xc4\x04data\xc4", b"\xc4\x04data\xd9"), "data is text"),
            (swapped(b"\xc4\x04kind\xc4\x00", b"\xc4\x02nd\xc3"), "nd stands twice"),
            (swapped(b"\xc4\x04kind", b"\xc4\x04more"), "an unknown member"),
            (swapped(b"\xc4\x02nd", b"\xa2nd"), "a name of text"),
            (swapped(b"shape\x91\x01", b"shape\x91\xff"), "a negative side"),
            (swapped(b"shape\x91\x01", b"shape\xdd\xff\xff\xff\xff\x01"), "a claimed shape"),
            (vec![0xdf, 0xff, 0xff, 0xff, 0xff], "a claimed map"),
            (vec![0x80], "nothing"),
        ] {
            assert!(Array::read(&bytes).is_none(), "{why}");
        }
        let huge = [&[0x92][..], &[0xcf; 1], &u64::MAX.to_be_bytes(), &[0xcf], &u64::MAX.to_be_bytes()].concat();
        assert!(Array::read(&swapped(b"\x91\x01", &huge)).is_none(), "more elements than can be counted");
    }

    #[derive(serde::Deserialize)]
    struct Golden {
        array: Described,
        samples: Vec<Sample>,
        reject: Vec<String>,
    }

    #[derive(serde::Deserialize)]
    struct Described {
        r#type: String,
    }

    #[derive(serde::Deserialize)]
    struct Sample {
        value: serde_json::Value,
        dtype: String,
        hex: String,
    }

    fn golden() -> Golden {
        serde_json::from_str(include_str!("../../tests/fixtures/msgpack_numpy.json")).expect("the fixture is JSON")
    }

    /// What stands under `v` in a sample.
    fn sampled(sample: &Sample) -> Vec<u8> {
        let digits = sample.hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        let bytes: Vec<u8> = digits.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect();
        bytes.strip_prefix(b"\x81\xa1v").expect("one member").to_vec()
    }

    #[test]
    fn the_golden_samples_are_read() {
        let golden = golden();
        let [list, one] = &golden.samples[..] else { panic!("two samples") };
        assert_eq!((list.dtype.as_str(), one.dtype.as_str()), ("<f4", "<f4 scalar"));
        let bytes = sampled(list);
        assert_eq!(bytes, array("<f4", &[2], &[1.0_f32.to_le_bytes(), 2.0_f32.to_le_bytes()].concat()));
        let read = Array::read(&bytes).expect("it is an array");
        assert_eq!(read.shape(), [2]);
        assert_eq!(read.element(), Element { kind: Kind::Float, size: 4, big_endian: false });
        let numbers: Vec<_> = read.data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        assert_eq!(serde_json::json!({"v": numbers}), list.value);
        assert_eq!(scalar(&bytes), None, "an array is no scalar");
        let bytes = sampled(one);
        let Some(Number::Float(number)) = scalar(&bytes) else { panic!("it is a scalar") };
        assert_eq!(serde_json::json!({"v": number}), one.value);
        assert_eq!(Array::read(&bytes), None, "a scalar is no array");
    }

    /// The words of the fixture that name elements; "the > forms" are those of `<`.
    #[test]
    fn every_golden_element_is_one() {
        let described = golden().array.r#type;
        let words: Vec<_> = described.split([' ', ',']).filter(|word| word.starts_with(['<', '|'])).collect();
        assert_eq!(words.len(), 12);
        for word in words {
            assert!(Element::named(word).is_some_and(|element| !element.big_endian), "{word}");
            let other = word.replace('<', ">");
            assert_eq!(Element::named(&other).is_some_and(|element| element.big_endian), word != other, "{other}");
        }
    }

    #[test]
    fn every_golden_refusal_is_one() {
        let golden = golden();
        let good = sampled(&golden.samples[0]);
        let swapped = |from: &[u8], to: &[u8]| {
            let at = good.windows(from.len()).position(|window| window == from).expect("it is there");
            [&good[..at], to, &good[at + from.len()..]].concat()
        };
        let of = |name: &str, bytes: &[u8]| array(name, &[1], bytes);
        for reason in &golden.reject {
            let bad: Vec<Vec<u8>> = match reason.as_str() {
                "nd not boolean" => {
                    [&b"\x01"[..], b"\xc0", b"\xa4true"].map(|nd| swapped(b"nd\xc3", &[b"nd", nd].concat())).into()
                }
                "kind not empty (object or structured)" => [&b"\xc4\x01O"[..], b"\xc4\x01V", b"\xa1O", b"\xc0"]
                    .map(|kind| swapped(b"kind\xc4\x00", &[b"kind", kind].concat()))
                    .into(),
                "complex" => vec![of("<c8", &[0; 8]), of("<c16", &[0; 16]), of(">c8", &[0; 8])],
                "dtype outside the list" => {
                    [("|O", 8), ("<U1", 4), ("|S1", 1), ("<M8", 8), ("<m8", 8), ("<V4", 4), ("<f3", 3), ("f4", 4)]
                        .map(|(name, size)| of(name, &vec![0; size]))
                        .into()
                }
                "data not BIN or wrong length" => vec![
                    swapped(b"data\xc4\x08", b"data\xd9\x08"),
                    swapped(b"data\xc4\x08\x00\x00\x80\x3f\x00\x00\x00\x40", b"data\xc4\x04\x00\x00\x80\x3f"),
                    swapped(b"data\xc4\x08", b"data\xc4\x09\x00"),
                    swapped(b"shape\x91\x02", b"shape\x91\x01"),
                ],
                "more than 8 dimensions" => vec![array("<f4", &[1; 9], &[0; 4]), array("<f4", &[1; 15], &[0; 4])],
                "trailing bytes after the body" => vec![[&good[..], b"\xc0"].concat(), good.repeat(2)],
                other => panic!("the fixture has a new refusal: {other}"),
            };
            for bytes in bad {
                assert_eq!(Array::read(&bytes), None, "{reason}: {bytes:02x?}");
            }
        }
        assert_eq!(golden.reject.len(), 7);
    }

    #[test]
    fn every_float_is_looked_at_in_both_orders() {
        let (one, nan, inf) = ([1.0_f32, -1.5], [1.0, f32::NAN], [f32::NEG_INFINITY, 0.0]);
        for (numbers, wanted) in [(one, true), (nan, false), (inf, false)] {
            let bytes =
                |put: &dyn Fn(f32) -> Vec<u8>| numbers.iter().flat_map(|number| put(*number)).collect::<Vec<_>>();
            let half = |number: f32| half::f16::from_f32(number);
            assert_eq!(is_finite("<f4", &bytes(&|n| n.to_le_bytes().to_vec()), 4), wanted);
            assert_eq!(is_finite(">f4", &bytes(&|n| n.to_be_bytes().to_vec()), 4), wanted);
            assert_eq!(is_finite("<f2", &bytes(&|n| half(n).to_le_bytes().to_vec()), 2), wanted);
            assert_eq!(is_finite(">f2", &bytes(&|n| half(n).to_be_bytes().to_vec()), 2), wanted);
            assert_eq!(is_finite("<f8", &bytes(&|n| f64::from(n).to_le_bytes().to_vec()), 8), wanted);
            assert_eq!(is_finite(">f8", &bytes(&|n| f64::from(n).to_be_bytes().to_vec()), 8), wanted);
        }
        assert!(!is_finite("<f8", &1e39_f64.to_le_bytes(), 8), "it is endless as a 32-bit float");
        assert!(is_finite("|i1", &[0xff, 0x7f], 1) && is_finite("<u2", &[0xff; 4], 2));
    }

    #[test]
    fn indexes_are_whole_and_not_negative() {
        let bound =
            |name, count, data: &[u8]| Array::read(&array(name, &[count], data)).expect("an array").index_bound();
        assert_eq!(bound("<i4", 2, &[1, 0, 0, 0, 9, 0, 0, 0]), Some(10));
        assert_eq!(bound(">u2", 2, &[1, 0, 0, 9]), Some(257));
        assert_eq!(bound("|u1", 1, &[0xff]), Some(256));
        assert_eq!(bound("<i8", 0, &[]), Some(0));
        assert_eq!(bound("|i1", 1, &[0xff]), None);
        assert_eq!(bound("<i4", 1, &[0xfe, 0xff, 0xff, 0xff]), None);
        assert_eq!(bound("<u8", 1, &[0xff; 8]), None);
        assert_eq!(bound("<f4", 1, &[0; 4]), None);
        assert_eq!(bound("|b1", 1, &[1]), None);
    }

    #[test]
    fn a_scalar_is_its_number() {
        let of = |name: &str, data: &[u8]| {
            let short = |bytes: &[u8]| [&[0xc4, u8::try_from(bytes.len()).expect("short")], bytes].concat();
            let name = [&[0xa3][..], name.as_bytes()].concat();
            scalar(
                &[&[0x83][..], &short(b"nd"), &[0xc2], &short(b"type"), &name, &short(b"data"), &short(data)].concat(),
            )
        };
        assert_eq!(of("<f4", &1.5_f32.to_le_bytes()), Some(Number::Float(1.5)));
        assert_eq!(of(">f8", &1.5_f64.to_be_bytes()), Some(Number::Float(1.5)));
        assert_eq!(of("<f2", &half::f16::from_f32(1.5).to_le_bytes()), Some(Number::Float(1.5)));
        assert_eq!(of("<i4", &(-7_i32).to_le_bytes()), Some(Number::Whole(-7)));
        assert_eq!(of("|u1", &[200]), Some(Number::Whole(200)));
        assert_eq!(of("|b1", &[1]), None);
        assert_eq!(of("<f4", &[0; 8]), None);
        assert_eq!(scalar(&array("<f4", &[1], &[0; 4])), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(at in any::<prop::sample::Index>(), byte: u8, bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut changed = array("<f4", &[2], &[0; 8]);
            let at = at.index(changed.len());
            changed[at] = byte;
            for bytes in [changed, bytes] {
                if let Some(array) = Array::read(&bytes) {
                    let _ = (array.is_finite(), array.index_bound());
                }
                let _ = scalar(&bytes);
            }
        }
    }
}
