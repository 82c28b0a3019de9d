//! What stands where an error is expected, when it may be anything?

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A value of any shape, kept only as far as errors need it.
#[derive(Debug)]
pub(crate) enum Loose<'a> {
    /// Null.
    Null,
    /// An object, with what it says under `code` and `retry_after_s`.
    Object {
        /// The member `code`.
        code: Option<Box<Self>>,
        /// The member `retry_after_s`.
        retry_after_s: Option<Box<Self>>,
    },
    /// Anything else.
    Other,
    /// Text.
    Text(Cow<'a, str>),
    /// A whole number from zero up.
    Whole(u64),
}

/// For `deserialize_with`: a member that is there, null included.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Loose<'de>>, D::Error> {
    Loose::deserialize(deserializer).map(Some)
}

/// Text that is borrowed where the format allows it.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Loose::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Loose::Other)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(u64::try_from(number).map_or(Loose::Other, Loose::Whole))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Loose::Whole(number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Loose::Other)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Self::Value, E> {
        Ok(Loose::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut code, mut retry_after_s) = (None, None);
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match key.0.as_ref() {
                "code" => code = Some(map.next_value()?),
                "retry_after_s" => retry_after_s = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Loose::Object { code, retry_after_s })
    }
}
