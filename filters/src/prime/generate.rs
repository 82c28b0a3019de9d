//! What is in one event of a generate stream?

use super::{BROKEN, Seen};
use crate::answer::{Fields, Generated, is_generated};
use crate::upstream_status::in_band;
use crate::upstream_status::loose::{Loose, Text};
use serde::Deserialize;
use spillway_policies::{Cause, Failure};

/// One event (contract section 1.4). `done` must be there and a boolean; usage must be exact on a successful end.
#[derive(Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, default)]
    request_id: Option<Text<'a>>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(borrow, default)]
    text_delta: Option<Text<'a>>,
    done: bool,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
    #[serde(default)]
    usage: Option<Fields<Generated>>,
    #[serde(borrow, default)]
    error: Option<Loose<'a>>,
}

impl Piece<'_> {
    pub(super) fn request_id(&self) -> Option<&str> {
        self.request_id.as_ref().map(|id| id.0.as_ref())
    }

    pub(super) const fn seq(&self) -> Option<u64> {
        self.seq
    }

    pub(super) const fn is_terminal(&self) -> bool {
        self.done
    }

    /// What it is; none when it is not valid.
    pub(super) fn seen(&self) -> Option<Seen> {
        if let Some(failure) = self.failure() {
            return Some(Seen::Failed(failure));
        }
        if self.done {
            let ends = self.finish_reason.as_ref().is_some_and(|reason| is_generated(&reason.0));
            (ends && self.usage?.0.is_sound()).then_some(())?;
        }
        let says_something = self.text_delta.as_ref().is_some_and(|text| !text.0.is_empty());
        Some(match (says_something, self.done) {
            (true, _) => Seen::Content,
            (false, true) => Seen::Finish,
            (false, false) => Seen::Meta,
        })
    }

    fn failure(&self) -> Option<Failure> {
        if let Some(error) = &self.error {
            return Some(in_band::failure(Cause::StreamError, error));
        }
        let reason = self.finish_reason.as_ref().filter(|_| self.done)?;
        matches!(reason.0.as_ref(), "cancelled" | "error").then_some(BROKEN)
    }
}
