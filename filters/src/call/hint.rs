//! How is a value read of which only a hint is wanted? Any value is taken; one of another shape says nothing.

use super::{Count, Hint, Options, Params, StreamOptions};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Reads any value: scalars through the methods given, everything else is skipped and becomes `$other`.
macro_rules! any_value {
    ($name:ident, $visitor:ident, $other:expr, { $($method:item)* }) => {
        struct $visitor;

        impl<'de> Visitor<'de> for $visitor {
            type Value = $name;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("any value")
            }

            $($method)*

            fn visit_unit<E>(self) -> Result<$name, E> {
                Ok($other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<$name, E> {
                Ok($other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<$name, E> {
                Ok($other)
            }

            fn visit_bytes<E>(self, _: &[u8]) -> Result<$name, E> {
                Ok($other)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($visitor)
            }
        }
    };
}

fn skip_seq<'de, A: SeqAccess<'de>>(mut elements: A) -> Result<usize, A::Error> {
    let mut count = 0;
    while elements.next_element::<IgnoredAny>()?.is_some() {
        count += 1;
    }
    Ok(count)
}

fn skip_map<'de, A: MapAccess<'de>>(mut members: A) -> Result<(), A::Error> {
    while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

any_value!(Hint, HintVisitor, Hint::Other, {
    fn visit_bool<E>(self, flag: bool) -> Result<Hint, E> {
        Ok(Hint::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Hint, E> {
        Ok(Hint::Number(number))
    }

    fn visit_str<E>(self, _: &str) -> Result<Hint, E> {
        Ok(Hint::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Hint, A::Error> {
        skip_seq(elements).map(|_| Hint::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Hint, A::Error> {
        skip_map(members).map(|()| Hint::Other)
    }
});

any_value!(Count, CountVisitor, Count(None), {
    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Count, E> {
        Ok(Count(Some(1)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Count, A::Error> {
        match elements.next_element::<Hint>()? {
            None => Ok(Count(Some(0))),
            // Token ids: one input, written as numbers.
            Some(Hint::Number(_)) => skip_seq(elements).map(|_| Count(Some(1))),
            Some(_) => skip_seq(elements).map(|more| Count(Some(more + 1))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Count, A::Error> {
        skip_map(members).map(|()| Count(None))
    }
});

/// Reads an object with one member of interest; any other value says nothing.
macro_rules! one_member {
    ($name:ident, $visitor:ident, $member:literal, $take:expr) => {
        any_value!($name, $visitor, $name::default(), {
            fn visit_bool<E>(self, _: bool) -> Result<$name, E> {
                Ok($name::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<$name, E> {
                Ok($name::default())
            }

            fn visit_str<E>(self, _: &str) -> Result<$name, E> {
                Ok($name::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<$name, A::Error> {
                skip_seq(elements).map(|_| $name::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<$name, A::Error> {
                let mut found = None;
                while let Some(key) = members.next_key::<Key>()? {
                    if key.0.as_deref() != Some($member) {
                        members.next_value::<IgnoredAny>()?;
                    } else if found.replace($take(&mut members)?).is_some() {
                        return Err(A::Error::duplicate_field($member));
                    }
                }
                Ok(found.unwrap_or_default())
            }
        });
    };
}

one_member!(Options, OptionsVisitor, "profile", |members: &mut A| members
    .next_value()
    .map(|profile| Options { profile }));
one_member!(Params, ParamsVisitor, "options", |members: &mut A| members.next_value().map(|options| Params { options }));
one_member!(StreamOptions, StreamOptionsVisitor, "include_usage", |members: &mut A| members
    .next_value::<Hint>()
    .map(|hint| StreamOptions { include_usage: hint == Hint::Flag(true) }));

/// The name of a member; one that is no text is nobody's.
struct Key(Option<String>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(Key(Some(name.to_owned())))
            }

            fn visit_bytes<E>(self, _: &[u8]) -> Result<Key, E> {
                Ok(Key(None))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Key, E> {
                Ok(Key(None))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Key, E> {
                Ok(Key(None))
            }
        }

        deserializer.deserialize_any(KeyVisitor)
    }
}
