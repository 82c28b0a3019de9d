//! Is a stream of generate valid, and what does the caller see of it?

use super::BROKEN;
use super::events::{End, Events, Logprobs};
use crate::answer::{Expected, Fields, Generated, finish};
use crate::marks::Marks;
use crate::prime::Progress;
use crate::stream_error::Position;
use crate::upstream_status::in_band;
use crate::upstream_status::loose::{Loose, Text};
use serde::Deserialize;
use serde_json::value::RawValue;
use spillway_policies::{Cause, Failure};

/// One event (contract section 1.4). `done` must be there and a boolean.
#[derive(Deserialize)]
pub(crate) struct Piece<'a> {
    #[serde(borrow, default)]
    request_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) text_delta: Option<Text<'a>>,
    pub(crate) done: bool,
    #[serde(borrow, default)]
    logprobs: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
    #[serde(default)]
    usage: Option<Fields<Generated>>,
    #[serde(borrow, default)]
    ttft_ms: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tpot_ms: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<Loose<'a>>,
}

impl Piece<'_> {
    /// The failure it states, or that it is when it ends otherwise than in `is_end`.
    pub(crate) fn failure(&self, is_end: fn(&str) -> bool) -> Option<Failure> {
        match &self.error {
            Some(error) => Some(in_band::failure(Cause::StreamError, error)),
            None => (self.done && !is_end(self.reason())).then_some(BROKEN),
        }
    }

    fn reason(&self) -> &str {
        self.finish_reason.as_ref().map(|reason| reason.0.as_ref()).unwrap_or_default()
    }
}

/// Reads one stream of generate for a caller of generate.
pub(super) struct Native {
    expected: Expected,
    marks: Marks,
    events: Events,
    ended: bool,
}

impl Native {
    pub(super) fn new(expected: &Expected) -> Self {
        Self {
            expected: expected.clone(),
            marks: Marks::default(),
            events: Events::new(expected.shown.id.clone()),
            ended: false,
        }
    }

    pub(super) fn mark(&mut self, marks: Marks) {
        self.marks = marks;
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.ended
    }

    pub(super) fn position(&self) -> Position<'_> {
        self.events.position()
    }

    /// Takes one event.
    pub(super) fn event(&mut self, data: &[u8], committed: bool, out: &mut Vec<u8>) -> Result<Progress, Failure> {
        let Fields(piece): Fields<Piece<'_>> = serde_json::from_slice(data).map_err(|_| BROKEN)?;
        // A generation that was cancelled after its first content ends so for its caller too.
        let is_end = if committed { finish::is_generated_or_cancelled } else { finish::is_generated };
        if let Some(failure) = piece.failure(is_end) {
            return Err(failure);
        }
        self.events.adopt(piece.request_id.as_ref().map(|id| id.0.as_ref()).unwrap_or_default());
        self.write(&piece, out).ok_or(BROKEN)
    }

    fn write(&mut self, piece: &Piece<'_>, out: &mut Vec<u8>) -> Option<Progress> {
        let written = piece.text_delta.as_ref().map(|text| text.0.as_ref()).unwrap_or_default();
        let mut heard = self.marks.feed(written);
        if piece.done {
            heard.append(self.marks.finish());
        }
        // Those of private reasoning are private, and so may be those beside nothing.
        let shows = heard.is_plain && !heard.text.is_empty();
        let logprobs = piece.logprobs.filter(|_| self.expected.logprobs && shows);
        let logprobs = logprobs.map_or(Logprobs::None, Logprobs::Native);
        let text = heard.text.as_ref();
        if !piece.done {
            self.events.write(text, logprobs, None, out)?;
            return Some(match (text.is_empty(), written.is_empty()) {
                (false, _) => Progress::Committed,
                (true, false) => Progress::Alive,
                (true, true) => Progress::Nothing,
            });
        }
        let usage = piece.usage.map(|Fields(usage)| usage);
        let is_exact = |usage: Generated| usage.is_sound() && usage.is_within(&self.expected, 1);
        // Only one that was cancelled may end without (contract section 5, "Usage").
        usage.map_or_else(|| !finish::is_generated(piece.reason()), is_exact).then_some(())?;
        let times = [("ttft_ms", piece.ttft_ms), ("tpot_ms", piece.tpot_ms)];
        let times: Vec<_> =
            times.into_iter().filter_map(|(name, time)| Some((name, time.filter(is_number)?))).collect();
        self.ended = true;
        self.events.write(text, logprobs, Some(End { reason: piece.reason(), usage, times: &times }), out)?;
        Some(Progress::Committed)
    }
}

fn is_number(raw: &&RawValue) -> bool {
    serde_json::from_str::<f64>(raw.get()).is_ok_and(f64::is_finite)
}
