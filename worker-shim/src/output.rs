//! What has the engine written, and how does it get on with what it does?

mod line;
mod pass;

use line::{Line, harmless};
use memchr::memmem;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

pub(crate) use pass::Stream;

/// How many lines are kept.
const LINES: usize = 64;

/// How long a line of progress may be, in characters.
const PROGRESS: usize = 200;

/// The engine's stdout and stderr: passed through as they come, the last lines kept for whoever asks what went wrong. It does not print.
pub struct Output {
    /// What a line of progress contains, one of these.
    texts: &'static [&'static str],
    kept: Mutex<Kept>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Kept {
    /// Lines that have ended, oldest first, as they were written.
    ended: VecDeque<Vec<u8>>,
    /// The line that stdout is at, and the one that stderr is at.
    open: [Line; 2],
    progress: Option<String>,
}

impl Output {
    /// Output in which a line with one of these texts tells how far a load has come.
    pub fn new(progress: &'static [&'static str]) -> Arc<Self> {
        Arc::new(Self { texts: progress, kept: Mutex::default(), changes: watch::Sender::new(0) })
    }

    /// The last lines of stdout and stderr, oldest first: at most 64, of at most 1 KiB each. Escape sequences are left out, and what
    /// could still move a cursor is replaced. A line that has no end yet counts.
    pub fn lines(&self) -> Vec<String> {
        let kept = self.kept.lock();
        let open = kept.open.iter().map(Line::text).filter(|text| !text.is_empty());
        let all: Vec<&[u8]> = kept.ended.iter().map(Vec::as_slice).chain(open).collect();
        all[all.len().saturating_sub(LINES)..].iter().map(|line| harmless(line)).collect()
    }

    /// The last line that told of progress since [`begin`](Self::begin), trimmed, at most 200 characters.
    pub fn progress(&self) -> Option<String> {
        self.kept.lock().progress.clone()
    }

    /// A new process starts: it has made no progress yet. The lines of the one before stay, because they may say why it ended.
    pub fn begin(&self) {
        let had = self.kept.lock().progress.take();
        if had.is_some() {
            self.count();
        }
    }

    /// Counts the changes of [`progress`](Self::progress).
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Keeps what was written to one of the two streams.
    fn keep(&self, stream: Stream, bytes: &[u8]) {
        let mut kept = self.kept.lock();
        let Kept { ended, open, progress } = &mut *kept;
        let line = &mut open[stream as usize];
        let mut told = None;
        line.take(bytes, |text, has_ended| {
            told = self.progress_in(text).or_else(|| told.take());
            if has_ended {
                push(ended, text);
            }
        });
        // A bar that begins with a carriage return is drawn before anything ends its line.
        told = self.progress_in(line.text()).or(told);
        if told.is_some() && told != *progress {
            *progress = told;
            drop(kept);
            self.count();
        }
    }

    /// What an engine writes to stdout, without an engine.
    #[cfg(test)]
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.keep(Stream::Stdout, bytes);
    }

    /// A stream has ended, and with it its last line.
    fn end(&self, stream: Stream) {
        let mut kept = self.kept.lock();
        let Kept { ended, open, .. } = &mut *kept;
        let line = std::mem::take(&mut open[stream as usize]);
        if !line.text().is_empty() {
            push(ended, line.text());
        }
    }

    fn progress_in(&self, line: &[u8]) -> Option<String> {
        // As it was written: most lines tell nothing, and are not worth more.
        let tells = self.texts.iter().any(|text| memmem::find(line, text.as_bytes()).is_some());
        tells.then(|| harmless(line).trim().chars().take(PROGRESS).collect())
    }

    fn count(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// Keeps one line more, in the memory of the one that goes for it.
fn push(lines: &mut VecDeque<Vec<u8>>, text: &[u8]) {
    let mut line = if lines.len() < LINES { Vec::new() } else { lines.pop_front().unwrap_or_default() };
    line.clear();
    line.extend_from_slice(text);
    lines.push_back(line);
}

#[cfg(test)]
mod tests;
