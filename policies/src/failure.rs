//! What a failed upstream attempt is called: towards the caller, the breaker and the log.

use crate::breaker::Outcome;
use crate::surface::Surface;

/// What went wrong, as `Spillway-Cause` states it (product section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The breaker is open.
    BreakerOpen,
    /// The client left.
    Cancelled,
    /// Too many attempts at once.
    ConcurrencyCap,
    /// No connection.
    Connect,
    /// The key is missing or not usable.
    Credential,
    /// The answer is not a valid one.
    InvalidAnswer,
    /// Two sides under one name are not known to give the same vectors.
    NotEquivalent,
    /// The request was not held whole.
    NotReplayable,
    /// The requests-per-minute budget is used up.
    RateCap,
    /// The upstream answered with a redirect.
    Redirect,
    /// The upstream answered with an error status.
    Status,
    /// The stream failed before its first content.
    StreamError,
    /// Too slow.
    Timeout,
    /// TLS failed.
    Tls,
    /// The answer is larger than its bound.
    TooLarge,
    /// The upstream cannot take this surface.
    Unsupported,
}

impl Cause {
    /// The stable token.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::BreakerOpen => "breaker_open",
            Self::Cancelled => "cancelled",
            Self::ConcurrencyCap => "concurrency_cap",
            Self::Connect => "connect",
            Self::Credential => "credential",
            Self::InvalidAnswer => "invalid_answer",
            Self::NotEquivalent => "not_equivalent",
            Self::NotReplayable => "not_replayable",
            Self::RateCap => "rate_cap",
            Self::Redirect => "redirect",
            Self::Status => "status",
            Self::StreamError => "stream_error",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::TooLarge => "too_large",
            Self::Unsupported => "unsupported",
        }
    }
}

/// What kind of failure it is, which decides the SIE code and what the breaker counts (contract section 5 item 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The upstream has no room.
    Busy,
    /// Nothing would change by asking again.
    Final,
    /// The upstream refused the input.
    Invalid,
    /// The upstream's model is not loaded.
    NotReady,
    /// The input is too long for the upstream.
    TooLong,
    /// The upstream gave no answer, or one that says it cannot serve.
    Unavailable,
    /// The finished output breaks the caller's strict schema.
    Unparsable,
}

/// One failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub cause: Cause,
    /// What kind of failure it is.
    pub class: Class,
    /// Seconds the upstream asked to wait; only a remote-only answer states them.
    pub retry_after_s: Option<u64>,
    /// A SIE code that the upstream stated itself and that stands as it is.
    pub stated: Option<SieCode>,
}

impl Failure {
    /// A failure without a wait.
    #[must_use]
    pub const fn new(cause: Cause, class: Class) -> Self {
        Self { cause, class, retry_after_s: None, stated: None }
    }

    /// The SIE code for `X-SIE-Fallback-Error` and for remote-only error bodies.
    #[must_use]
    pub const fn code(&self, surface: Surface) -> SieCode {
        if let Some(stated) = self.stated {
            return stated;
        }
        match self.class {
            Class::Busy | Class::Unavailable if surface.exhausts_resources() => SieCode::ResourceExhausted,
            Class::Busy | Class::Unavailable => SieCode::QueueFull,
            Class::Final | Class::Unparsable => SieCode::InferenceError,
            Class::Invalid => SieCode::InvalidInput,
            Class::NotReady => SieCode::ModelLoading,
            Class::TooLong => SieCode::InputTooLong,
        }
    }

    /// Whether the caller may come back later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self.class, Class::Busy | Class::NotReady | Class::Unavailable)
    }

    /// What the breaker counts: only an upstream that did not answer is a failure, everything else shows that it is alive.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match (self.cause, self.class) {
            (Cause::Cancelled | Cause::Credential, _) => Outcome::Cancelled,
            (_, Class::Unavailable) => Outcome::Unavailable,
            _ => Outcome::Answered,
        }
    }
}

/// The eleven codes of SIE's contract that a failure may be called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SieCode {
    /// The computation failed.
    InferenceError,
    /// The server failed.
    InternalError,
    /// The input is too long.
    InputTooLong,
    /// The input is not valid.
    InvalidInput,
    /// An adapter is loading.
    LoraLoading,
    /// The model could not be loaded.
    ModelLoadFailed,
    /// The model is loading.
    ModelLoading,
    /// No such model.
    ModelNotFound,
    /// The model is being unloaded.
    ModelNotLoaded,
    /// The queue is full.
    QueueFull,
    /// Memory ran out.
    ResourceExhausted,
}

impl SieCode {
    /// Every code.
    pub const ALL: [Self; 11] = [
        Self::InferenceError,
        Self::InternalError,
        Self::InputTooLong,
        Self::InvalidInput,
        Self::LoraLoading,
        Self::ModelLoadFailed,
        Self::ModelLoading,
        Self::ModelNotFound,
        Self::ModelNotLoaded,
        Self::QueueFull,
        Self::ResourceExhausted,
    ];

    /// The code on the wire.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::InferenceError => "INFERENCE_ERROR",
            Self::InternalError => "INTERNAL_ERROR",
            Self::InputTooLong => "INPUT_TOO_LONG",
            Self::InvalidInput => "INVALID_INPUT",
            Self::LoraLoading => "LORA_LOADING",
            Self::ModelLoadFailed => "MODEL_LOAD_FAILED",
            Self::ModelLoading => "MODEL_LOADING",
            Self::ModelNotFound => "MODEL_NOT_FOUND",
            Self::ModelNotLoaded => "MODEL_NOT_LOADED",
            Self::QueueFull => "QUEUE_FULL",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
        }
    }

    /// What a status and code stated by another server are called in `X-SIE-Fallback-Error` (contract section 5 item 8).
    #[must_use]
    pub fn of(status: u16, code: Option<&str>) -> Self {
        let known = code.and_then(|code| Self::ALL.into_iter().find(|known| known.token().eq_ignore_ascii_case(code)));
        match (known, code) {
            (Some(known), _) => known,
            (None, Some("server_overloaded" | "PROVISIONING")) => Self::QueueFull,
            (None, Some("invalid_request")) => Self::InvalidInput,
            (None, _) if status >= 500 => Self::InferenceError,
            (None, _) => Self::InvalidInput,
        }
    }
}
