//! What does an upstream's error answer say about it? Status, code and wait become a [`Failure`]; no text of it survives.
//!
//! Contract section 5, "Upstream failure classes".

mod code;
pub(crate) mod in_band;
pub(crate) mod loose;
mod retry_after;

pub use retry_after::retry_after_s;

use code::{Code, stated_code};
use spillway_policies::{Cause, Class, Failure};

/// Largest error body that is looked at; a larger one counts as if it had no code.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// Seconds to wait when the upstream names no usable wait.
const DEFAULT_WAIT_S: u64 = 5;

/// Classifies an answer whose status is no success. `retry_after`, `code_header` (`X-SIE-Error-Code`) and `content_type` are header
/// values as received; `now_unix_s` is the time in seconds since 1970, for waits that name a date.
#[must_use]
pub fn classify(
    status: u16,
    retry_after: Option<&[u8]>,
    code_header: Option<&[u8]>,
    content_type: Option<&[u8]>,
    body: &[u8],
    now_unix_s: u64,
) -> Failure {
    let wait = retry_after.and_then(|value| retry_after_s(value, now_unix_s));
    let code = stated_code(code_header, content_type, if body.len() > MAX_BODY_BYTES { &[] } else { body });
    let cause = if (300..400).contains(&status) { Cause::Redirect } else { Cause::Status };
    with_wait(Failure::new(cause, class(status, code, wait.is_some())), wait)
}

/// A retryable failure states a wait, any other does not.
fn with_wait(mut failure: Failure, wait: Option<u64>) -> Failure {
    failure.retry_after_s = failure.is_retryable().then_some(wait.unwrap_or(DEFAULT_WAIT_S));
    failure
}

fn class(status: u16, code: Option<Code>, waits: bool) -> Class {
    match (status, code) {
        (_, Some(Code::Final)) | (501 | 505, _) => Class::Final,
        (429, _) => Class::Busy,
        (500.., Some(Code::NotReady)) => Class::NotReady,
        (500.., Some(Code::Busy)) => Class::Busy,
        (500.., Some(Code::BusyWhenItWaits)) if waits => Class::Busy,
        (500.., _) => Class::Unavailable,
        (400 | 413 | 422, Some(Code::TooLong)) => Class::TooLong,
        (400 | 422, Some(Code::Invalid)) => Class::Invalid,
        _ => Class::Final,
    }
}
