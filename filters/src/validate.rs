//! Which fields does a surface accept? One table per surface and dialect, read in the pass that reads the call's details.
//!
//! The tables are data and stand in the order in which the reference checks; the violation that comes first in it is the one that is
//! reported, wherever it stands in the body.

mod audio;
mod base64;
mod body;
mod chat;
mod completions;
#[cfg(test)]
mod deep;
mod embeddings;
mod fields;
mod generate;
mod native;
mod notes;
mod read;
mod rerank;
mod responses;
mod rule;
mod schema;
mod seen;
mod tree;

use crate::error_answer::ErrorAnswer;
use rule::{Rule, Table, UNSUPPORTED};
use seen::Wrong;
use spillway_policies::Surface;

pub(crate) use audio::check as check_form;
pub(crate) use body::{Body, Verdict};
pub(crate) use notes::Notes;

/// Whose fields are accepted on the surfaces that are not native.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// What the OpenAI API documents, and Cohere and Jina for rerank: engines other than SIE.
    Openai,
    /// What SIE accepts (contract sections 1.3 to 1.5).
    Sie,
}

/// What a call is checked against.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Whose fields are accepted.
    pub dialect: Dialect,
    /// Fields that the operator accepts besides, whatever their value (`models.*.accept_params`).
    pub accept: &'a [String],
    /// The declared width of the model's dense vectors; SIE accepts `dimensions` only when it is this.
    pub dense_dim: Option<u64>,
    /// The declared cap on output tokens; SIE accepts no caller's cap above it.
    pub max_output_tokens: Option<u64>,
}

/// The fields of one surface, and the words for what breaks them.
pub(crate) struct Sheet {
    table: &'static Table,
    /// The code of a violation that has none of its own; none is FastAPI's 422, with a word per type.
    code: Option<&'static str>,
    /// The most bytes of a body; SIE's own bounds (contract section 1.1).
    most_bytes: usize,
}

/// Mebibytes.
const MIB: usize = 1024 * 1024;

/// The sheet of a surface in a dialect; audio is a form and has its own.
pub(crate) const fn sheet(surface: Surface, dialect: Dialect) -> Option<&'static Sheet> {
    match (surface, dialect) {
        (Surface::Audio, _) => None,
        (Surface::Chat, Dialect::Openai) => Some(&chat::OPENAI),
        (Surface::Chat, Dialect::Sie) => Some(&chat::SIE),
        (Surface::Completions, Dialect::Openai) => Some(&completions::OPENAI),
        (Surface::Completions, Dialect::Sie) => Some(&completions::SIE),
        (Surface::Embeddings, Dialect::Openai) => Some(&embeddings::OPENAI),
        (Surface::Embeddings, Dialect::Sie) => Some(&embeddings::SIE),
        (Surface::Encode, _) => Some(&native::ENCODE),
        (Surface::Extract, _) => Some(&native::EXTRACT),
        (Surface::Generate, _) => Some(&generate::SHEET),
        (Surface::Rerank, Dialect::Openai) => Some(&rerank::OPENAI),
        (Surface::Rerank, Dialect::Sie) => Some(&rerank::SIE),
        (Surface::Responses, Dialect::Openai) => Some(&responses::OPENAI),
        (Surface::Responses, Dialect::Sie) => Some(&responses::SIE),
        (Surface::Score, _) => Some(&native::SCORE),
    }
}

impl Sheet {
    const fn new(table: &'static Table, code: &'static str) -> Self {
        Self { table, code: Some(code), most_bytes: usize::MAX }
    }

    const fn holding(mut self, most_bytes: usize) -> Self {
        self.most_bytes = most_bytes;
        self
    }

    /// The answer to a body of so many bytes, when they are too many.
    pub(crate) fn too_large(&self, bytes: usize) -> Option<Box<ErrorAnswer>> {
        let message = "the body is larger than this API takes: send less in one call";
        (bytes > self.most_bytes).then(|| Box::new(ErrorAnswer::rejected(413, "INPUT_TOO_LONG", message, None)))
    }

    /// The answer to a violation.
    pub(crate) fn answer(&self, wrong: &Wrong) -> ErrorAnswer {
        let param = wrong.path.strip_prefix('.');
        let message = wrong.message.unwrap_or("the fields of this call do not fit together");
        let (status, code) = match (wrong.code.or(self.code), wrong.status) {
            (Some(code), status) => (status.unwrap_or(400), code),
            (None, _) => (422, self.type_word(wrong, param)),
        };
        ErrorAnswer::rejected(status, code, message, param)
    }

    /// FastAPI's word for the type that a field should have.
    fn type_word(&self, wrong: &Wrong, param: Option<&str>) -> &'static str {
        if wrong.missing {
            return "missing";
        }
        match self.table.fields.iter().find(|field| Some(field.name) == param).map(|field| &field.rule) {
            Some(Rule::Text(text)) if text.only => "literal_error",
            Some(Rule::Whole(..)) => "int_type",
            Some(Rule::Flag) => "bool_type",
            Some(Rule::Number(_)) => "float_type",
            _ => "string_type",
        }
    }
}

/// A field or value that the surface does not take.
const fn unsupported(message: &'static str) -> Wrong {
    Wrong::coded(UNSUPPORTED, message)
}

#[cfg(test)]
fn tables() -> impl Iterator<Item = &'static Table> {
    let sheets = Surface::ALL.into_iter().flat_map(|surface| {
        [Dialect::Openai, Dialect::Sie].into_iter().filter_map(move |dialect| sheet(surface, dialect))
    });
    sheets.flat_map(|sheet| nested(sheet.table))
}

#[cfg(test)]
fn nested(table: &'static Table) -> Vec<&'static Table> {
    fn below(rule: &'static Rule, into: &mut Vec<&'static Table>) {
        match rule {
            Rule::Object(table) => into.extend(nested(table)),
            Rule::List(list) => below(&list.of, into),
            Rule::OneOf(rules) => rules.iter().for_each(|rule| below(rule, into)),
            _ => {}
        }
    }
    let mut all = vec![table];
    table.fields.iter().for_each(|field| below(&field.rule, &mut all));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_bounded_as_by_sie_and_by_nobody_else() {
        let holds =
            |surface, dialect, bytes| sheet(surface, dialect).is_some_and(|sheet| sheet.too_large(bytes).is_none());
        for (surfaces, most) in [
            (&[Surface::Chat, Surface::Rerank][..], 8 * MIB),
            (&[Surface::Completions, Surface::Generate, Surface::Responses], 24 * MIB),
            (&[Surface::Encode, Surface::Extract, Surface::Score], 34 * MIB),
        ] {
            for surface in surfaces.iter().copied() {
                assert!(holds(surface, Dialect::Sie, most) && !holds(surface, Dialect::Sie, most + 1), "{surface:?}");
                assert_eq!(holds(surface, Dialect::Openai, most + 1), !surface.is_native(), "{surface:?}");
            }
        }
        assert!(holds(Surface::Embeddings, Dialect::Sie, usize::MAX));
    }
}
