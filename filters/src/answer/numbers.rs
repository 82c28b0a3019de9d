//! Which numbers are exact enough to pass on?

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use std::fmt;

/// A number that is finite as a 64-bit float.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finite(pub(super) f64);

impl<'de> Deserialize<'de> for Finite {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FiniteVisitor)
    }
}

struct FiniteVisitor;

#[expect(clippy::cast_precision_loss, reason = "every reader of a score takes it as a float")]
impl Visitor<'_> for FiniteVisitor {
    type Value = Finite;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a finite number")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Finite, E> {
        Ok(Finite(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Finite, E> {
        Ok(Finite(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Finite, E> {
        if number.is_finite() { Ok(Finite(number)) } else { Err(E::invalid_value(Unexpected::Float(number), &self)) }
    }
}
