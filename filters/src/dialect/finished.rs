//! What is done with the text of a whole, checked answer before the caller gets it? Private reasoning is taken out, and a strict JSON
//! Schema is held against what is left (contract section 5, reasoning privacy and strict output).

use super::{Caller, INVALID, Reading, UNPARSABLE, UNSUPPORTED, UNTRANSLATABLE};
use crate::answer::{Content, Expected, MAX_CHOICES, Members, values};
use crate::edit::Outgoing;
use crate::marks::{Heard, Marks};
use crate::reasoning::Reasoning;
use crate::stream::Stream;
use crate::strict::{self, Strict, Watch};
use crate::upstream_status::loose::Text;
use spillway_policies::upstream::Kind;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What is done with the text of each choice.
pub(super) struct Finishing {
    pub(super) marks: Marks,
    pub(super) include_reasoning: bool,
    strict: Option<Arc<Strict>>,
}

impl Finishing {
    /// Of the answer to `call`, the caller's own, which is asked of `surface`.
    ///
    /// # Errors
    /// The caller's schema is not one, or the operator hides reasoning of a format that is not known.
    pub(super) fn of(
        call: &Outgoing<'_>,
        caller: &Caller<'_>,
        plan: &Plan<'_>,
        surface: Surface,
    ) -> Result<Self, Failure> {
        let format = call.value("response_format").filter(|_| caller.surface == Surface::Chat);
        let schema = format.map(strict::strict_schema).transpose().map_err(|_| UNTRANSLATABLE)?.flatten();
        let strict = schema.map(Strict::compile).transpose().map_err(|_| UNTRANSLATABLE)?.map(Arc::new);
        let reasoning = if plan.remote.onboarding.hides_reasoning {
            // Reasoning that a raw prompt has begun goes on in its answer; a SIE looks after that itself.
            let is_raw = surface == Surface::Completions && matches!(plan.remote.upstream.kind, Kind::Openai(_));
            let prompt = ["prompt", "input"].into_iter().find_map(|name| call.value(name)).filter(|_| is_raw);
            hidden(plan, prompt.and_then(one_text).as_deref())?
        } else {
            None
        };
        let marks = Marks { reasoning, ..Marks::default() };
        Ok(Self { strict, ..Self::reading(marks, caller.details.include_reasoning) })
    }

    /// Text that is read for these marks, and for nothing else.
    pub(super) const fn reading(marks: Marks, include_reasoning: bool) -> Self {
        Self { marks, include_reasoning, strict: None }
    }

    /// Reads a stream of `upstream`'s surface for a caller of `surface`.
    pub(super) fn stream(&self, surface: Surface, upstream: Surface, expected: &Expected) -> Reading {
        let choices = expected.choices.unwrap_or(MAX_CHOICES);
        let watch = self.strict.clone().map(|strict| Watch::new(strict, choices));
        let stream = Stream::new(surface, upstream, expected).marked(self.marks.clone()).watched(watch);
        Reading::Stream(Box::new(stream))
    }

    /// The checked answer of `surface` as the caller gets it; `raw` is how the upstream wrote it.
    ///
    /// # Errors
    /// It does not keep the caller's schema, or says what is not text where text is looked into.
    pub(super) fn finish<'a>(
        &self,
        surface: Surface,
        raw: &[u8],
        answer: Cow<'a, [u8]>,
    ) -> Result<Cow<'a, [u8]>, Failure> {
        if self.marks.are_none() && self.strict.is_none() {
            return Ok(answer);
        }
        let mut members = Members::read(Content::Json, &answer).ok_or(INVALID)?;
        match surface {
            Surface::Chat | Surface::Completions => {
                let choices = members.raw_cow("choices").ok_or(INVALID)?;
                let choices = values(Content::Json, &choices).ok_or(INVALID)?;
                let thinkers = if self.marks.reasoning.is_some() { thinkers(raw) } else { None }.unwrap_or_default();
                let choice = |choice| self.choice(surface, choice, &thinkers);
                let choices = choices.into_iter().map(choice).collect::<Option<Vec<_>>>().ok_or(INVALID)?;
                if choices.iter().any(|(_, keeps_schema)| !keeps_schema) {
                    return Err(UNPARSABLE);
                }
                members.set("choices", list(&choices.into_iter().map(|(choice, _)| choice).collect::<Vec<_>>()));
            }
            Surface::Generate => {
                text(self.marks.clone(), &mut members, "text").ok_or(INVALID)?;
            }
            Surface::Responses => {
                let output = members.raw_cow("output").ok_or(INVALID)?;
                let output = values(Content::Json, &output).ok_or(INVALID)?;
                members.set("output", list(&self.pieces(output).ok_or(INVALID)?));
            }
            // They generate no text.
            Surface::Audio
            | Surface::Embeddings
            | Surface::Encode
            | Surface::Extract
            | Surface::Rerank
            | Surface::Score => return Ok(answer),
        }
        Ok(Cow::Owned(members.to_bytes()))
    }

    /// The choice as the caller gets it, and whether it keeps the caller's schema.
    fn choice(&self, surface: Surface, choice: &[u8], thinkers: &[u64]) -> Option<(Vec<u8>, bool)> {
        let mut keeps_schema = true;
        let mut choice = Members::read(Content::Json, choice)?;
        let mut marks = self.marks.clone();
        if choice.read_member("index").is_some_and(|index| thinkers.contains(&index)) {
            marks.thinks_apart();
        }
        let is_plain = if surface == Surface::Completions {
            text(marks, &mut choice, "text")?.is_plain
        } else {
            let message = choice.raw_cow("message")?;
            let mut message = Members::read(Content::Json, &message)?;
            // A host refuses outside of any reasoning.
            let mut refusing = marks.clone();
            refusing.thinks_apart();
            let refused = text(refusing, &mut message, "refusal")?;
            let heard = text(marks, &mut message, "content")?;
            let reasons = self.include_reasoning && !heard.hidden.is_empty();
            if reasons && message.raw("reasoning_content").is_none() {
                message.set_text("reasoning_content", &heard.hidden);
            }
            let calls = message.raw("tool_calls").is_some_and(|calls| !matches!(calls, b"null" | b"[]"));
            let is_end = choice.read_member::<Text<'_>>("finish_reason")?.0 == "stop";
            // OpenAI hosts refuse beside an empty text.
            let refuses = heard.text.is_empty() && !refused.text.is_empty();
            if let Some(strict) = self.strict.as_ref().filter(|_| is_end && !calls && !refuses) {
                keeps_schema = strict.is_met_by(&heard.text);
            }
            let message = message.to_bytes();
            choice.set("message", message);
            heard.is_plain && refused.is_plain
        };
        if !is_plain && choice.raw("logprobs").is_some() {
            choice.set("logprobs", &b"null"[..]);
        }
        Some((choice.to_bytes(), keeps_schema))
    }

    /// The output of a response. The parts of its messages are one text, cut anywhere; reasoning of its own stands in none of them.
    fn pieces(&self, output: Vec<&[u8]>) -> Option<Vec<Vec<u8>>> {
        let mut marks = self.marks.clone();
        let says =
            |piece: &&[u8]| Members::read(Content::Json, piece).is_some_and(|piece| piece.raw("content").is_some());
        let last = output.iter().rposition(says);
        let mut pieces = Vec::with_capacity(output.len());
        for (place, piece) in output.into_iter().enumerate() {
            let mut piece = Members::read(Content::Json, piece)?;
            if piece.read_member::<Text<'_>>("type").is_some_and(|kind| kind.0 == "reasoning") {
                marks.thinks_apart();
            } else if let Some(content) = piece.raw_cow("content") {
                let parts = values(Content::Json, &content)?;
                let end = parts.len().checked_sub(1).filter(|_| Some(place) == last);
                let part = |(place, part)| heard_part(&mut marks, part, Some(place) == end);
                let parts = parts.into_iter().enumerate().map(part).collect::<Option<Vec<_>>>()?;
                piece.set("content", list(&parts));
            }
            pieces.push(piece.to_bytes());
        }
        Some(pieces)
    }
}

/// A part of a response's message with what the caller may see of it; the last one has what was held back, too.
fn heard_part(marks: &mut Marks, part: &[u8], is_last: bool) -> Option<Vec<u8>> {
    let mut part = Members::read(Content::Json, part)?;
    let name = ["text", "refusal"].into_iter().find(|name| part.raw(name).is_some())?;
    let text: String = part.read_member(name)?;
    let mut heard = marks.feed(&text);
    if is_last {
        heard.append(marks.finish());
    }
    part.set_text(name, &heard.text);
    Some(part.to_bytes())
}

/// A list of raw values.
fn list(values: &[Vec<u8>]) -> Vec<u8> {
    [b"[", values.join(&b","[..]).as_slice(), b"]"].concat()
}

/// Reads a member's text and puts what the caller may see in its place. Null says nothing.
fn text(marks: Marks, said: &mut Members<'_>, name: &'static str) -> Option<Heard<'static>> {
    let Some(raw) = said.raw(name).filter(|raw| *raw != b"null") else {
        return Some(Heard { is_plain: true, ..Heard::default() });
    };
    let text: String = serde_json::from_slice(raw).ok()?;
    let heard = marks.read(&text).into_owned();
    if heard.text != text {
        said.set_text(name, &heard.text);
    }
    Some(heard)
}

/// The indexes of the choices whose reasoning stands in a member of its own: their text begins outside of it.
fn thinkers(raw: &[u8]) -> Option<Vec<u64>> {
    let answer = Members::read(Content::Json, raw)?;
    let choices = values(Content::Json, answer.raw("choices")?)?;
    let thinks = |message: &Members<'_>| {
        let mut said =
            ["reasoning", "reasoning_content", "reasoning_details"].into_iter().flat_map(|name| message.raw(name));
        said.any(|raw| !matches!(raw, b"null" | b"\"\"" | b"[]" | b"{}"))
    };
    let index = |choice| {
        let choice = Members::read(Content::Json, choice)?;
        let thinks_inside = |message| Members::read(Content::Json, message).is_some_and(|message| thinks(&message));
        let thinks = thinks(&choice) || choice.raw("message").is_some_and(thinks_inside);
        choice.read_member::<u64>("index").filter(|_| thinks)
    };
    Some(choices.into_iter().filter_map(index).collect())
}

/// Finds the reasoning that the operator hides, in the answer to `prompt` where there is one.
///
/// # Errors
/// Its format is not known: nothing is shown then.
pub(super) fn hidden(plan: &Plan<'_>, prompt: Option<&str>) -> Result<Option<Reasoning>, Failure> {
    let onboarding = &plan.remote.onboarding;
    if !onboarding.hides_reasoning {
        return Ok(None);
    }
    let format = onboarding.reasoning_format.as_deref().ok_or(UNSUPPORTED)?;
    let reasoning = prompt.map_or_else(|| Reasoning::new(format), |prompt| Reasoning::after(format, prompt));
    reasoning.map(Some).ok_or(UNSUPPORTED)
}

/// A raw text, or the only text of a raw list.
fn one_text(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = serde_json::from_slice::<Text<'_>>(raw).map(|text| text.0);
    text.or_else(|_| serde_json::from_slice::<[Text<'_>; 1]>(raw).map(|[text]| text.0)).ok()
}

impl fmt::Debug for Finishing {
    /// Without the caller's schema.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finishing").finish_non_exhaustive()
    }
}
