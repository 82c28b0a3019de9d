//! Is a stream of chat or completions chunks valid, and what does its caller see of it, who may be one of generate?

use super::choice::{Ask, Choice, Shows};
use super::chunk::{self, Chunk};
use super::events::{End, Events, Logprobs};
use super::{BROKEN, UNPARSABLE};
use crate::answer::{Expected, Fields, Generated, MAX_CHOICES};
use crate::marks::Marks;
use crate::prime::Progress;
use crate::stream_error::Position;
use crate::strict::Watch;
use serde_json::value::RawValue;
use spillway_policies::{Failure, Surface};

/// Reads one stream of choices.
pub(super) struct Choices {
    caller: Surface,
    upstream: Surface,
    expected: Expected,
    marks: Marks,
    watch: Option<Watch>,
    /// What stands before the choices in every chunk.
    opening: Vec<u8>,
    choices: Vec<Choice>,
    begun: usize,
    ended: usize,
    /// The first usage behind the end of every choice.
    usage: Option<Generated>,
    done: bool,
    /// An event without content was kept for the caller; while the stream is held back, one is enough.
    kept_empty: bool,
    events: Events,
}

/// What the caller sees of one chunk's usage.
enum Counted {
    Nothing,
    Null,
    Shown(Generated),
}

impl Choices {
    pub(super) fn new(caller: Surface, upstream: Surface, expected: &Expected) -> Self {
        let mut opening = b"data: ".to_vec();
        let object = if caller == Surface::Completions { "text_completion" } else { "chat.completion.chunk" };
        expected.shown.open(object, &mut opening);
        opening.extend_from_slice(b",\"choices\":[");
        Self {
            caller,
            upstream,
            expected: expected.clone(),
            marks: Marks::default(),
            watch: None,
            opening,
            choices: Vec::new(),
            begun: 0,
            ended: 0,
            usage: None,
            done: false,
            kept_empty: false,
            events: Events::new(expected.shown.id.clone()),
        }
    }

    pub(super) fn mark(&mut self, marks: Marks) {
        self.marks = marks;
    }

    pub(super) fn watch(&mut self, watch: Option<Watch>) {
        self.watch = watch;
    }

    /// Whether every choice has ended, usage came behind it, and `[DONE]` where it may not be missing.
    pub(super) const fn is_whole(&self) -> bool {
        self.usage.is_some()
            && self.ended == self.begun
            && (self.done || !matches!(self.upstream, Surface::Completions))
    }

    pub(super) fn position(&self) -> Position<'_> {
        self.events.position()
    }

    /// Takes one chunk.
    pub(super) fn event(&mut self, data: &[u8], committed: bool, out: &mut Vec<u8>) -> Result<Progress, Failure> {
        let Fields(chunk): Fields<Chunk<'_>> = serde_json::from_slice(data).map_err(|_| BROKEN)?;
        if let Some(failure) = chunk.failure() {
            return Err(failure);
        }
        let shown = self.chunk(chunk, committed, out);
        shown.ok_or_else(|| if self.choices.iter().any(Choice::breaks_schema) { UNPARSABLE } else { BROKEN })
    }

    /// `[DONE]` came: the stream is whole, or it fails.
    pub(super) fn done(&mut self, out: &mut Vec<u8>) -> Option<()> {
        self.done = true;
        self.is_whole().then_some(())?;
        if self.caller != Surface::Generate {
            return Some(());
        }
        let end = End { reason: self.choices.first()?.reason()?, usage: self.usage, times: &[] };
        self.events.write("", Logprobs::None, Some(end), out)
    }

    fn chunk(&mut self, chunk: Chunk<'_>, committed: bool, out: &mut Vec<u8>) -> Option<Progress> {
        let start = out.len();
        let has_frame = self.caller != Surface::Generate;
        if has_frame {
            out.extend_from_slice(&self.opening);
        }
        let mut shows = Shows::default();
        for choice in chunk.choices.into_iter().flat_map(|list| list.0) {
            self.choice(choice, &mut shows, out)?;
        }
        let usage = self.count(chunk.usage)?;
        if has_frame {
            let is_kept = self.is_kept(&shows, &usage, committed);
            Self::close(&usage, out);
            if !is_kept {
                out.truncate(start);
            }
        }
        Some(if shows.content || self.is_whole() {
            Progress::Committed
        } else if shows.life {
            Progress::Alive
        } else {
            Progress::Nothing
        })
    }

    fn choice(&mut self, choice: chunk::Choice<'_>, shows: &mut Shows, out: &mut Vec<u8>) -> Option<()> {
        let most = self.expected.choices.unwrap_or(MAX_CHOICES).min(MAX_CHOICES);
        let place = usize::try_from(choice.index).ok().filter(|place| *place < most)?;
        let reason = choice.reason(self.upstream)?;
        choice.is_of(self.upstream != Surface::Completions).then_some(())?;
        while self.choices.len() <= place {
            self.choices.push(Choice::new(self.choices.len(), self.marks.clone(), self.watch.clone()));
        }
        let state = &mut self.choices[place];
        if state.reason().is_some() {
            // Some hosts repeat an empty choice beside the usage. Behind its end it is nothing to the caller, and may say nothing.
            return (!choice.says_something()).then_some(());
        }
        self.begun += usize::from(state.begin());
        self.ended += usize::from(reason.is_some());
        let ask = Ask { caller: self.caller, upstream: self.upstream, expected: &self.expected };
        state.take(choice, reason, ask, (&mut self.events, shows, out))
    }

    /// Checks a usage that counts: one that comes with or behind the end of every choice. None when it is not exact, or more than the
    /// call allows.
    fn count(&mut self, usage: Option<&RawValue>) -> Option<Counted> {
        let Some(raw) = usage else { return Some(Counted::Nothing) };
        let asked = self.expected.shown.include_usage;
        let null = if asked { Counted::Null } else { Counted::Nothing };
        let wanted = self.expected.choices.unwrap_or(self.begun);
        if raw.get() == "null" || self.ended == 0 || self.ended < wanted {
            return Some(null);
        }
        let Fields(usage): Fields<Generated> = serde_json::from_str(raw.get()).ok()?;
        (usage.is_sound() && usage.is_within(&self.expected, self.ended)).then_some(())?;
        // Clients add usages up, so they see one.
        let is_first = self.usage.is_none();
        self.usage.get_or_insert(usage);
        Some(if asked && is_first { Counted::Shown(usage) } else { null })
    }

    /// Whether the caller gets the chunk: one with neither choices nor usage is not for it.
    fn is_kept(&mut self, shows: &Shows, usage: &Counted, committed: bool) -> bool {
        if shows.content || shows.frame || matches!(usage, Counted::Shown(_)) {
            return true;
        }
        // Emptied chunks keep a caller's connection alive, but before the start there is none.
        shows.choices > 0 && (committed || !std::mem::replace(&mut self.kept_empty, true))
    }

    fn close(usage: &Counted, out: &mut Vec<u8>) {
        out.push(b']');
        match usage {
            Counted::Nothing => {}
            Counted::Null => out.extend_from_slice(b",\"usage\":null"),
            Counted::Shown(usage) => {
                out.extend_from_slice(b",\"usage\":");
                out.extend_from_slice(&usage.to_json());
            }
        }
        out.extend_from_slice(b"}\n\n");
    }
}
