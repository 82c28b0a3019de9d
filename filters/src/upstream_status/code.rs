//! Which code does an error answer state?

use super::loose::Loose;
use crate::answer::{Fields, msgpack};
use serde::Deserialize;

/// What a known code means for the class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Busy,
    BusyWhenItWaits,
    Final,
    Invalid,
    NotReady,
    /// Known, and its status decides.
    Other,
    TooLong,
}

impl Code {
    /// Codes are case-sensitive.
    fn known(token: &[u8]) -> Option<Self> {
        Some(match token {
            b"BILLING_CAPACITY_UNAVAILABLE" | b"QUEUE_FULL" | b"RESOURCE_EXHAUSTED" => Self::Busy,
            b"QUEUE_UNAVAILABLE" | b"transport_failure" => Self::BusyWhenItWaits,
            b"ACCOUNT_STATE_UNAVAILABLE" | b"COLD_START_RATE_LIMITED" | b"MODEL_LOAD_FAILED" => Self::Final,
            b"INVALID_INPUT" => Self::Invalid,
            b"LORA_LOADING" | b"MODEL_LOADING" | b"PROVISIONING" => Self::NotReady,
            b"INPUT_TOO_LONG" => Self::TooLong,
            b"ACCOUNT_PENDING_REVIEW"
            | b"ACCOUNT_SUSPENDED"
            | b"GATEWAY_TIMEOUT"
            | b"INFERENCE_ERROR"
            | b"INSUFFICIENT_CREDITS"
            | b"INTERNAL_ERROR"
            | b"KEY_SPEND_LIMIT_EXCEEDED"
            | b"MODEL_NOT_FOUND"
            | b"MODEL_NOT_LOADED"
            | b"RATE_LIMIT" => Self::Other,
            _ => return None,
        })
    }
}

/// The code of an answer: the header's when it is a known one, else that of the first of `error` and `detail` that is an object.
pub(super) fn stated_code(header: Option<&[u8]>, content_type: Option<&[u8]>, body: &[u8]) -> Option<Code> {
    header.map(<[u8]>::trim_ascii).and_then(Code::known).or_else(|| body_code(content_type, body))
}

fn body_code(content_type: Option<&[u8]>, body: &[u8]) -> Option<Code> {
    let Fields(parsed): Fields<Body<'_>> =
        if content_type.is_some_and(is_msgpack) { msgpack::read(body)? } else { serde_json::from_slice(body).ok()? };
    let code = [parsed.error, parsed.detail].into_iter().flatten().find_map(|envelope| match envelope {
        Loose::Object { code, .. } => Some(code),
        Loose::Null | Loose::Other | Loose::Text(_) | Loose::Whole(_) => None,
    });
    match code?.as_deref()? {
        Loose::Text(code) if code == "provisioning" => Some(Code::NotReady),
        Loose::Text(code) => Code::known(code.as_bytes()),
        Loose::Null | Loose::Object { .. } | Loose::Other | Loose::Whole(_) => None,
    }
}

fn is_msgpack(content_type: &[u8]) -> bool {
    let has = |wanted: &[u8]| content_type.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted));
    has(b"application/msgpack") || has(b"application/x-msgpack")
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    error: Option<Loose<'a>>,
    #[serde(borrow, default)]
    detail: Option<Loose<'a>>,
}
