//! What may a caller's JSON Schema say (contract sections 1.3 and 1.4)?

use super::rule::UNSUPPORTED;
use super::tree::{Context, Schema, Size, Tree};

/// `output_schema` of extract: bounded, and not judged further.
pub(super) static OUTPUT: Tree = Tree { depth: 128, values: 100_000, size: Size::Json, schema: None };

/// A schema in `response_format`: the engine judges it; only what makes a strict one unverifiable is remembered.
pub(super) static RESPONSE: Tree = Tree { depth: 128, values: u32::MAX, size: Size::Json, schema: Some(&VERIFIED) };

/// A schema in `grammar`.
pub(super) static GRAMMAR: Tree = Tree { depth: 128, values: 16 * 1024, size: Size::Json, schema: Some(&COMPILED) };

/// A tool's parameters: as a grammar's, but references are the template's business.
pub(super) static PARAMETERS: Tree = Tree {
    depth: 128,
    values: 16 * 1024,
    size: Size::Json,
    schema: Some(&Schema { own_references: false, refusal: None, ..COMPILED }),
};

const COMPILED: Schema = Schema {
    behind: behind_compiled,
    refused: &["$dynamicRef", "dependentSchemas", "else", "if", "then", "unevaluatedProperties"],
    refusal: Some(UNSUPPORTED),
    unverifiable: &[],
    nesting: 16,
    own_references: true,
};

const VERIFIED: Schema = Schema {
    behind: behind_verified,
    refused: &[],
    refusal: None,
    unverifiable: &["unevaluatedProperties"],
    nesting: u16::MAX,
    own_references: false,
};

/// What a grammar compiler reads as a schema: what it does not know is data.
fn behind_compiled(context: Context, name: &str) -> Context {
    match (context, name) {
        (Context::Map, _) => Context::Schema,
        (Context::Schema, "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas") => {
            Context::Map
        }
        (Context::Schema, "oneOf" | "anyOf" | "allOf" | "prefixItems") => Context::Schemas,
        (
            Context::Schema,
            "items" | "additionalProperties" | "contains" | "propertyNames" | "not" | "if" | "then" | "else",
        ) => Context::Schema,
        _ => Context::Data,
    }
}

/// What the verifier of finished output reads as a schema: what is not known to be data may be one.
fn behind_verified(context: Context, name: &str) -> Context {
    match (context, name) {
        (Context::Map, _) => Context::Schema,
        (Context::Schema, "const" | "default" | "enum" | "examples") => Context::Data,
        (
            Context::Schema,
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependencies" | "dependentRequired"
            | "dependentSchemas",
        ) => Context::Map,
        (Context::Schema, _) => Context::Schema,
        (Context::Data | Context::Schemas, _) => Context::Data,
    }
}
