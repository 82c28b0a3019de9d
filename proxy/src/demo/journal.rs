//! What did the engine and the upstream see and say? They note it, the story reads it.

use std::time::Duration;
use tokio::sync::mpsc;

/// One note.
#[derive(Debug)]
pub(super) enum Note {
    /// The engine forgot its model and loads it again, which takes this long.
    EngineCold(Duration),
    /// The engine answered a chat call.
    EngineSaid(Said),
    /// The engine was told to have its model at once.
    EngineWarm,
    /// The upstream was taken down.
    UpstreamDown,
    /// The upstream answered a chat call.
    UpstreamSaid(Said),
    /// The upstream is back.
    UpstreamUp,
}

/// An answer to a chat call, as it was written.
#[derive(Debug)]
pub(super) struct Said {
    /// Its status.
    pub(super) status: u16,
    /// Its error code.
    pub(super) code: Option<&'static str>,
    /// Its status line and header lines.
    pub(super) head: Vec<u8>,
    /// Its body; empty for a stream.
    pub(super) body: Vec<u8>,
    /// Whether the call carried an Authorization header.
    pub(super) had_key: bool,
}

/// Where the sides write.
#[derive(Clone)]
pub(super) struct Notes(mpsc::UnboundedSender<Note>);

/// Where the story reads.
pub(super) struct Journal(mpsc::UnboundedReceiver<Note>);

/// An empty journal.
pub(super) fn open() -> (Notes, Journal) {
    let (notes, journal) = mpsc::unbounded_channel();
    (Notes(notes), Journal(journal))
}

impl Notes {
    pub(super) fn write(&self, note: Note) {
        // Nobody reads any more once the demo is over.
        let _ = self.0.send(note);
    }
}

impl Journal {
    /// Every note since the last look, in order.
    pub(super) fn since(&mut self) -> Vec<Note> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }

    /// The next note; none once both sides are gone.
    pub(super) async fn next(&mut self) -> Option<Note> {
        self.0.recv().await
    }
}
