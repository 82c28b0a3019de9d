//! Does a finished output keep the caller's strict JSON Schema? It goes upstream as `response_format`, and is verified here (contract
//! section 5: strict output verified locally).
//!
//! The schema is the caller's and the output an upstream's: nothing that either of them names is ever fetched, patterns run in linear
//! time, and what could take very long or very deep is refused beforehand or counts as not met.

mod cost;
mod watch;

pub use watch::Watch;

use crate::answer::Fields;
use crate::tree;
use crate::upstream_status::loose::Text;
use cost::Cost;
use jsonschema::{PatternOptions, Retrieve, Uri, Validator};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The longest schema, as for a grammar of generate (contract section 1.4).
pub const LONGEST_SCHEMA: usize = 64 << 10;

/// The longest output, as a chat answer has it (contract section 1.1).
pub const LONGEST_OUTPUT: usize = 32 << 20;

/// Steps that one check may take: places in the schema times values in the output.
const STEPS: usize = 1 << 28;

/// Steps that the patterns of one check may take, which are smaller ones: steps for a byte times bytes of the output.
const PATTERN_STEPS: usize = 1 << 30;

/// Bytes of one compiled pattern, and of what it remembers while it runs.
const PATTERN_BYTES: usize = 256 << 10;

/// A compiled schema.
pub struct Strict {
    validator: Validator,
    cost: Cost,
}

/// Why a schema is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSchema {
    /// More than [`LONGEST_SCHEMA`].
    #[error("the schema is larger than 64 KiB")]
    TooLarge,
    /// Not a JSON object.
    #[error("the schema is not a JSON object")]
    NotAnObject,
    /// Nested deeper than 128 levels, references followed, or than 16 schemas for one value.
    #[error("the schema is nested too deep")]
    TooDeep,
    /// Too many places once its references are followed, or too many patterns.
    #[error("the schema is too complex")]
    TooComplex,
    /// A reference to anything but a place in this schema.
    #[error("the schema refers to something outside itself")]
    Reference,
    /// Not the schema, but the response format around it.
    #[error("the response format cannot be read")]
    Unreadable,
    /// Not a JSON Schema.
    #[error("the schema is not a valid JSON Schema")]
    Invalid,
}

impl Strict {
    /// Reads a schema.
    ///
    /// # Errors
    /// It is not one, or not one that can be checked in bounded time.
    pub fn compile(schema: &[u8]) -> Result<Self, BadSchema> {
        if schema.len() > LONGEST_SCHEMA {
            return Err(BadSchema::TooLarge);
        }
        if tree::depth(schema) > cost::DEEPEST {
            return Err(BadSchema::TooDeep);
        }
        let schema: Value = serde_json::from_slice(schema).map_err(|_| BadSchema::NotAnObject)?;
        if !schema.is_object() {
            return Err(BadSchema::NotAnObject);
        }
        let cost = cost::of(&schema)?;
        Ok(Self { validator: validator(&schema)?, cost })
    }

    /// Whether the output is one JSON value that the schema accepts.
    #[must_use]
    pub fn is_met_by(&self, output: &str) -> bool {
        let read = || serde_json::from_str(output).is_ok_and(|output: Value| self.validator.is_valid(&output));
        self.is_affordable(output) && read()
    }

    fn is_affordable(&self, output: &str) -> bool {
        let values = tree::values(output.as_bytes());
        output.len() <= LONGEST_OUTPUT
            && values <= tree::MOST_VALUES
            && values.saturating_mul(self.cost.places) <= STEPS
            && output.len().saturating_mul(self.cost.pattern_steps) <= PATTERN_STEPS
    }
}

fn validator(schema: &Value) -> Result<Validator, BadSchema> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
    jsonschema::options()
        .with_retriever(Nothing)
        .with_pattern_options(patterns)
        .should_validate_formats(false)
        .build(schema)
        .map_err(|_| BadSchema::Invalid)
}

/// The schema of a `response_format` that must be kept: `json_schema` with `strict`. None for every other one.
///
/// # Errors
/// The schema is missing, or what is demanded cannot be told for certain: it would not be checked.
pub fn strict_schema(response_format: &[u8]) -> Result<Option<&[u8]>, BadSchema> {
    let format: Option<Fields<Format<'_>>> =
        serde_json::from_slice(response_format).map_err(|_| BadSchema::Unreadable)?;
    let named = format.and_then(|Fields(format)| format.json_schema.filter(|_| format.kind.0 == "json_schema"));
    let Some(named) = named else { return Ok(None) };
    match serde_json::from_str::<Option<Fields<Named<'_>>>>(named.get()).map_err(|_| BadSchema::Unreadable)? {
        Some(Fields(Named { strict: Some(true), schema })) => {
            schema.map(|schema| Some(schema.get().as_bytes())).ok_or(BadSchema::NotAnObject)
        }
        _ => Ok(None),
    }
}

#[derive(Deserialize)]
struct Format<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    /// What it is counts only where the type says so.
    #[serde(borrow)]
    json_schema: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Named<'a> {
    strict: Option<bool>,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
}

/// What every reference outside the schema leads to.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(&self, _uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("nothing is fetched".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What `cost` refuses before it comes here would not be fetched here either.
    #[test]
    fn the_library_reaches_nothing() {
        for elsewhere in ["http://127.0.0.1:1/x", "file:///etc/passwd", "/etc/passwd", "other.json"] {
            for schema in [
                json!({"$ref": elsewhere}),
                json!({"properties": {"a": {"$ref": elsewhere}}}),
                json!({"$schema": elsewhere}),
                json!({"$id": "file:///etc/", "$ref": "passwd"}),
            ] {
                assert_eq!(validator(&schema).err(), Some(BadSchema::Invalid), "{schema}");
            }
        }
    }
}
