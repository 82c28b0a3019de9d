//! Which headers disclose what: the only place that writes `X-SIE-Served-By`, `-Upstream`, `-Fallback-Reason`, `-Fallback-Error` and
//! `Spillway-Cause` (product section 5). What others send under these names is dropped by `wire`.

use crate::names;
use spillway_policies::failure::SieCode;
use spillway_policies::{Cause, Trigger};

/// Who served an answer, and what the caller is told about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disclosure<'a> {
    /// The engine answered: success, refusal or error.
    Local,
    /// An upstream answered.
    Remote {
        /// Its name.
        upstream: &'a str,
        /// The refusal that caused it; none when only an upstream serves the model.
        trigger: Option<Trigger>,
    },
    /// An upstream was needed and failed; it is the one that gave this answer's error.
    RemoteFailed {
        /// Its name.
        upstream: &'a str,
        /// What went wrong.
        cause: Cause,
    },
    /// An attempt failed and the engine's refusal stands again.
    Restored {
        /// What the engine refused for.
        trigger: Trigger,
        /// What the failure is called.
        code: SieCode,
        /// What went wrong.
        cause: Cause,
    },
}

impl Disclosure<'_> {
    /// Appends the header lines of this disclosure to an unterminated head.
    pub fn write(&self, head: &mut Vec<u8>) {
        match *self {
            // One append on the hot path: this line stands on every answer of the engine.
            Self::Local => head.extend_from_slice(b"X-SIE-Served-By: local\r\n"),
            Self::Remote { upstream, trigger } => {
                line(head, names::SERVED_BY, "remote");
                line(head, names::UPSTREAM, upstream);
                if let Some(trigger) = trigger {
                    line(head, names::FALLBACK_REASON, trigger.token());
                }
            }
            Self::RemoteFailed { upstream, cause } => {
                line(head, names::SERVED_BY, "remote");
                line(head, names::UPSTREAM, upstream);
                line(head, names::CAUSE, cause.token());
            }
            Self::Restored { trigger, code, cause } => {
                line(head, names::SERVED_BY, "local");
                line(head, names::FALLBACK_REASON, trigger.token());
                line(head, names::FALLBACK_ERROR, code.token());
                line(head, names::CAUSE, cause.token());
            }
        }
    }
}

/// Appends one header line.
pub fn line(head: &mut Vec<u8>, name: &str, value: &str) {
    head.reserve(name.len() + value.len() + 4);
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value.as_bytes());
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(disclosure: Disclosure<'_>) -> String {
        let mut head = Vec::new();
        disclosure.write(&mut head);
        String::from_utf8(head).expect("header lines are ASCII")
    }

    #[test]
    fn the_presence_matrix_of_the_contract_holds() {
        assert_eq!(written(Disclosure::Local), "X-SIE-Served-By: local\r\n");
        assert_eq!(
            written(Disclosure::Remote { upstream: "team-sie", trigger: None }),
            "X-SIE-Served-By: remote\r\nX-SIE-Upstream: team-sie\r\n"
        );
        assert_eq!(
            written(Disclosure::Remote { upstream: "a", trigger: Some(Trigger::ModelLoading) }),
            "X-SIE-Served-By: remote\r\nX-SIE-Upstream: a\r\nX-SIE-Fallback-Reason: model_loading\r\n"
        );
        let restored =
            Disclosure::Restored { trigger: Trigger::Saturated, code: SieCode::QueueFull, cause: Cause::BreakerOpen };
        assert_eq!(
            written(restored),
            "X-SIE-Served-By: local\r\nX-SIE-Fallback-Reason: saturated\r\nX-SIE-Fallback-Error: QUEUE_FULL\r\n\
             Spillway-Cause: breaker_open\r\n"
        );
    }
}
