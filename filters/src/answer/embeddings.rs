//! Is this a well-formed answer of embeddings, and what does the caller see of it?

use super::indexes::{MAX_INDEXES, in_order};
use super::list::Bounded;
use super::usage::{Embedded, Tokens};
use super::vector::{self, Vector};
use super::{Content, Expected, Fields, INVALID};
use crate::upstream_status::in_band;
use crate::upstream_status::loose::Loose;
use crate::writer::Writer;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillway_policies::Failure;

/// One answer: the vectors in the order of their inputs, as they stand, and the tokens it states.
#[derive(Debug)]
pub(crate) struct Embeddings<'a> {
    pub(crate) vectors: Vec<Vector<'a>>,
    pub(crate) tokens: Option<Tokens>,
}

impl<'a> Embeddings<'a> {
    /// Reads an answer to so many inputs. The vectors themselves are not looked into.
    ///
    /// # Errors
    /// It is not a valid answer, or it is an error under a success status.
    pub(crate) fn read(body: &'a [u8], inputs: usize) -> Result<Self, Failure> {
        let Fields(answer): Fields<Stated<'a>> = serde_json::from_slice(body).map_err(|_| INVALID)?;
        if let Some(failure) = in_band::stated(answer.error.as_ref(), answer.object.as_ref(), answer.code.as_ref()) {
            return Err(failure);
        }
        let data = answer.data.ok_or(INVALID)?.0;
        if data.len() != inputs {
            return Err(INVALID);
        }
        let indexed = data.into_iter().map(|Fields(datum)| (datum.index, Vector::new(datum.embedding.get())));
        let vectors = in_order(indexed.collect(), true).ok_or(INVALID)?;
        Ok(Self { vectors, tokens: answer.usage.and_then(|Fields(usage)| usage.tokens()) })
    }
}

/// The answer the caller sees of the answers to its batches: the vectors in the order of all inputs, in the form that the caller reads.
///
/// # Errors
/// One of them is not a valid answer.
pub(crate) fn shown(answers: &[Embeddings<'_>], expected: &Expected) -> Result<Vec<u8>, Failure> {
    let mut writer = Writer::new(Content::Json, room(answers, expected));
    writer.object(|writer| {
        writer.member("object");
        writer.text("list");
        writer.member("data");
        writer.list(|writer| write_vectors(answers, expected, writer)).ok_or(INVALID)?;
        writer.member("model");
        writer.text(&expected.shown.model);
        writer.member("usage");
        write_usage(answers, expected, writer);
        Ok(())
    })?;
    Ok(writer.into_bytes())
}

fn write_vectors(answers: &[Embeddings<'_>], expected: &Expected, writer: &mut Writer) -> Option<()> {
    let mut width = expected.dim.map(|dim| dim as usize);
    let mut floats = Vec::new();
    for (place, vector) in answers.iter().flat_map(|answer| &answer.vectors).enumerate() {
        floats.clear();
        let found = vector.append_to(&mut floats)?;
        (*width.get_or_insert(found) == found).then_some(())?;
        writer.element();
        writer.object(|writer| {
            writer.member("object");
            writer.text("embedding");
            writer.member("embedding");
            match (expected.wants_base64, vector.is_base64()) {
                (true, _) => vector::write_base64(&floats, writer.buffer()),
                (false, true) => vector::write_numbers(&floats, writer.buffer()),
                // Numbers keep their digits.
                (false, false) => writer.raw(vector.as_json().as_bytes()),
            }
            writer.member("index");
            writer.whole(place as u64);
        });
    }
    Some(())
}

/// How long the shown answer may become.
fn room(answers: &[Embeddings<'_>], expected: &Expected) -> usize {
    let vector = |vector: &Vector<'_>| match (expected.wants_base64, vector.is_base64()) {
        // Sixteen digits of base64 are three numbers, each of about twenty bytes.
        (false, true) => vector.as_json().len() / 16 * 60,
        _ => vector.as_json().len(),
    };
    answers.iter().flat_map(|answer| &answer.vectors).map(|found| vector(found) + 64).sum::<usize>() + 256
}

/// Usage always stands there, an estimate where the upstream states none (contract section 5).
fn write_usage(answers: &[Embeddings<'_>], expected: &Expected, writer: &mut Writer) {
    let estimate = Tokens { count: (expected.input_chars / 4).max(1), is_estimate: true };
    let tokens = Tokens::sum(answers.iter().map(|answer| answer.tokens)).unwrap_or(estimate);
    let source = if tokens.is_estimate { "character_estimate" } else { "worker" };
    writer.object(|writer| {
        for name in ["prompt_tokens", "total_tokens"] {
            writer.member(name);
            writer.whole(tokens.count);
        }
        writer.member("sie_token_source");
        writer.text(source);
    });
}

/// What is read of an answer of embeddings; everything else in it is nobody's.
#[derive(Deserialize)]
struct Stated<'a> {
    #[serde(borrow, default)]
    error: Option<Loose<'a>>,
    #[serde(borrow, default)]
    object: Option<Loose<'a>>,
    #[serde(borrow, default)]
    code: Option<Loose<'a>>,
    #[serde(borrow, default)]
    data: Option<Bounded<Fields<Datum<'a>>, MAX_INDEXES>>,
    #[serde(borrow, default)]
    usage: Option<Fields<Embedded<'a>>>,
}

#[derive(Deserialize)]
struct Datum<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow)]
    embedding: &'a RawValue,
}
