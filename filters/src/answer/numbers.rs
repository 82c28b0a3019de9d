//! Which numbers are exact enough to pass on?

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};
use std::fmt;

/// A number that is finite as a 64-bit float.
pub(super) struct Finite;

/// A vector: how many numbers it has, each finite as a 32-bit float, or how long its base64 text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vector {
    Base64(usize),
    Numbers(usize),
}

impl Vector {
    /// Whether it has `dim` components; base64 of 32-bit floats counts by its length.
    pub(super) const fn is_wide(self, dim: usize) -> bool {
        match self {
            Self::Base64(length) => length == dim.saturating_mul(4).div_ceil(3).saturating_mul(4),
            Self::Numbers(count) => count == dim,
        }
    }

    pub(super) const fn is_empty(self) -> bool {
        matches!(self, Self::Base64(0) | Self::Numbers(0))
    }
}

/// A number that is finite as a 32-bit float.
struct Component;

macro_rules! number_visitor {
    ($name:ident, $visitor:ident, $is_finite:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($visitor)
            }
        }

        struct $visitor;

        impl Visitor<'_> for $visitor {
            type Value = $name;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a finite number")
            }

            fn visit_i64<E>(self, _: i64) -> Result<$name, E> {
                Ok($name)
            }

            fn visit_u64<E>(self, _: u64) -> Result<$name, E> {
                Ok($name)
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<$name, E> {
                let is_finite: fn(f64) -> bool = $is_finite;
                if is_finite(number) { Ok($name) } else { Err(E::invalid_value(Unexpected::Float(number), &self)) }
            }
        }
    };
}

number_visitor!(Finite, FiniteVisitor, f64::is_finite);
number_visitor!(Component, ComponentVisitor, fits_f32);

fn fits_f32(number: f64) -> bool {
    number.abs() <= f64::from(f32::MAX)
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorVisitor)
    }
}

struct VectorVisitor;

impl<'de> Visitor<'de> for VectorVisitor {
    type Value = Vector;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a vector")
    }

    fn visit_str<E>(self, text: &str) -> Result<Vector, E> {
        Ok(Vector::Base64(text.len()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vector, A::Error> {
        let mut count = 0;
        while seq.next_element::<Component>()?.is_some() {
            count += 1;
        }
        Ok(Vector::Numbers(count))
    }
}
