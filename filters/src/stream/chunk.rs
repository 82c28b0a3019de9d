//! What is in one chunk of a chat or completions stream?

use super::filled::{Filled, present_raw};
use crate::answer::{Fields, MAX_CHOICES, finish};
use crate::upstream_status::in_band;
use crate::upstream_status::loose::{Loose, Text, present};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;
use spillway_policies::{Cause, Failure, Surface};
use std::fmt;
use std::marker::PhantomData;

#[derive(Deserialize)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(crate) choices: Option<List<Choice<'a>>>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<Loose<'a>>,
    #[serde(borrow, default)]
    object: Option<Text<'a>>,
    #[serde(borrow, default)]
    code: Option<Loose<'a>>,
    /// As it came, null included: only a usage behind the end of every choice counts.
    #[serde(borrow, default, deserialize_with = "present_raw")]
    pub(super) usage: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// The failure it states: `error` of any kind, null included as SIE reads it, or a flat `object: error`.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let is_flat = self.object.as_ref().is_some_and(|object| object.0 == "error");
        match &self.error {
            Some(error) => Some(in_band::failure(Cause::StreamError, error)),
            None => is_flat.then(|| in_band::coded(Cause::StreamError, self.code.as_ref(), None)),
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Choice<'a> {
    pub(super) index: u64,
    /// Chat.
    #[serde(borrow, default)]
    pub(super) delta: Option<Fields<Delta<'a>>>,
    /// Completions.
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    #[serde(default)]
    message: Filled,
    /// Reasoning beside the text, which no caller sees.
    #[serde(default)]
    reasoning: Filled,
    #[serde(default)]
    reasoning_content: Filled,
    #[serde(default)]
    reasoning_details: Filled,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present_raw")]
    pub(super) logprobs: Option<&'a RawValue>,
}

impl Choice<'_> {
    /// Whether all that it says belongs to its surface. What the caller would never see must not pass for an answer.
    pub(super) fn is_of(&self, is_chat: bool) -> bool {
        let (text, delta) = (is_filled(&self.text), self.delta.as_ref().is_some_and(|delta| delta.0.says_something()));
        !self.message.0 && !(if is_chat { text } else { delta })
    }

    pub(crate) fn says_something(&self) -> bool {
        is_filled(&self.text) || self.thinks() || self.delta.as_ref().is_some_and(|delta| delta.0.says_something())
    }

    /// Whether it holds reasoning beside its text.
    pub(super) const fn thinks(&self) -> bool {
        self.reasoning.0 || self.reasoning_content.0 || self.reasoning_details.0
    }

    /// How it ended, if it did; none when it ended otherwise than a choice of `surface`. The empty reason of some servers is no reason.
    pub(crate) fn reason(&self, surface: Surface) -> Option<Option<&'static str>> {
        match self.finish_reason.as_ref().map(|reason| reason.0.as_ref()) {
            None | Some("") => Some(None),
            Some(reason) => finish::of_choice(surface, reason).map(Some),
        }
    }
}

/// A delta; what has no place here is not for the caller.
#[derive(Default, Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(default)]
    pub(super) role: Filled,
    #[serde(borrow, default)]
    pub(super) content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<List<Fragment<'a>>>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<Text<'a>>,
    /// Never shown: what it says stands in the others too.
    #[serde(default)]
    reasoning_details: Filled,
}

impl Delta<'_> {
    pub(super) fn thinks(&self) -> bool {
        self.reasoning_details.0 || self.reasons()
    }

    /// Whether it has reasoning that can be shown.
    pub(super) fn reasons(&self) -> bool {
        [&self.reasoning, &self.reasoning_content].into_iter().any(is_filled)
    }

    fn calls_tools(&self) -> bool {
        self.tool_calls.as_ref().is_some_and(|calls| !calls.0.is_empty())
    }

    fn refuses(&self) -> bool {
        is_filled(&self.refusal)
    }

    /// A role says nothing.
    fn says_something(&self) -> bool {
        is_filled(&self.content) || self.calls_tools() || self.thinks() || self.refuses()
    }
}

fn is_filled(text: &Option<Text<'_>>) -> bool {
    text.as_ref().is_some_and(|text| !text.0.is_empty())
}

/// A piece of a tool call.
#[derive(Deserialize)]
pub(super) struct Fragment<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) function: Option<Fields<Function<'a>>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<Text<'a>>,
}

/// A list of objects, no more than [`MAX_CHOICES`]: of choices, or of pieces of tool calls.
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Fields(value)) = seq.next_element()? {
            if values.len() == MAX_CHOICES {
                return Err(A::Error::custom("the list is too long"));
            }
            values.push(value);
        }
        Ok(List(values))
    }
}
