//! What are the values of a list?

use super::{Content, msgpack};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// Most values of a list that is taken apart.
const MAX_VALUES: usize = 65_536;

/// The raw values of a list; none when it is anything else, not well-formed or too long.
pub(crate) fn values(content: Content, bytes: &[u8]) -> Option<Vec<&[u8]>> {
    match content {
        Content::Json => {
            let list: RawList<'_, MAX_VALUES> = serde_json::from_slice(bytes).ok()?;
            Some(list.0.into_iter().map(|value| value.get().as_bytes()).collect())
        }
        Content::Msgpack => msgpack::values(bytes, MAX_VALUES),
        Content::Text => None,
    }
}

/// A list of raw JSON values, no longer than `MAX`.
pub(super) type RawList<'a, const MAX: usize> = Bounded<&'a RawValue, MAX>;

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
