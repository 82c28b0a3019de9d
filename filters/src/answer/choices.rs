//! What does the caller see of each choice?
//!
//! Private reasoning goes unless it was asked for, and the log-probabilities of its tokens with it; fields that only the upstream knows
//! go always (contract section 5, "Reasoning privacy").

use super::Content;
use super::list::RawList;
use super::members::Members;
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
    pub(super) const fn inner(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Message => "message",
            Self::Text => "text",
        }
    }
}
