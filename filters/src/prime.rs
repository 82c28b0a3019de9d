//! When may a stream start, and is it whole when it ends?
//!
//! A stream commits on content (text, reasoning, a piece of a tool call) or on a valid end. Roles, empty texts, comments, usage, filter
//! results and lifecycle events do not commit: an error can still follow them, and then the refusal is restored (product section 4
//! item 8, engines section 5).

mod choices;
mod generate;
mod responses;

use crate::event_stream::Event;
use choices::Choices;
use generate::Piece;
use responses::Lifecycle;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use spillway_policies::{Cause, Class, Failure, Surface};
use std::fmt;

/// What one event is for the start and the end of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Content: the stream is committed.
    Content,
    /// `[DONE]` after a valid end.
    Done,
    /// The stream failed, before or after content.
    Failed(Failure),
    /// A valid end: the stream is committed, content or not.
    Finish,
    /// Part of the protocol, and no content.
    Meta,
    /// Not part of the protocol, or behind the end: not for the caller. Counted in [`Tracker::skipped`].
    Skip,
}

/// Where a stream stands, for the error that may have to end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position<'a> {
    /// The request's id as the upstream gave it; generate only.
    pub request_id: Option<&'a str>,
    /// The sequence number of the next event; generate and responses only.
    pub next_seq: u64,
}

/// Follows one stream of an upstream that speaks the caller's protocol.
#[derive(Clone, Debug)]
pub struct Tracker {
    surface: Surface,
    /// Bit n: choice n was seen, and it has ended. Other surfaces use bit 0.
    begun: u128,
    ended: u128,
    done: bool,
    skipped: u64,
    request_id: Option<String>,
    next_seq: u64,
}

/// Longest request id that is kept.
const MAX_ID_BYTES: usize = 256;

/// The failure of a stream that breaks its protocol or stops too early.
const BROKEN: Failure = Failure::new(Cause::StreamError, Class::Final);

impl Tracker {
    /// A tracker at the start of a stream of `surface`.
    #[must_use]
    pub const fn new(surface: Surface) -> Self {
        Self { surface, begun: 0, ended: 0, done: false, skipped: 0, request_id: None, next_seq: 0 }
    }

    /// Takes the next event.
    pub fn see(&mut self, event: &Event) -> Seen {
        let data = event.data.trim_ascii();
        if self.done {
            return self.skip();
        }
        match data.first() {
            Some(b'{') => self.object(event.name.as_deref(), data),
            _ if data == b"[DONE]" => self.done(),
            // A list is what some servers wrap errors in.
            Some(b'[') => Seen::Failed(BROKEN),
            // A comment that some servers disguise as data, or nothing.
            _ => self.skip(),
        }
    }

    /// Whether the stream is whole, now that it has ended.
    ///
    /// # Errors
    /// It was cut off: a choice without a finish, no terminal event, or completions without `[DONE]`.
    pub const fn at_eof(&self) -> Result<(), Failure> {
        let whole = self.is_finished() && (self.done || !matches!(self.surface, Surface::Completions));
        if whole { Ok(()) } else { Err(BROKEN) }
    }

    /// Whether `[DONE]` came. A whole chat or generate stream may lack it; the caller's must not.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// How many events were skipped.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Where the stream stands.
    #[must_use]
    pub fn position(&self) -> Position<'_> {
        Position { request_id: self.request_id.as_deref(), next_seq: self.next_seq }
    }

    const fn is_finished(&self) -> bool {
        self.begun != 0 && self.begun == self.ended
    }

    const fn skip(&mut self) -> Seen {
        self.skipped += 1;
        Seen::Skip
    }

    const fn done(&mut self) -> Seen {
        if !self.is_finished() {
            return Seen::Failed(BROKEN);
        }
        self.done = true;
        Seen::Done
    }

    fn object(&mut self, name: Option<&[u8]>, data: &[u8]) -> Seen {
        let seen = match self.surface {
            Surface::Completions => self.choices(data, crate::answer::is_completion),
            Surface::Generate => self.piece(data),
            Surface::Responses => self.lifecycle(name, data),
            // Only four surfaces stream; any other is read as chat.
            Surface::Audio
            | Surface::Chat
            | Surface::Embeddings
            | Surface::Encode
            | Surface::Extract
            | Surface::Rerank
            | Surface::Score => self.choices(data, crate::answer::is_chat),
        };
        seen.unwrap_or(Seen::Failed(BROKEN))
    }

    fn choices(&mut self, data: &[u8], is_end: fn(&str) -> bool) -> Option<Seen> {
        let chunk: choices::Chunk<'_> = serde_json::from_slice(data).ok()?;
        if let Some(failure) = chunk.failure() {
            return Some(Seen::Failed(failure));
        }
        let Choices { begun, ended, content } = chunk.choices(is_end, self.surface != Surface::Completions)?;
        self.begun |= begun;
        self.ended |= ended;
        Some(if content {
            Seen::Content
        } else if ended != 0 && self.is_finished() {
            Seen::Finish
        } else {
            Seen::Meta
        })
    }

    fn piece(&mut self, data: &[u8]) -> Option<Seen> {
        let piece: Piece<'_> = serde_json::from_slice(data).ok()?;
        if let Some(id) = piece.request_id().filter(|id| id.len() <= MAX_ID_BYTES && self.request_id.is_none()) {
            self.request_id = Some(id.to_owned());
        }
        self.next_seq = piece.seq().unwrap_or(self.next_seq).saturating_add(1);
        self.end_one(piece.seen()?, piece.is_terminal())
    }

    fn lifecycle(&mut self, name: Option<&[u8]>, data: &[u8]) -> Option<Seen> {
        let event: Lifecycle<'_> = serde_json::from_slice(data).ok()?;
        self.next_seq = event.sequence_number().unwrap_or(self.next_seq).saturating_add(1);
        let seen = event.seen(name);
        self.end_one(seen, seen == Seen::Finish)
    }

    /// A stream with one thread: what is behind its end is not for the caller.
    fn end_one(&mut self, seen: Seen, ends: bool) -> Option<Seen> {
        if self.is_finished() && !matches!(seen, Seen::Failed(_)) {
            return Some(self.skip());
        }
        self.begun = 1;
        self.ended = u128::from(ends && !matches!(seen, Seen::Failed(_)));
        Some(seen)
    }
}

/// Whether a value of any shape says something: null, an empty text, an empty list and an empty object do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Filled(bool);

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FilledVisitor)
    }
}

struct FilledVisitor;

impl<'de> Visitor<'de> for FilledVisitor {
    type Value = Filled;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Filled, E> {
        Ok(Filled(false))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Filled, E> {
        Ok(Filled(true))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Filled, E> {
        Ok(Filled(true))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Filled, E> {
        Ok(Filled(true))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Filled, E> {
        Ok(Filled(true))
    }

    fn visit_str<E>(self, text: &str) -> Result<Filled, E> {
        Ok(Filled(!text.is_empty()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Filled, A::Error> {
        let mut filled = false;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Filled(filled))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Filled, A::Error> {
        let mut filled = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Filled(filled))
    }
}
