//! What goes to the caller as an upstream's stream comes in: checked and shaped event by event.

mod calls;
mod choice;
mod choices;
pub(crate) mod chunk;
mod events;
pub(crate) mod filled;
mod json;
mod logprobs;
pub(crate) mod native;

pub use crate::marks::Marks;

use crate::answer::Expected;
use crate::event_stream::{Event, EventStream};
use crate::prime::Progress;
use crate::stream_error::{self, Position};
use crate::strict::Watch;
use choices::Choices;
use native::Native;
use spillway_policies::{Cause, Class, Failure, Surface};
use std::fmt;

/// Most bytes of one event (contract section 5, answer bounds).
const MOST_EVENT_BYTES: usize = 1024 * 1024;

/// The failure of a stream that breaks its protocol or stops too early.
const BROKEN: Failure = Failure::new(Cause::StreamError, Class::Final);

/// The finished output breaks the caller's strict schema.
const UNPARSABLE: Failure = Failure::new(Cause::StreamError, Class::Unparsable);

/// One stream on its way from an upstream to the caller.
pub struct Stream {
    /// The caller's surface.
    caller: Surface,
    events: EventStream,
    way: Way,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing that the caller sees came yet.
    Held,
    Committed,
    /// It is whole.
    Done,
    Failed,
    /// It failed, and the caller was told.
    Told,
}

/// How the upstream's events become the caller's.
enum Way {
    Choices(Box<Choices>),
    Native(Box<Native>),
}

impl Stream {
    /// A stream for a caller of one surface from an upstream that was asked on the same, or on completions for a caller of chat or
    /// generate.
    #[must_use]
    pub fn new(caller: Surface, upstream: Surface, expected: &Expected) -> Self {
        let way = match upstream {
            Surface::Generate => Way::Native(Box::new(Native::new(expected))),
            // Only three surfaces stream; any other is read as chat.
            Surface::Audio
            | Surface::Chat
            | Surface::Completions
            | Surface::Embeddings
            | Surface::Encode
            | Surface::Extract
            | Surface::Rerank
            | Surface::Responses
            | Surface::Score => Way::Choices(Box::new(Choices::new(caller, upstream, expected))),
        };
        Self { caller, events: EventStream::new(MOST_EVENT_BYTES), way, state: State::Held }
    }

    /// Has the text of every choice read for these marks; before anything is fed.
    #[must_use]
    pub fn marked(mut self, marks: Marks) -> Self {
        match &mut self.way {
            Way::Choices(choices) => choices.mark(marks),
            Way::Native(native) => native.mark(marks),
        }
        self
    }

    /// Has what the caller reads of every choice held against a schema when the choice ends; before anything is fed.
    #[must_use]
    pub fn watched(mut self, watch: Option<Watch>) -> Self {
        if let Way::Choices(choices) = &mut self.way {
            choices.watch(watch);
        }
        self
    }

    /// Takes the next bytes of the upstream's body; what is for the caller is appended to `out`. Until it is committed an error can still
    /// follow, and the refusal be restored. After the end or a failure nothing is read or written.
    ///
    /// # Errors
    /// The stream failed, or an event is too large. `out` may hold events that came before the failure.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Progress, Failure> {
        let mut progress = Progress::Nothing;
        if self.is_over() {
            return Ok(progress);
        }
        self.events.feed(bytes);
        while !self.is_over() {
            let event = self.events.next_event().map_err(|_| self.failed(TOO_LARGE))?;
            let Some(event) = event else { break };
            progress = progress.max(self.event(&event, out)?);
        }
        Ok(progress)
    }

    /// The upstream's body has ended.
    ///
    /// # Errors
    /// The stream was cut off before it was whole, or it had failed.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        if !self.is_over()
            && let Some(event) = self.events.finish()
        {
            self.event(&event, out)?;
        }
        match self.state {
            State::Done => Ok(()),
            State::Held | State::Committed if self.way.is_whole() => {
                self.finish(out);
                Ok(())
            }
            State::Held | State::Committed => Err(self.failed(BROKEN)),
            State::Failed | State::Told => Err(BROKEN),
        }
    }

    /// Whether the stream is whole: what comes behind it is not for the caller.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Ends a stream that failed after its first content, in the caller's own protocol; nothing when it has ended.
    pub fn fail(&mut self, failure: &Failure, out: &mut Vec<u8>) {
        if !matches!(self.state, State::Done | State::Told) {
            out.extend_from_slice(&stream_error::render(self.caller, failure, &self.way.position()));
            self.state = State::Told;
        }
    }

    /// Whether this stream ends whole also when it failed.
    #[must_use]
    pub const fn fails_whole(&self) -> bool {
        stream_error::ends_whole(self.caller)
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Done | State::Failed | State::Told)
    }

    const fn failed(&mut self, failure: Failure) -> Failure {
        self.state = State::Failed;
        failure
    }

    /// Shapes one event. One that fails leaves nothing.
    fn event(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<Progress, Failure> {
        let start = out.len();
        match self.read(event, out) {
            Ok(progress) => {
                if progress == Progress::Committed && self.state == State::Held {
                    self.state = State::Committed;
                }
                if self.way.has_last_event() && !self.is_over() {
                    self.finish(out);
                }
                Ok(progress)
            }
            Err(failure) => {
                out.truncate(start);
                Err(self.failed(failure))
            }
        }
    }

    fn read(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<Progress, Failure> {
        let data = event.data.trim_ascii();
        let committed = self.state == State::Committed;
        match data.first() {
            Some(b'{') => match &mut self.way {
                Way::Choices(choices) => choices.event(data, committed, out),
                Way::Native(native) => native.event(data, committed, out),
            },
            _ if data == b"[DONE]" => {
                if let Way::Choices(choices) = &mut self.way {
                    choices.done(out).ok_or(BROKEN)?;
                }
                self.way.is_whole().then_some(()).ok_or(BROKEN)?;
                self.finish(out);
                Ok(Progress::Committed)
            }
            // A list is what some servers wrap errors in.
            Some(b'[') => Err(BROKEN),
            // A comment that some servers disguise as data, or nothing.
            _ => Ok(Progress::Nothing),
        }
    }

    /// The stream is whole: it ends as a local one would.
    fn finish(&mut self, out: &mut Vec<u8>) {
        self.state = State::Done;
        events::write_done(out);
    }
}

/// An event is larger than its bound.
const TOO_LARGE: Failure = Failure::new(Cause::TooLarge, Class::Final);

impl Way {
    /// Whether an event came that is the last by its protocol: nothing behind it is waited for.
    const fn has_last_event(&self) -> bool {
        match self {
            Self::Choices(_) => false,
            Self::Native(native) => native.is_whole(),
        }
    }

    const fn is_whole(&self) -> bool {
        match self {
            Self::Choices(choices) => choices.is_whole(),
            Self::Native(native) => native.is_whole(),
        }
    }

    fn position(&self) -> Position<'_> {
        match self {
            Self::Choices(choices) => choices.position(),
            Self::Native(native) => native.position(),
        }
    }
}

/// What it holds is the upstream's and the caller's, and is not printed.
impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stream").field("caller", &self.caller).finish_non_exhaustive()
    }
}
