//! What are the values of a list?

use super::Content;
use super::cursor::Cursor;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Most values of a list that is taken apart.
const MAX_VALUES: usize = 65_536;

/// The raw values of a list that is well-formed; none when it is anything else or too long.
pub(crate) fn values(content: Content, list: &[u8]) -> Option<Vec<&[u8]>> {
    let mut values = Vec::new();
    Cursor::new(content, list).list(|cursor| {
        (values.len() < MAX_VALUES).then_some(())?;
        values.push(cursor.raw()?);
        Some(())
    })?;
    Some(values)
}

/// A list no longer than `MAX`: what an upstream claims never takes more memory than that.
#[derive(Debug)]
pub(crate) struct Bounded<T, const MAX: usize>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Bounded<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BoundedVisitor(PhantomData))
    }
}

struct BoundedVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for BoundedVisitor<T, MAX> {
    type Value = Bounded<T, MAX>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            if values.len() == MAX {
                return Err(A::Error::custom("the list is too long"));
            }
            values.push(value);
        }
        Ok(Bounded(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_its_values() {
        let json = |text: &'static str| values(Content::Json, text.as_bytes());
        assert_eq!(json("[ 1 ,[2,3], \"]\"]"), Some(vec![&b"1"[..], b"[2,3]", b"\"]\""]));
        assert_eq!(json("[]"), Some(vec![]));
        assert_eq!((json("{}"), json("1"), json("[1"), json("")), (None, None, None, None));
        let msgpack = |bytes: &'static [u8]| values(Content::Msgpack, bytes);
        assert_eq!(msgpack(&[0x92, 1, 0x91, 2]), Some(vec![&[1][..], &[0x91, 2]]));
        assert_eq!(
            (msgpack(&[0x80]), msgpack(&[0x91]), msgpack(&[0xdd, 0xff, 0xff, 0xff, 0xff, 1])),
            (None, None, None)
        );
    }

    #[test]
    fn a_list_is_no_longer_than_any_call_needs() {
        let list = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert!(values(Content::Json, list(MAX_VALUES).as_bytes()).is_some());
        assert_eq!(values(Content::Json, list(MAX_VALUES + 1).as_bytes()), None);
        let msgpack = |count: usize| {
            let mut writer = crate::writer::Writer::new(Content::Msgpack, count + 5);
            writer.list_of(count, |writer| writer.raw(&vec![1; count]));
            writer.into_bytes()
        };
        assert!(values(Content::Msgpack, &msgpack(MAX_VALUES)).is_some());
        assert_eq!(values(Content::Msgpack, &msgpack(MAX_VALUES + 1)), None);
    }
}
