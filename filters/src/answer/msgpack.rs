//! Where does a msgpack value end, and what are the members of a map?
//!
//! The walk is iterative, so that neither depth nor a claimed size can hurt: every element of a claimed array must be there.

use serde::Deserialize;

/// Deepest nesting that is read, as for JSON.
const MAX_DEPTH: usize = 128;

/// Reads one value of a known shape. What follows it is not looked at.
pub(crate) fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Option<T> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    deserializer.set_max_depth(MAX_DEPTH);
    T::deserialize(&mut deserializer).ok()
}

/// The map that `bytes` is, as names and raw values, in order; none when it is anything else, is not well-formed, has a name that is
/// no text or has more than `max` members.
pub(super) fn members(bytes: &[u8], max: usize) -> Option<Vec<(&str, &[u8])>> {
    let head = head(bytes)?;
    let Kind::Map = head.kind else { return None };
    let count = usize::try_from(head.inner / 2).ok().filter(|count| *count <= max)?;
    let mut members = Vec::with_capacity(count);
    let mut rest = &bytes[head.len..];
    for _ in 0..count {
        let (name, after) = rest.split_at(value_len(rest)?);
        let (value, after) = after.split_at(value_len(after)?);
        members.push((text(name)?, value));
        rest = after;
    }
    rest.is_empty().then_some(members)
}

fn text(value: &[u8]) -> Option<&str> {
    match token(value)? {
        (Token::Text(text), _) => Some(text),
        _ => None,
    }
}

/// A value without the values inside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Bool(bool),
    Bytes(&'a [u8]),
    /// An extension.
    Extension,
    Float(f64),
    /// How many values follow.
    List(u64),
    /// How many names with values follow.
    Map(u64),
    Nil,
    Text(&'a str),
    Whole(i128),
}

/// What stands at the start of `bytes`, and how many bytes it takes without the values inside it.
pub(super) fn token(bytes: &[u8]) -> Option<(Token<'_>, usize)> {
    let head = head(bytes)?;
    let end = head.len.checked_add(usize::try_from(head.payload).ok()?)?;
    let payload = bytes.get(head.len..end)?;
    let token = match (head.kind, bytes[0]) {
        (Kind::List, _) => Token::List(head.inner),
        (Kind::Map, _) => Token::Map(head.inner / 2),
        (Kind::Text, _) => Token::Text(std::str::from_utf8(payload).ok()?),
        (Kind::Other, 0xc0) => Token::Nil,
        (Kind::Other, marker @ (0xc2 | 0xc3)) => Token::Bool(marker == 0xc3),
        (Kind::Other, 0xc4..=0xc6) => Token::Bytes(payload),
        (Kind::Other, 0xca) => Token::Float(f64::from(f32::from_be_bytes(payload.try_into().ok()?))),
        (Kind::Other, 0xcb) => Token::Float(f64::from_be_bytes(payload.try_into().ok()?)),
        (Kind::Other, 0xcc..=0xcf) => Token::Whole(whole(payload, 0)),
        (Kind::Other, 0xd0..=0xd3) => Token::Whole(whole(payload, -i128::from(payload[0] >> 7))),
        (Kind::Other, marker @ (0..=0x7f | 0xe0..)) => Token::Whole(i128::from(i8::from_be_bytes([marker]))),
        (Kind::Other, _) => Token::Extension,
    };
    Some((token, end))
}

/// The big-endian number that `bytes` is; `above` is what stands before them: zero or, for a negative number, -1.
fn whole(bytes: &[u8], above: i128) -> i128 {
    bytes.iter().fold(above, |number, byte| number << 8 | i128::from(*byte))
}

/// How many bytes the value at the start of `bytes` takes; none when it is not well-formed.
pub(super) fn value_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    // How many values are still to come on each level.
    let mut open: Vec<u64> = Vec::new();
    loop {
        let head = head(&bytes[at..])?;
        let end = at.checked_add(head.len)?.checked_add(usize::try_from(head.payload).ok()?)?;
        let payload = bytes.get(at + head.len..end)?;
        if matches!(head.kind, Kind::Text) {
            std::str::from_utf8(payload).ok()?;
        }
        at = end;
        if head.inner > 0 {
            if open.len() == MAX_DEPTH {
                return None;
            }
            open.push(head.inner);
            continue;
        }
        loop {
            let Some(left) = open.last_mut() else { return Some(at) };
            *left -= 1;
            if *left > 0 {
                break;
            }
            open.pop();
        }
    }
}

/// The marker of a value with the sizes that belong to it.
struct Head {
    kind: Kind,
    /// Bytes of marker and sizes.
    len: usize,
    /// Bytes that follow.
    payload: u64,
    /// Values that follow.
    inner: u64,
}

enum Kind {
    List,
    Map,
    Other,
    Text,
}

fn head(bytes: &[u8]) -> Option<Head> {
    let marker = *bytes.first()?;
    // The big-endian size behind the marker, of 1, 2 or 4 bytes.
    let size = |width: usize| {
        let bytes = bytes.get(1..=width)?;
        Some(bytes.iter().fold(0_u64, |size, byte| size << 8 | u64::from(*byte)))
    };
    let head = |kind, len, payload, inner| Some(Head { kind, len, payload, inner });
    let fixed = |payload| head(Kind::Other, 1, payload, 0);
    match marker {
        0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => fixed(0),
        0x80..=0x8f => head(Kind::Map, 1, 0, u64::from(marker & 0x0f) * 2),
        0x90..=0x9f => head(Kind::List, 1, 0, u64::from(marker & 0x0f)),
        0xa0..=0xbf => head(Kind::Text, 1, u64::from(marker & 0x1f), 0),
        0xc1 => None,
        0xc4..=0xc6 => head(Kind::Other, 1 + width(marker - 0xc4), size(width(marker - 0xc4))?, 0),
        0xc7..=0xc9 => head(Kind::Other, 1 + width(marker - 0xc7), size(width(marker - 0xc7))? + 1, 0),
        0xcc | 0xd0 => fixed(1),
        0xcd | 0xd1 => fixed(2),
        0xca | 0xce | 0xd2 => fixed(4),
        0xcb | 0xcf | 0xd3 => fixed(8),
        0xd4..=0xd8 => fixed(1 + (1 << (marker - 0xd4))),
        0xd9..=0xdb => head(Kind::Text, 1 + width(marker - 0xd9), size(width(marker - 0xd9))?, 0),
        0xdc | 0xdd => head(Kind::List, 1 + width(marker - 0xdb), size(width(marker - 0xdb))?, 0).map(|head| Head {
            inner: head.payload,
            payload: 0,
            ..head
        }),
        0xde | 0xdf => head(Kind::Map, 1 + width(marker - 0xdd), size(width(marker - 0xdd))?, 0).map(|head| Head {
            inner: head.payload * 2,
            payload: 0,
            ..head
        }),
    }
}

/// 1, 2 or 4 bytes.
const fn width(step: u8) -> usize {
    1 << step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Content;
    use crate::writer::Writer;
    use crate::writer::msgpack::{write_bytes, write_text, write_whole};
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_value_ends_where_it_ends() {
        for (hex, wanted) in [
            ("00", Some(1)),
            ("7f", Some(1)),
            ("ff", Some(1)),
            ("c0", Some(1)),
            ("c1", None),
            ("c3", Some(1)),
            ("a161", Some(2)),
            ("a1ff", None),
            ("d90161", Some(3)),
            ("da000161", Some(4)),
            ("db0000000161", Some(6)),
            ("c401ff", Some(3)),
            ("c50001ff", Some(4)),
            ("c600000001ff", Some(6)),
            ("c70105ff", Some(4)),
            ("c8000105ff", Some(5)),
            ("c90000000105ff", Some(7)),
            ("cc01", Some(2)),
            ("cd0001", Some(3)),
            ("ce00000001", Some(5)),
            ("cf0000000000000001", Some(9)),
            ("d001", Some(2)),
            ("d10001", Some(3)),
            ("d200000001", Some(5)),
            ("d30000000000000001", Some(9)),
            ("ca00000001", Some(5)),
            ("cb0000000000000001", Some(9)),
            ("d405ff", Some(3)),
            ("d505ffff", Some(4)),
            ("d6050000ffff", Some(6)),
            ("d70500000000ffffffff", Some(10)),
            ("d805000102030405060708090a0b0c0d0e0f", Some(18)),
            ("80", Some(1)),
            ("90", Some(1)),
            ("8101a162", Some(4)),
            ("9201c0", Some(3)),
            ("dc000201c0", Some(5)),
            ("dd0000000201c0", Some(7)),
            ("de00010102", Some(5)),
            ("df000000010102", Some(7)),
            ("928101c09101", Some(6)),
            ("", None),
            ("92", None),
            ("9201", None),
            ("ddffffffff01", None),
            ("dfffffffff01", None),
            ("dbffffffff61", None),
        ] {
            let bytes = bytes_of(hex);
            assert_eq!(value_len(&bytes), wanted, "{hex}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| [vec![0x91; depth], vec![0xc0]].concat();
        assert_eq!(value_len(&nested(MAX_DEPTH)), Some(MAX_DEPTH + 1));
        assert_eq!(value_len(&nested(MAX_DEPTH + 1)), None);
        assert!(read::<serde::de::IgnoredAny>(&nested(100_000)).is_none());
    }

    #[test]
    fn members_are_one_map_with_texts_for_names() {
        let nil: &[u8] = &[0xc0];
        assert_eq!(members(&bytes_of("81a161c0"), 4), Some(vec![("a", nil)]));
        for (hex, why) in [
            ("81c40161c0", "a name of bytes"),
            ("81a161c0c0", "trailing bytes"),
            ("91c0", "an array"),
            ("82a161c0a162c0", "too many"),
            ("81a161", "cut off"),
        ] {
            assert_eq!(members(&bytes_of(hex), 1), None, "{why}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let long = vec!["x".repeat(40), "y".repeat(70_000)];
        let many = |count: usize| (0..count).map(|n| format!("n{n}")).collect::<Vec<_>>();
        for names in [many(0), many(15), many(16), many(70_000), long] {
            let mut writer = Writer::new(Content::Msgpack, 0);
            writer.object(|writer| names.iter().for_each(|name| writer.member_if(name, Some(&[0xc0]))));
            let out = writer.into_bytes();
            let read: Vec<_> = members(&out, 70_000).expect("a map").into_iter().map(|(name, _)| name).collect();
            assert_eq!(read, names);
        }
        for len in [0, 31, 32, 255, 256, 70_000] {
            let (mut text, mut bytes) = (Vec::new(), Vec::new());
            write_text(&"x".repeat(len), &mut text);
            write_bytes(&vec![7; len], &mut bytes);
            assert_eq!(read::<String>(&text).map(|text| text.len()), Some(len));
            assert_eq!(value_len(&bytes), Some(bytes.len()));
            assert!(bytes.len() <= len + 5 && bytes.ends_with(&vec![7; len]));
        }
        for number in [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            let mut out = Vec::new();
            write_whole(number, &mut out);
            assert_eq!((read::<u64>(&out), value_len(&out)), (Some(number), Some(out.len())));
        }
    }

    fn bytes_of(hex: &str) -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
            .collect()
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(len) = value_len(&bytes) {
                prop_assert!(len <= bytes.len());
            }
            let _ = members(&bytes, 8);
        }

        #[test]
        fn the_walk_agrees_with_serde(value in ".{0,40}", numbers in prop::collection::vec(any::<f64>(), 0..40)) {
            let bytes = rmp_serde::to_vec_named(&std::collections::BTreeMap::from([("k", (value, numbers))])).expect("it renders");
            prop_assert_eq!(value_len(&bytes), Some(bytes.len()));
        }
    }
}
