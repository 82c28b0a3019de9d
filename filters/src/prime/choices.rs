//! What is in one chunk of a chat or completions stream?

use super::Filled;
use crate::answer::{Fields, Generated, MAX_CHOICES};
use crate::upstream_status::in_band;
use crate::upstream_status::loose::{Loose, Text, present};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use spillway_policies::{Cause, Failure};
use std::fmt;

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<List<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<Loose<'a>>,
    #[serde(borrow, default)]
    object: Option<Text<'a>>,
    #[serde(borrow, default)]
    code: Option<Loose<'a>>,
    #[serde(default)]
    usage: Option<Fields<Generated>>,
}

/// The choices of one chunk: which were seen, which ended, and whether any said something.
pub(super) struct Choices {
    pub(super) begun: u128,
    pub(super) ended: u128,
    pub(super) content: bool,
}

impl Chunk<'_> {
    /// The failure it states: `error` of any kind, null included as SIE reads it, or a flat `object: error`.
    pub(super) fn failure(&self) -> Option<Failure> {
        let is_flat = self.object.as_ref().is_some_and(|object| object.0 == "error");
        match &self.error {
            Some(error) => Some(in_band::failure(Cause::StreamError, error)),
            None => is_flat.then(|| in_band::coded(Cause::StreamError, self.code.as_ref(), None)),
        }
    }

    /// Its choices; none when one of them or the usage is not valid. What belongs to the other surface is not: `chat` says deltas, completions
    /// text, and what the caller would never see must not pass for an answer.
    pub(super) fn choices(&self, is_end: fn(&str) -> bool, chat: bool) -> Option<Choices> {
        let mut sum = Choices { begun: 0, ended: 0, content: false };
        if self.usage.is_some_and(|usage| !usage.0.is_sound()) {
            return None;
        }
        for choice in self.choices.iter().flat_map(|list| &list.0) {
            let bit = 1_u128 << u32::try_from(choice.index).ok().filter(|index| *index < 128)?;
            sum.begun |= bit;
            let (text, delta) = (choice.text.0, choice.delta.as_ref().is_some_and(|delta| delta.0.says_something()));
            let (own, foreign) =
                if chat { (delta, text || choice.message.0) } else { (text, delta || choice.message.0) };
            if foreign {
                return None;
            }
            sum.content |= own;
            match choice.finish_reason.as_ref().map(|reason| reason.0.as_ref()) {
                None | Some("") => {}
                Some(reason) if is_end(reason) => sum.ended |= bit,
                Some(_) => return None,
            }
        }
        Some(sum)
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: u64,
    #[serde(default)]
    delta: Option<Fields<Delta>>,
    #[serde(default)]
    text: Filled,
    #[serde(default)]
    message: Filled,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
}

/// Everything of a delta that is content. A role is not.
#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    audio: Filled,
    #[serde(default)]
    content: Filled,
    #[serde(default)]
    function_call: Filled,
    #[serde(default)]
    reasoning: Filled,
    #[serde(default)]
    reasoning_content: Filled,
    #[serde(default)]
    reasoning_details: Filled,
    #[serde(default)]
    refusal: Filled,
    #[serde(default)]
    tool_calls: Filled,
}

impl Delta {
    fn says_something(&self) -> bool {
        [
            self.audio,
            self.content,
            self.function_call,
            self.reasoning,
            self.reasoning_content,
            self.reasoning_details,
            self.refusal,
            self.tool_calls,
        ]
        .contains(&Filled(true))
    }
}

/// Choices, no more than [`MAX_CHOICES`].
struct List<'a>(Vec<Choice<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = List<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of choices")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut choices = Vec::new();
        while let Some(Fields(choice)) = seq.next_element()? {
            if choices.len() == MAX_CHOICES {
                return Err(A::Error::custom("too many choices"));
            }
            choices.push(choice);
        }
        Ok(List(choices))
    }
}
