//! How is a call asked in the caller's own protocol? Renamed, with the operator's parameters; what is large is not copied.

mod generation;

use super::{Answer, Asked, Caller, INVALID, NOT_REPLAYABLE, Raw, Reading, UNSUPPORTED, Whole, host, is_type};
use crate::answer::{self, Content, Expected};
use crate::call::Format;
use crate::edit::{self, Piece};
use crate::shape::Shown;
use crate::{multipart, names, paths};
use spillway_policies::surface::Task;
use spillway_policies::upstream::Kind;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};

/// Most bytes of a whole answer that is not generated text (contract section 5).
const MOST_ANSWER_BYTES: usize = 64 * 1024 * 1024;

pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let is_openai = matches!(plan.remote.upstream.kind, Kind::Openai(_));
    if caller.surface.task() == Task::Generate {
        return generation::ask(caller, plan, is_openai);
    }
    if caller.second_rerank && !is_openai {
        return Err(UNSUPPORTED);
    }
    Ok(Asked {
        path: paths::upstream_path(caller.surface, plan.remote.model.as_str(), is_openai),
        accept: accept(&caller),
        content_type: content_type(&caller),
        bodies: vec![pieces(&caller, plan, is_openai)?],
        reading: reading(caller, plan),
    })
}

fn pieces(caller: &Caller<'_>, plan: &Plan<'_>, is_openai: bool) -> Result<Vec<Piece>, Failure> {
    let model = plan.remote.model.as_str();
    let params = &plan.remote.upstream.params;
    let body = caller.body;
    if caller.details.profile.is_some() {
        // Rare, so it may copy.
        let body = edit::without_profile(caller.surface, caller.format, is_openai, body).ok_or(NOT_REPLAYABLE)?;
        if caller.model_span.is_none() {
            return Ok(vec![Piece::New(body)]);
        }
        let pieces = edit::with_params(&body, model, params).map_err(|_| NOT_REPLAYABLE)?;
        return Ok(vec![Piece::New(pieces.into_iter().flat_map(|piece| piece.into_bytes(&body)).collect())]);
    }
    match &caller.model_span {
        None => Ok(vec![Piece::Held(0..body.len())]),
        Some(_) if is_openai && !(params.set.is_empty() && params.strip.is_empty()) => {
            edit::with_params(body, model, params).map_err(|_| NOT_REPLAYABLE)
        }
        Some(span) => Ok(edit::renamed(caller.format, body.len(), span.clone(), model)),
    }
}

fn accept(caller: &Caller<'_>) -> &'static str {
    match (caller.format, caller.reads) {
        (Format::Multipart, _) => "*/*",
        (Format::Json | Format::Msgpack, Content::Msgpack) => names::MSGPACK,
        (Format::Json | Format::Msgpack, Content::Json | Content::Text) => names::JSON,
    }
}

fn content_type(caller: &Caller<'_>) -> String {
    match caller.format {
        Format::Json => names::JSON.to_owned(),
        Format::Msgpack => names::MSGPACK.to_owned(),
        Format::Multipart => {
            let boundary = multipart::boundary(caller.content_type).unwrap_or_default();
            format!("multipart/form-data; boundary=\"{}\"", String::from_utf8_lossy(boundary))
        }
    }
}

fn reading(caller: Caller<'_>, plan: &Plan<'_>) -> Reading {
    let (surface, reads) = (caller.surface, caller.reads);
    let back = super::Back::Verbatim(Back { surface, reads, expected: expected(caller, plan) });
    Reading::Whole(Box::new(Whole { most_bytes: MOST_ANSWER_BYTES, back }))
}

/// What the caller's call and the model's declaration say about an answer in the caller's own protocol.
pub(super) fn expected(caller: Caller<'_>, plan: &Plan<'_>) -> Expected {
    let (details, tasks) = (caller.details, plan.tasks);
    let output_cap = host::output_cap(&caller, plan);
    Expected {
        shown: Shown {
            model: caller.model.to_owned(),
            id: caller.id,
            created_s: caller.created_s,
            include_reasoning: details.include_reasoning,
            include_usage: details.include_usage,
        },
        items: details.inputs,
        choices: details.choices,
        dim: tasks.dense_dim,
        sparse_dim: tasks.sparse.and_then(|sparse| sparse.dim),
        multivector_dim: tasks.multivector_dim,
        context: tasks.context_length,
        output_cap,
        top_n: details.top_n,
        logprobs: details.logprobs,
        ..Expected::default()
    }
}

#[derive(Debug)]
pub(super) struct Back {
    surface: Surface,
    reads: Content,
    expected: Expected,
}

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let [answer] = answers else { return Err(INVALID) };
        let kind = answer.content_type.as_deref();
        let (content_type, content) = match (self.surface, self.reads) {
            (Surface::Audio, _) => transcript_type(kind),
            (_, Content::Msgpack) => (names::MSGPACK, Content::Msgpack),
            _ => (names::JSON, Content::Json),
        };
        let body = answer::check(self.surface, content, &answer.body, &self.expected)?.into_owned();
        Ok(Answer { content_type, body })
    }
}

/// The transcription formats of contract section 1.1; anything else is shown as plain text.
fn transcript_type(kind: Option<&[u8]>) -> (&'static str, Content) {
    if is_type(kind, names::JSON) {
        return (names::JSON, Content::Json);
    }
    let text = ["text/vtt", "application/x-subrip"].into_iter().find(|wanted| is_type(kind, wanted));
    (text.unwrap_or("text/plain; charset=utf-8"), Content::Text)
}
