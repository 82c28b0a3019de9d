//! What goes to the caller as an upstream's stream comes in: checked and shaped event by event.

use crate::event_stream::{Event, EventStream, write_event};
use crate::prime::{Seen, Tracker};
use crate::shape::{Shaper, Shown};
use crate::stream_error;
use spillway_policies::{Cause, Class, Failure, Surface};

/// Most bytes of one event (contract section 5, answer bounds).
const MOST_EVENT_BYTES: usize = 1024 * 1024;

/// One stream on its way from an upstream to the caller.
#[derive(Debug)]
pub struct Stream {
    /// The caller's surface.
    surface: Surface,
    events: EventStream,
    tracker: Tracker,
    shaper: Shaper,
    done: bool,
}

impl Stream {
    /// A stream of `surface`, from its first byte on.
    #[must_use]
    pub fn new(surface: Surface, shown: &Shown) -> Self {
        Self {
            surface,
            events: EventStream::new(MOST_EVENT_BYTES),
            tracker: Tracker::new(surface),
            shaper: Shaper::new(surface, shown),
            done: false,
        }
    }

    /// Takes the next bytes of the upstream's body; what is for the caller is appended to `out`. True once there was content, or a
    /// valid end: before that, an error can still follow and the refusal be restored.
    ///
    /// # Errors
    /// The stream failed, or an event is too large. `out` may hold events that came before the failure.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Failure> {
        let mut committed = false;
        self.events.feed(bytes);
        while !self.done {
            let event = self.events.next_event().map_err(|_| Failure::new(Cause::TooLarge, Class::Final))?;
            let Some(event) = event else { break };
            committed |= self.event(&event, out)?;
        }
        Ok(committed)
    }

    /// The upstream's body has ended.
    ///
    /// # Errors
    /// The stream was cut off before it was whole.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        if self.done {
            return Ok(());
        }
        if let Some(event) = self.events.finish() {
            self.event(&event, out)?;
        }
        self.tracker.at_eof()?;
        self.finish(out);
        Ok(())
    }

    /// Whether the stream is whole: what comes behind it is not for the caller.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// Ends a stream that failed after its first content, in the caller's own protocol.
    pub fn fail(&self, failure: &Failure, out: &mut Vec<u8>) {
        out.extend_from_slice(&stream_error::render(self.surface, failure, &self.tracker.position()));
    }

    /// Whether a failed stream still ends whole: SIE's has a terminal event for failures, OpenAI's has none and is broken off.
    #[must_use]
    pub const fn fails_whole(&self) -> bool {
        matches!(self.surface, Surface::Generate)
    }

    /// Shapes one event. True when it is content or a valid end.
    fn event(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<bool, Failure> {
        match self.tracker.see(event) {
            Seen::Failed(failure) => Err(failure),
            Seen::Skip => Ok(false),
            Seen::Done => {
                self.tracker.at_eof()?;
                self.finish(out);
                Ok(true)
            }
            seen @ (Seen::Content | Seen::Finish | Seen::Meta) => {
                if let Some(data) = self.shaper.event(&event.data) {
                    // Only Responses has named events; any other name is the upstream's own.
                    let name = event.name.as_deref().filter(|_| self.surface == Surface::Responses);
                    write_event(name, &data, out);
                }
                Ok(!matches!(seen, Seen::Meta))
            }
        }
    }

    /// The stream is whole: it ends as a local one would.
    fn finish(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.done, true) && self.surface != Surface::Responses {
            write_event(None, b"[DONE]", out);
        }
    }
}
