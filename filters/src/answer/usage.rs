//! Is this usage exact?
//!
//! Tokens are whole numbers below 2^32 everywhere (contract section 5, "Usage").

use super::writer::Writer;
use super::{Expected, Fields, Members};
use serde::Deserialize;

/// Usage of chat, completions and generate.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Generated {
    prompt_tokens: u32,
    completion_tokens: u32,
    #[serde(default)]
    total_tokens: Option<u32>,
    #[serde(default)]
    prompt_tokens_details: Option<Fields<PromptDetails>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u32>,
}

impl Generated {
    /// The total, when stated, is the sum, and no more tokens were cached than there were.
    pub(crate) fn is_sound(&self) -> bool {
        self.total_tokens.is_none_or(|total| u64::from(total) == self.total())
            && self.cached_tokens().is_none_or(|cached| cached <= self.prompt_tokens)
    }

    /// No more tokens than the call and the model allow, over all `choices` (contract section 5, chat token bounds).
    pub(crate) fn is_within(&self, expected: &Expected, choices: usize) -> bool {
        let context = expected.context.map_or(u64::MAX, u64::from);
        let Some(room) = context.checked_sub(u64::from(self.prompt_tokens)) else { return false };
        let most = expected.output_cap.unwrap_or(u64::MAX).min(room);
        u64::from(self.completion_tokens) <= most.saturating_mul(choices as u64)
    }

    fn total(&self) -> u64 {
        u64::from(self.prompt_tokens) + u64::from(self.completion_tokens)
    }

    fn cached_tokens(&self) -> Option<u32> {
        self.prompt_tokens_details.and_then(|Fields(details)| details.cached_tokens)
    }

    /// The same usage with nothing beside what is checked.
    pub(crate) fn to_json(self) -> Vec<u8> {
        let (prompt, completion, total) = (self.prompt_tokens, self.completion_tokens, self.total());
        let cached = self
            .cached_tokens()
            .map(|cached| format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#))
            .unwrap_or_default();
        format!(r#"{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total}{cached}}}"#)
            .into_bytes()
    }
}

/// Usage of embeddings and rerank, where either number may be missing.
#[derive(Deserialize)]
pub(super) struct Embedded {
    #[serde(default, rename = "prompt_tokens")]
    _prompt_tokens: Option<u32>,
    #[serde(default, rename = "total_tokens")]
    _total_tokens: Option<u32>,
}

/// Usage of embeddings and rerank: exact, or none at all.
pub(super) fn embedded_usage(members: &Members<'_>) -> Option<()> {
    if members.raw("usage").is_none() {
        Some(())
    } else {
        members.read_member::<Option<Fields<Embedded>>>("usage").map(drop)
    }
}

/// Usage of responses.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Responded {
    input_tokens: u32,
    output_tokens: u32,
    #[serde(default)]
    total_tokens: Option<u32>,
    #[serde(default)]
    input_tokens_details: Option<Fields<PromptDetails>>,
}

impl Responded {
    /// The same usage in the words of chat, with the same bounds.
    pub(super) const fn generated(self) -> Generated {
        Generated {
            prompt_tokens: self.input_tokens,
            completion_tokens: self.output_tokens,
            total_tokens: self.total_tokens,
            prompt_tokens_details: self.input_tokens_details,
        }
    }

    /// The same usage with nothing beside what is checked.
    pub(super) fn write(self, writer: &mut Writer) -> Option<()> {
        let usage = self.generated();
        writer.object(|writer| {
            for (name, count) in [
                ("input_tokens", u64::from(self.input_tokens)),
                ("output_tokens", u64::from(self.output_tokens)),
                ("total_tokens", usage.total()),
            ] {
                writer.member(name);
                writer.number(count);
            }
            let Some(cached) = usage.cached_tokens() else { return Some(()) };
            writer.member("input_tokens_details");
            writer.object(|writer| {
                writer.member("cached_tokens");
                writer.number(cached.into());
                Some(())
            })
        })
    }
}
