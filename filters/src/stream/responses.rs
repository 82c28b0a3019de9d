//! Is a stream of responses valid, and what does the caller see of it?

use super::BROKEN;
use super::filled::Filled;
use crate::answer::{Content, Fields, Members, json_text};
use crate::event_stream::{Event, write_event};
use crate::prime::Progress;
use crate::shape::Shown;
use crate::stream_error::Position;
use crate::upstream_status::in_band;
use crate::upstream_status::loose::{Loose, Text};
use serde::Deserialize;
use spillway_policies::{Cause, Failure};

/// One event. Its `type` says what it is; where that is missing, the event's name does.
#[derive(Deserialize)]
pub(crate) struct Lifecycle<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(default)]
    sequence_number: Option<u64>,
    #[serde(default)]
    delta: Filled,
    #[serde(borrow, default)]
    error: Option<Loose<'a>>,
    #[serde(borrow, default)]
    code: Option<Loose<'a>>,
    #[serde(borrow, default)]
    response: Option<Fields<Response<'a>>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    error: Option<Loose<'a>>,
}

/// What an event is for the start and the end of its stream.
pub(crate) enum Step {
    Content,
    End,
    Failed(Failure),
    Other,
}

impl Lifecycle<'_> {
    pub(crate) fn step(&self, name: Option<&[u8]>) -> Step {
        if let Some(error) = &self.error {
            return Step::Failed(in_band::failure(Cause::StreamError, error));
        }
        let kind = self.kind.as_ref().map(|kind| kind.0.as_bytes()).or(name).unwrap_or_default();
        match kind {
            b"error" => Step::Failed(in_band::coded(Cause::StreamError, self.code.as_ref(), None)),
            b"response.failed" | b"response.cancelled" => {
                let error = self.response.as_ref().and_then(|response| response.0.error.as_ref());
                Step::Failed(error.map_or(BROKEN, |error| in_band::failure(Cause::StreamError, error)))
            }
            b"response.completed" | b"response.incomplete" => Step::End,
            kind if kind.ends_with(b".delta") && self.delta.0 => Step::Content,
            _ => Step::Other,
        }
    }
}

/// Reads one stream of responses for a caller of responses.
pub(super) struct Responses {
    model: Vec<u8>,
    id: Vec<u8>,
    next_seq: u64,
    ended: bool,
}

impl Responses {
    pub(super) fn new(shown: &Shown) -> Self {
        Self { model: json_text(&shown.model), id: json_text(&shown.id), next_seq: 0, ended: false }
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.ended
    }

    pub(super) const fn position(&self) -> Position<'_> {
        Position { request_id: None, next_seq: self.next_seq }
    }

    /// Takes one event.
    pub(super) fn event(&mut self, event: &Event, data: &[u8], out: &mut Vec<u8>) -> Result<Progress, Failure> {
        let Fields(read): Fields<Lifecycle<'_>> = serde_json::from_slice(data).map_err(|_| BROKEN)?;
        let step = read.step(event.name.as_deref());
        if let Step::Failed(failure) = step {
            return Err(failure);
        }
        self.next_seq = read.sequence_number.unwrap_or(self.next_seq).saturating_add(1);
        write_event(event.name.as_deref(), &self.shaped(data).ok_or(BROKEN)?, out);
        self.ended = matches!(step, Step::End);
        Ok(if matches!(step, Step::Other) { Progress::Nothing } else { Progress::Committed })
    }

    /// The response object inside a lifecycle event has the caller's name of the model and our id.
    fn shaped(&self, data: &[u8]) -> Option<Vec<u8>> {
        let mut members = Members::read(Content::Json, data)?;
        let response = members.raw_cow("response").filter(|raw| raw.starts_with(b"{"));
        if let Some(response) = response {
            let mut response = Members::read(Content::Json, &response)?;
            response.set("id", self.id.as_slice());
            response.set("model", self.model.as_slice());
            let response = response.to_bytes();
            members.set("response", response);
        }
        Some(members.to_bytes())
    }
}
