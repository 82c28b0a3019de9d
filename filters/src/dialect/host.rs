//! What has every generation call to an OpenAI host in common? The model's name there, the operator's parameters, a cap on the output,
//! and usage at the end of a stream (contract section 6).

use super::finished::Finishing;
use super::{Answer, Asked, Caller, INVALID, Raw, Reading, is_type};
use crate::answer::{self, Content, Expected, finish};
use crate::edit::{Outgoing, Piece};
use crate::upstream_status::loose::Text;
use crate::{names, paths};
use serde::Deserialize;
use serde_json::value::RawValue;
use spillway_policies::upstream::Kind;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};
use std::borrow::Cow;

/// Most bytes of a whole generated answer (contract section 5).
pub(super) const MOST_TEXT_BYTES: usize = 32 * 1024 * 1024;

/// Tokens of a completions or responses answer when the caller gives no cap (contract section 1.5).
const DEFAULT_TOKENS: u64 = 16;

/// Most tokens of one generated answer: the caller's cap or the surface's default one, and never more than the model gives.
pub(super) fn output_cap(caller: &Caller<'_>, plan: &Plan<'_>) -> Option<u64> {
    let default = matches!(caller.surface, Surface::Completions | Surface::Responses).then_some(DEFAULT_TOKENS);
    let asked = caller.details.output_cap.or(default);
    [asked, plan.tasks.max_output_tokens.map(u64::from)].into_iter().flatten().min()
}

/// The whole body of a call to `surface`. A caller of another surface gets one answer and no echo of its prompt, whatever the operator
/// sets.
pub(super) fn body<'a>(
    mut outgoing: Outgoing<'a>,
    caller: &Caller<'_>,
    plan: &Plan<'a>,
    surface: Surface,
) -> Vec<Piece> {
    let params = &plan.remote.upstream.params;
    outgoing.put_text("model", plan.remote.model.as_str());
    outgoing.apply(params);
    outgoing.cap(output_cap(caller, plan), params, surface == Surface::Chat);
    if surface == Surface::Completions && caller.surface != surface {
        outgoing.put("n", "1");
        outgoing.put("echo", "false");
    }
    put_stream(&mut outgoing, caller.details.stream);
    outgoing.into_pieces()
}

/// Says whether the answer is a stream, and asks for usage at its end: without it no stream is whole.
pub(super) fn put_stream(outgoing: &mut Outgoing<'_>, stream: bool) {
    outgoing.put("stream", if stream { "true" } else { "false" });
    outgoing.retain(|name| name != "stream_options");
    if stream {
        outgoing.put("stream_options", r#"{"include_usage":true}"#);
    }
}

/// What is asked of `surface` with this body.
pub(super) fn asked(plan: &Plan<'_>, surface: Surface, body: Vec<Piece>, reading: Reading) -> Asked {
    let is_openai = matches!(plan.remote.upstream.kind, Kind::Openai(_));
    Asked {
        path: paths::upstream_path(surface, plan.remote.model.as_str(), is_openai),
        accept: if matches!(reading, Reading::Stream(_)) { names::EVENT_STREAM } else { names::JSON },
        content_type: names::JSON.to_owned(),
        bodies: vec![body],
        reading,
    }
}

/// How a whole answer is read.
#[derive(Debug)]
pub(super) struct Reader {
    /// The surface that was asked.
    pub(super) surface: Surface,
    pub(super) expected: Expected,
    pub(super) finishing: Finishing,
}

impl Reader {
    /// The answer as it is for a caller of the same surface.
    pub(super) fn answer(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        Ok(Answer { content_type: names::JSON, body: self.read(answers)?.into_owned() })
    }

    /// The one answer, checked, dressed and finished.
    pub(super) fn read<'a>(&self, answers: &'a [Raw]) -> Result<Cow<'a, [u8]>, Failure> {
        let raw = answers.first().map(|answer| answer.body.as_slice()).unwrap_or_default();
        self.finishing.finish(self.surface, raw, self.checked(answers)?)
    }

    /// The one answer, checked and dressed.
    pub(super) fn checked<'a>(&self, answers: &'a [Raw]) -> Result<Cow<'a, [u8]>, Failure> {
        match answers {
            [answer] if is_type(answer.content_type.as_deref(), names::JSON) => {
                answer::check(self.surface, Content::Json, &answer.body, &self.expected)
            }
            _ => Err(INVALID),
        }
    }
}

/// What a checked completions answer of one choice says; texts and usage are raw.
#[derive(Debug)]
pub(super) struct Completion<'a> {
    /// The text, with its quotes.
    pub(super) text: &'a [u8],
    /// Why it ended: `stop` or `length`.
    pub(super) finish_reason: &'static str,
    /// Its usage.
    pub(super) usage: &'a [u8],
}

impl<'a> Completion<'a> {
    /// None when the host held its text back: SIE's surfaces have no word for that.
    pub(super) fn read(answer: &'a [u8]) -> Option<Self> {
        let Whole { choices: [choice], usage } = serde_json::from_slice(answer).ok()?;
        let finish_reason = finish::of_text(&choice.finish_reason.0)?;
        Some(Self { text: choice.text.get().as_bytes(), finish_reason, usage: usage.get().as_bytes() })
    }
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    #[serde(borrow)]
    usage: &'a RawValue,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
    #[serde(borrow)]
    finish_reason: Text<'a>,
}
