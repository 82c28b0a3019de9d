//! What is one event of a responses stream?

use super::{BROKEN, Filled, Seen};
use crate::answer::Fields;
use crate::upstream_status::in_band;
use crate::upstream_status::loose::{Loose, Text};
use serde::Deserialize;
use spillway_policies::Cause;

/// One event. Its `type` says what it is; where that is missing, the event's name does.
#[derive(Deserialize)]
pub(super) struct Lifecycle<'a> {
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

impl Lifecycle<'_> {
    pub(super) const fn sequence_number(&self) -> Option<u64> {
        self.sequence_number
    }

    pub(super) fn seen(&self, name: Option<&[u8]>) -> Seen {
        if let Some(error) = &self.error {
            return Seen::Failed(in_band::failure(Cause::StreamError, error));
        }
        let kind = self.kind.as_ref().map(|kind| kind.0.as_bytes()).or(name).unwrap_or_default();
        match kind {
            b"error" => Seen::Failed(in_band::coded(Cause::StreamError, self.code.as_ref(), None)),
            b"response.failed" | b"response.cancelled" => {
                let error = self.response.as_ref().and_then(|response| response.0.error.as_ref());
                Seen::Failed(error.map_or(BROKEN, |error| in_band::failure(Cause::StreamError, error)))
            }
            b"response.completed" | b"response.incomplete" => Seen::Finish,
            kind if kind.ends_with(b".delta") && self.delta.0 => Seen::Content,
            _ => Seen::Meta,
        }
    }
}
