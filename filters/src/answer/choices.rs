//! What does the caller see of each choice?
//!
//! Private reasoning goes unless it was asked for, and the log-probabilities of its tokens with it; fields that only the upstream knows
//! go always (contract section 5, "Reasoning privacy").

use super::list::RawList;
use super::members::Members;
use super::{Content, Fields, finish};
use crate::upstream_status::loose::{Loose, Text, present};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Most choices of one answer or chunk.
pub(crate) const MAX_CHOICES: usize = 128;

type Choices<'a> = RawList<'a, MAX_CHOICES>;

/// What a choice holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Chat chunks: `delta`.
    Delta,
    /// Chat answers: `message`.
    Message,
    /// Completions: `text`.
    Text,
}

/// How many `choices` a whole answer has; none when there are none, or one of them is not whole.
pub(super) fn are_whole(raw: &[u8], kind: Kind) -> Option<usize> {
    let choices: Choices<'_> = serde_json::from_slice(raw).ok()?;
    let whole = |choice: &&RawValue| {
        serde_json::from_str::<Fields<Whole<'_>>>(choice.get()).is_ok_and(|choice| choice.0.is(kind))
    };
    (!choices.0.is_empty() && choices.0.iter().all(|choice| whole(&&**choice))).then_some(choices.0.len())
}

/// The raw list `choices` as the caller sees it; none when it is not a list of objects.
pub(crate) fn shaped(raw: &[u8], kind: Kind, include_reasoning: bool) -> Option<Vec<u8>> {
    let choices: Choices<'_> = serde_json::from_slice(raw).ok()?;
    let mut out = Vec::with_capacity(raw.len());
    out.push(b'[');
    for (place, choice) in choices.0.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        shape_choice(choice, kind, include_reasoning, &mut out)?;
    }
    out.push(b']');
    Some(out)
}

fn shape_choice(choice: &RawValue, kind: Kind, include_reasoning: bool, out: &mut Vec<u8>) -> Option<()> {
    let mut choice = Members::read(Content::Json, choice.get().as_bytes())?;
    let inner = kind.inner();
    choice.retain(|name| name == inner || matches!(name, "index" | "finish_reason" | "logprobs"));
    let said = choice.raw_cow(inner).filter(|raw| kind != Kind::Text && raw.as_ref() != b"null");
    let Some(said) = said else {
        choice.write(out);
        return Some(());
    };
    let mut said = Members::read(Content::Json, &said)?;
    let hides = !include_reasoning && PRIVATE.iter().any(|name| said.raw(name).is_some_and(is_filled));
    said.retain(|name| is_public(name) || include_reasoning && PRIVATE.contains(&name));
    choice.set(inner, said.to_bytes());
    if hides && choice.raw("logprobs").is_some() {
        choice.set("logprobs", &b"null"[..]);
    }
    choice.write(out);
    Some(())
}

/// Members of a message or delta that hold reasoning.
const PRIVATE: [&str; 3] = ["reasoning", "reasoning_content", "reasoning_details"];

/// Members of a message or delta that every caller may see.
fn is_public(name: &str) -> bool {
    matches!(name, "role" | "content" | "tool_calls" | "function_call" | "refusal" | "annotations" | "audio")
}

fn is_filled(raw: &[u8]) -> bool {
    !matches!(raw, b"null" | b"\"\"" | b"[]" | b"{}")
}

impl Kind {
    const fn inner(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Message => "message",
            Self::Text => "text",
        }
    }
}

#[derive(Deserialize)]
struct Whole<'a> {
    index: usize,
    #[serde(borrow)]
    finish_reason: Text<'a>,
    #[serde(borrow, default)]
    message: Option<Fields<Message<'a>>>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
}

impl Whole<'_> {
    fn is(&self, kind: Kind) -> bool {
        let said = match kind {
            Kind::Delta => false,
            Kind::Message => {
                finish::is_chat(&self.finish_reason.0)
                    && self.message.as_ref().is_some_and(|message| message.0.is_some())
            }
            Kind::Text => finish::is_completion(&self.finish_reason.0) && self.text.is_some(),
        };
        said && self.index < MAX_CHOICES
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "role")]
    _role: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    content: Option<Loose<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
}

impl Message<'_> {
    /// There is content, which may be null, or a tool is called instead.
    fn is_some(&self) -> bool {
        match &self.content {
            Some(Loose::Null | Loose::Other | Loose::Text(_)) => true,
            Some(Loose::Object { .. } | Loose::Whole(_)) => false,
            None => self.tool_calls.is_some_and(|calls| is_filled(calls.get().as_bytes())),
        }
    }
}
