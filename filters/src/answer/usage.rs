//! Is this usage exact?
//!
//! Tokens are whole numbers below 2^32 everywhere (contract section 5, "Usage").

use super::{Expected, Fields};
use crate::upstream_status::loose::Loose;
use crate::writer::Writer;
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
    /// How many images were read, which SIE says.
    #[serde(default)]
    images: Option<u32>,
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
        let images = self.images.map(|images| format!(r#","images":{images}"#)).unwrap_or_default();
        let counts = format!(r#""prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total}"#);
        format!("{{{counts}{cached}{images}}}").into_bytes()
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct InputDetails {
    #[serde(default)]
    content_tokens: Option<u32>,
}

/// Usage of embeddings, where either number may be missing.
#[derive(Deserialize)]
pub(super) struct Embedded<'a> {
    #[serde(default)]
    prompt_tokens: Option<u32>,
    #[serde(default)]
    total_tokens: Option<u32>,
    #[serde(borrow, default)]
    sie_token_source: Option<Loose<'a>>,
}

/// Usage of rerank: as hosts state it, or as SIE does on all its native surfaces.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Ranked {
    #[serde(default)]
    prompt_tokens: Option<u32>,
    #[serde(default)]
    total_tokens: Option<u32>,
    #[serde(default)]
    input_tokens: Option<u32>,
    #[serde(default)]
    images: Option<u32>,
    #[serde(default)]
    input_tokens_details: Option<Fields<InputDetails>>,
}

impl Ranked {
    /// The tokens of all inputs; none when none are stated.
    pub(crate) fn tokens(&self) -> Option<u32> {
        self.prompt_tokens.or(self.total_tokens).or(self.input_tokens)
    }

    /// No more tokens of content than of all inputs.
    pub(super) fn is_sound(&self) -> bool {
        self.content().is_none_or(|content| self.tokens().is_some_and(|tokens| content <= tokens))
    }

    fn content(&self) -> Option<u32> {
        self.input_tokens_details.as_ref().and_then(|Fields(details)| details.content_tokens)
    }

    /// SIE's own usage; none when no tokens are stated.
    pub(super) fn to_json(self) -> Option<String> {
        let tokens = self.tokens()?;
        let images = self.images.map(|images| format!(r#","images":{images}"#)).unwrap_or_default();
        let details =
            self.content().map(|content| format!(r#","input_tokens_details":{{"content_tokens":{content}}}"#));
        Some(format!(r#"{{"input_tokens":{tokens}{images}{}}}"#, details.unwrap_or_default()))
    }
}

/// How many tokens the inputs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// How many.
    pub(crate) count: u64,
    /// A SIE upstream says that it counted characters.
    pub(crate) is_estimate: bool,
}

impl Embedded<'_> {
    /// The count that is stated; none when none is.
    pub(super) fn tokens(&self) -> Option<Tokens> {
        let count = self.prompt_tokens.or(self.total_tokens)?;
        let is_estimate = matches!(&self.sie_token_source, Some(Loose::Text(source)) if source == "character_estimate");
        Some(Tokens { count: count.into(), is_estimate })
    }
}

impl Tokens {
    /// The tokens of all requests of one call together; none when one of them does not state its own.
    pub(crate) fn sum(counts: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        counts.into_iter().try_fold(Self { count: 0, is_estimate: false }, |sum, tokens| {
            let tokens = tokens?;
            Some(Self { count: sum.count + tokens.count, is_estimate: sum.is_estimate || tokens.is_estimate })
        })
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
            images: None,
        }
    }

    /// The same usage with nothing beside what is checked.
    pub(super) fn write(self, writer: &mut Writer) {
        let usage = self.generated();
        writer.object(|writer| {
            for (name, count) in [
                ("input_tokens", u64::from(self.input_tokens)),
                ("output_tokens", u64::from(self.output_tokens)),
                ("total_tokens", usage.total()),
            ] {
                writer.member(name);
                writer.whole(count);
            }
            let Some(cached) = usage.cached_tokens() else { return };
            writer.member("input_tokens_details");
            writer.object(|writer| {
                writer.member("cached_tokens");
                writer.whole(cached.into());
            });
        });
    }
}
