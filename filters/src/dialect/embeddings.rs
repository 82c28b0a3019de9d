//! How is embeddings asked of an upstream? In batches; an OpenAI host in base64, whatever the caller reads, because numbers in text cost
//! far more to read.

use super::{Answer, Asked, Caller, NOT_REPLAYABLE, Raw, Reading, UNTRANSLATABLE, Whole, batches};
use crate::answer::embeddings::{self, Embeddings};
use crate::answer::{self, Content, Expected};
use crate::edit::{self, Outgoing, Piece};
use crate::validate::Dialect;
use crate::{names, paths};
use spillway_policies::upstream::Kind;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};
use std::ops::Range;

/// What SIE reads of an embeddings call (contract section 1.5).
const KNOWN: [&str; 5] = ["dimensions", "encoding_format", "input", "model", "user"];

pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let is_openai = matches!(plan.remote.upstream.kind, Kind::Openai(_));
    let mut outgoing = Outgoing::read(caller.body).map_err(|_| NOT_REPLAYABLE)?;
    if caller.dialect == Dialect::Sie {
        // SIE ignores what it does not know; another host would not.
        outgoing.retain(|name| KNOWN.contains(&name));
    }
    let input = outgoing.value("input").ok_or(UNTRANSLATABLE)?;
    let inputs = inputs(input).ok_or(UNTRANSLATABLE)?;
    let sizes = inputs.iter().map(|input| input.len());
    let runs = if is_openai {
        batches::openai(plan, sizes)
    } else {
        batches::sie(plan, inputs.len(), batches::vector_bytes(plan))
    };
    let dimensions = outgoing.value("dimensions").and_then(|raw| std::str::from_utf8(raw).ok()?.parse().ok());
    let most_bytes = batches::most_embedded_bytes(plan, &runs);
    let bodies = bodies(&outgoing, &elements(caller.body, &inputs, &runs).ok_or(UNTRANSLATABLE)?, plan, is_openai);
    let batches = runs.iter().map(ExactSizeIterator::len).collect();
    let (wants_base64, input_chars) = (caller.details.wants_base64, caller.details.input_chars);
    let expected = super::expected(caller, plan);
    let expected = Expected { dim: dimensions.or(expected.dim), wants_base64, input_chars, ..expected };
    let back = super::Back::Embeddings(Back { expected, batches });
    Ok(Asked {
        path: paths::upstream_path(Surface::Embeddings, plan.remote.model.as_str(), is_openai),
        accept: names::JSON,
        content_type: names::JSON.to_owned(),
        bodies,
        reading: Reading::Whole(Box::new(Whole { most_bytes, back })),
    })
}

/// The raw inputs: one text, or a list of them. A list of token ids is one input.
fn inputs(raw: &[u8]) -> Option<Vec<&[u8]>> {
    if raw.starts_with(b"\"") {
        return Some(vec![raw]);
    }
    let inputs = answer::values(Content::Json, raw)?;
    match inputs.first()?.first()? {
        b'"' | b'[' => Some(inputs),
        _ => Some(vec![raw]),
    }
}

/// Where the inputs of each run stand in the held body.
fn elements(held: &[u8], inputs: &[&[u8]], runs: &[Range<usize>]) -> Option<Vec<Range<usize>>> {
    let place = |at: usize| edit::place(held, inputs.get(at)?);
    runs.iter().map(|run| Some(place(run.start)?.start..place(run.end.checked_sub(1)?)?.end)).collect()
}

/// One body for each run of inputs, which stay where they are held.
fn bodies(call: &Outgoing<'_>, runs: &[Range<usize>], plan: &Plan<'_>, is_openai: bool) -> Vec<Vec<Piece>> {
    let mut shared = call.clone();
    shared.drop_empty();
    shared.put_text("model", plan.remote.model.as_str());
    // The name of one of our profiles means nothing to an upstream, and `options` nothing but that here.
    shared.retain(|name| name != "options");
    let declared = plan.tasks.dense_dim.map(|dim| dim.to_string());
    if is_openai {
        shared.put_text("encoding_format", "base64");
        // Many hosts refuse to be told the width that they have anyway.
        if shared.value("dimensions").is_some_and(|asked| Some(asked) == declared.as_deref().map(str::as_bytes)) {
            shared.retain(|name| name != "dimensions");
        }
        shared.apply(&plan.remote.upstream.params);
    }
    if let [_] = runs {
        return vec![shared.into_pieces()];
    }
    runs.iter().map(|run| shared.clone().into_pieces_with("input", run.clone())).collect()
}

#[derive(Debug)]
pub(super) struct Back {
    expected: Expected,
    pub(super) batches: Vec<usize>,
}

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let read = batches::paired(answers, &self.batches)?.map(|(raw, count)| Embeddings::read(&raw.body, count));
        let body = embeddings::shown(&read.collect::<Result<Vec<_>, _>>()?, &self.expected)?;
        Ok(Answer { content_type: names::JSON, body })
    }
}
