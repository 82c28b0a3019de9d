//! What does the caller see of one choice of a chunk?
//!
//! Private reasoning goes unless it was asked for, and the log-probabilities of its tokens with it: those beside nothing that is shown may
//! be of reasoning that is still to come. Fields that only the upstream knows go always (contract section 5, "Reasoning privacy").

use super::calls::{self, Calls, Of};
use super::chunk::{self, Delta};
use super::events::{Events, Logprobs};
use super::json::{self, Object};
use super::logprobs::{self, Form};
use crate::answer::{Expected, Fields};
use crate::marks::{Heard, Marks};
use crate::strict::Watch;
use serde_json::value::RawValue;
use spillway_policies::Surface;
use std::borrow::Cow;

/// What a choice is read for.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) caller: Surface,
    pub(super) upstream: Surface,
    pub(super) expected: &'a Expected,
}

impl Ask<'_> {
    /// Whether log-probabilities are missing that raw completions were asked for.
    fn lacks_logprobs(&self, logprobs: Option<&RawValue>) -> bool {
        let has_some = logprobs.is_some_and(|raw| raw.get() != "null");
        self.expected.logprobs && self.upstream == Surface::Completions && !has_some
    }
}

/// What the caller sees of a chunk.
#[derive(Default)]
pub(super) struct Shows {
    /// How many choices were written.
    pub(super) choices: usize,
    /// Something that was generated.
    pub(super) content: bool,
    /// A role, or the end of a choice.
    pub(super) frame: bool,
    /// Something was generated, seen or not.
    pub(super) life: bool,
}

/// One choice of a stream, as far as it came.
pub(super) struct Choice {
    place: usize,
    begun: bool,
    /// The role is shown once.
    has_role: bool,
    /// Its text has begun.
    speaks: bool,
    /// A refusal was shown.
    refuses: bool,
    reason: Option<&'static str>,
    marks: Marks,
    /// The same for the text of a refusal.
    refusal_marks: Marks,
    watch: Option<Watch>,
    /// Its finished text breaks the caller's schema.
    breaks_schema: bool,
    calls: Calls,
}

/// What a chunk says of the choice, whichever protocol it came in.
struct Said<'a> {
    /// All but the text.
    delta: Delta<'a>,
    /// There is a text, if an empty one.
    has_text: bool,
    heard: Heard<'a>,
    /// A refusal that is shown, if an empty one.
    refusal: Option<Cow<'a, str>>,
    logprobs: Option<&'a RawValue>,
    /// It has private reasoning, in a member of its own or in the text.
    thinks: bool,
    /// This chunk ends the choice.
    ends: bool,
}

impl Choice {
    /// Whether its finished text breaks the caller's schema.
    pub(super) const fn breaks_schema(&self) -> bool {
        self.breaks_schema
    }

    pub(super) fn new(place: usize, marks: Marks, watch: Option<Watch>) -> Self {
        // A host refuses outside of any reasoning.
        let mut refusal_marks = marks.clone();
        refusal_marks.thinks_apart();
        Self {
            place,
            begun: false,
            has_role: false,
            speaks: false,
            refuses: false,
            reason: None,
            refusal_marks,
            marks,
            watch,
            breaks_schema: false,
            calls: Calls::default(),
        }
    }

    /// How it ended, once it did.
    pub(super) const fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// True the first time.
    pub(super) const fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    /// Takes what a chunk says of it and how it ends, and appends what the caller sees. None when it is not valid.
    pub(super) fn take(
        &mut self,
        mut choice: chunk::Choice<'_>,
        reason: Option<&'static str>,
        ask: Ask<'_>,
        (events, shows, out): (&mut Events, &mut Shows, &mut Vec<u8>),
    ) -> Option<()> {
        let mut delta = choice.delta.take().map(|Fields(delta)| delta).unwrap_or_default();
        let text = delta.content.take().or_else(|| choice.text.take());
        let piece = text.as_ref().map(|text| text.0.as_ref()).unwrap_or_default();
        let thinks = choice.thinks() || delta.thinks();
        if ask.lacks_logprobs(choice.logprobs) && !piece.is_empty() && !thinks {
            return None;
        }
        let refusal = delta.refusal.take();
        shows.life |= thinks || !piece.is_empty() || refusal.as_ref().is_some_and(|refusal| !refusal.0.is_empty());
        shows.frame |= reason.is_some();
        let ends = reason.is_some();
        let mut heard = self.hear(piece, thinks, ends);
        let refusal = self.hear_refusal(refusal.map(|text| text.0), ends, &mut heard.is_plain);
        self.refuses |= refusal.as_ref().is_some_and(|refusal| !refusal.is_empty());
        self.reason = reason;
        let thinks = thinks || !heard.hidden.is_empty();
        let said = Said { delta, has_text: text.is_some(), heard, refusal, logprobs: choice.logprobs, thinks, ends };
        match ask.caller {
            Surface::Generate => self.write_event(&said, ask, events, shows, out),
            Surface::Completions => self.write_text(&said, ask, shows, out),
            _ => self.write_delta(said, ask, shows, out),
        }
    }

    fn hear<'a>(&mut self, piece: &'a str, thinks: bool, ends: bool) -> Heard<'a> {
        if thinks && !self.speaks {
            self.marks.thinks_apart();
            self.refusal_marks.thinks_apart();
        }
        self.speaks |= !piece.is_empty();
        let mut heard = self.marks.feed(piece);
        if ends {
            heard.append(self.marks.finish());
        }
        if let Some(watch) = &mut self.watch {
            watch.say(&heard.text);
        }
        heard
    }

    /// What is shown of a refusal, and whether it is all.
    fn hear_refusal<'a>(
        &mut self,
        refusal: Option<Cow<'a, str>>,
        ends: bool,
        is_plain: &mut bool,
    ) -> Option<Cow<'a, str>> {
        if self.refusal_marks.are_none() {
            return refusal;
        }
        let mut shown = String::new();
        if let Some(piece) = refusal.as_ref().filter(|piece| !piece.is_empty()) {
            self.speaks = true;
            let heard = self.refusal_marks.feed(piece);
            *is_plain &= heard.is_plain;
            shown.push_str(&heard.text);
        }
        if ends {
            let heard = self.refusal_marks.finish();
            *is_plain &= heard.is_plain;
            shown.push_str(&heard.text);
        }
        (refusal.is_some() || !shown.is_empty()).then_some(shown.into())
    }

    /// Generate: an event of its own for every text.
    fn write_event(
        &self,
        said: &Said<'_>,
        ask: Ask<'_>,
        events: &mut Events,
        shows: &mut Shows,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        if self.reason == Some("content_filter") {
            // Native generation has no such end: it is an error (contract section 5, finish_reason allow-list).
            return None;
        }
        let logprobs = said.logprobs.filter(|raw| ask.expected.logprobs && raw.get() != "null" && !said.thinks);
        // What is held back may turn out to be private.
        let logprobs = logprobs.filter(|_| said.heard.is_plain);
        if said.heard.text.is_empty() {
            return Some(());
        }
        shows.content = true;
        events.write(&said.heard.text, logprobs.map_or(Logprobs::None, Logprobs::Openai), None, out)
    }

    fn write_text(&self, said: &Said<'_>, ask: Ask<'_>, shows: &mut Shows, out: &mut Vec<u8>) -> Option<()> {
        let mut choice = self.open(shows, out);
        json::text(&said.heard.text, choice.name("text"));
        shows.content |= !said.heard.text.is_empty();
        self.close(choice, said, ask, !said.heard.text.is_empty(), shows)
    }

    fn write_delta(&mut self, mut said: Said<'_>, ask: Ask<'_>, shows: &mut Shows, out: &mut Vec<u8>) -> Option<()> {
        let calls = self.read_calls(&mut said, ask)?;
        // A translated choice has no role of its own.
        let shows_role = !self.has_role && (said.delta.role.0 || ask.upstream == Surface::Completions);
        let shows_reasoning = ask.expected.shown.include_reasoning && said.has_reasoning();
        let refuses = said.refusal.as_ref().is_some_and(|refusal| !refusal.is_empty());
        let seen = !said.heard.text.is_empty() || !calls.is_empty() || refuses || shows_reasoning;
        self.has_role |= shows_role;
        shows.frame |= shows_role;
        shows.content |= seen;
        let mut choice = self.open(shows, out);
        let mut delta = Object::open(choice.name("delta"));
        if shows_role {
            json::text("assistant", delta.name("role"));
        }
        said.write(shows_reasoning, &mut delta);
        if !calls.is_empty() {
            json::list(&calls, delta.name("tool_calls"), calls::Shown::write);
        }
        delta.close();
        self.close(choice, &said, ask, seen, shows)
    }

    /// The tool calls of a chunk, in members of their own or in the text. None when one is not valid, or the choice ends without what
    /// it says.
    fn read_calls<'a>(&mut self, said: &mut Said<'a>, ask: Ask<'_>) -> Option<Vec<calls::Shown<'a>>> {
        let of = Of { answer: &ask.expected.shown.id, choice: self.place };
        let mut shown = Vec::new();
        for piece in said.delta.tool_calls.take().into_iter().flat_map(|list| list.0) {
            shown.extend(self.calls.take(piece, of)?);
        }
        for (name, arguments) in std::mem::take(&mut said.heard.calls) {
            shown.push(self.calls.add(name, arguments, of)?);
        }
        (self.calls.are_none() || !ask.expected.no_tools).then_some(())?;
        if said.ends {
            self.calls.are_named().then_some(())?;
            if ask.upstream == Surface::Completions && !self.calls.are_none() {
                self.reason = Some("tool_calls");
            }
            (self.reason != Some("tool_calls") || !self.calls.are_none()).then_some(())?;
            // What was cut off, or calls tools or refuses instead, keeps no schema.
            let is_text = self.reason == Some("stop") && self.calls.are_none();
            let is_met = |watch: &Watch| watch.is_met() || self.refuses && watch.has_heard_nothing();
            self.breaks_schema = is_text && !self.watch.as_ref().is_none_or(is_met);
            (!self.breaks_schema).then_some(())?;
        }
        Some(shown)
    }

    fn open<'o>(&self, shows: &mut Shows, out: &'o mut Vec<u8>) -> Object<'o> {
        if shows.choices > 0 {
            out.push(b',');
        }
        shows.choices += 1;
        let mut choice = Object::open(out);
        json::number(self.place as u64, choice.name("index"));
        choice
    }

    fn close(
        &self,
        mut choice: Object<'_>,
        said: &Said<'_>,
        ask: Ask<'_>,
        seen: bool,
        shows: &mut Shows,
    ) -> Option<()> {
        match self.reason {
            Some(reason) => json::text(reason, choice.name("finish_reason")),
            None => choice.name("finish_reason").extend_from_slice(b"null"),
        }
        if let Some(raw) = said.logprobs {
            let hides = (said.thinks || !seen) && !ask.expected.shown.include_reasoning;
            if raw.get() == "null" || hides || !said.heard.is_plain || !ask.expected.logprobs {
                choice.name("logprobs").extend_from_slice(b"null");
            } else {
                // Who sees reasoning sees also those of a token whose bytes are not a text yet.
                shows.frame = true;
                let form = if ask.caller == ask.upstream { Form::Same } else { Form::Chat };
                logprobs::write(raw, form, choice.name("logprobs"))?;
            }
        }
        choice.close();
        Some(())
    }
}

impl Said<'_> {
    /// Whether there is reasoning in a form that can be shown.
    fn has_reasoning(&self) -> bool {
        self.delta.reasons() || !self.heard.hidden.is_empty()
    }

    /// Its texts, as members of a delta.
    fn write(&self, shows_reasoning: bool, delta: &mut Object<'_>) {
        if self.has_text || !self.heard.text.is_empty() {
            json::text(&self.heard.text, delta.name("content"));
        }
        if let Some(refusal) = &self.refusal {
            json::text(refusal, delta.name("refusal"));
        }
        if !shows_reasoning {
            return;
        }
        if let Some(reasoning) = &self.delta.reasoning {
            json::text(&reasoning.0, delta.name("reasoning"));
        }
        let apart = self.delta.reasoning_content.as_ref().map(|text| text.0.as_ref()).unwrap_or_default();
        let content = [apart, &self.heard.hidden].concat();
        if !content.is_empty() {
            json::text(&content, delta.name("reasoning_content"));
        }
    }
}
