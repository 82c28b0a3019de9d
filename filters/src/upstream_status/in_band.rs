//! Which failure does an error state that stands inside a 200, in a stream or in a whole body?

use super::loose::Loose;
use super::{class, with_wait};
use spillway_policies::failure::SieCode;
use spillway_policies::{Cause, Class, Failure};

/// The failure that a whole answer states by its members `error`, `object` and `code`: an `error` of any kind but null, or a flat
/// `object: error`.
pub(crate) fn stated(
    error: Option<&Loose<'_>>,
    object: Option<&Loose<'_>>,
    code: Option<&Loose<'_>>,
) -> Option<Failure> {
    match (error, object) {
        (None | Some(Loose::Null), Some(Loose::Text(object))) if object == "error" => {
            Some(coded(Cause::InvalidAnswer, code, None))
        }
        (None | Some(Loose::Null), _) => None,
        (Some(error), _) => Some(failure(Cause::InvalidAnswer, error)),
    }
}

/// The failure that the value of a member `error` states. A SIE code stands as it is, a code that is an HTTP status is classified as
/// that status, and anything else is final. Texts are not read.
pub(crate) fn failure(cause: Cause, error: &Loose<'_>) -> Failure {
    match error {
        Loose::Object { code, retry_after_s } => coded(cause, code.as_deref(), retry_after_s.as_deref()),
        Loose::Null | Loose::Other | Loose::Text(_) | Loose::Whole(_) => Failure::new(cause, Class::Final),
    }
}

/// The failure that a code states, which may be text or a number.
pub(crate) fn coded(cause: Cause, code: Option<&Loose<'_>>, retry_after_s: Option<&Loose<'_>>) -> Failure {
    let wait = match retry_after_s {
        Some(Loose::Whole(seconds)) => Some((*seconds).clamp(1, 60)),
        Some(Loose::Null | Loose::Object { .. } | Loose::Other | Loose::Text(_)) | None => None,
    };
    match code {
        Some(Loose::Whole(status)) => numbered(cause, *status, wait),
        Some(Loose::Text(code)) => match code.parse() {
            Ok(status) => numbered(cause, status, wait),
            Err(_) => named(cause, code, wait),
        },
        Some(Loose::Null | Loose::Object { .. } | Loose::Other) | None => Failure::new(cause, Class::Final),
    }
}

fn numbered(cause: Cause, status: u64, wait: Option<u64>) -> Failure {
    let status = u16::try_from(status).ok().filter(|status| (400..600).contains(status));
    with_wait(Failure::new(cause, status.map_or(Class::Final, |status| class(status, None, false))), wait)
}

fn named(cause: Cause, code: &str, wait: Option<u64>) -> Failure {
    let stated = SieCode::of(500, Some(code));
    let class = match stated {
        _ if code.eq_ignore_ascii_case("PROVISIONING") => Class::NotReady,
        SieCode::LoraLoading | SieCode::ModelLoading => Class::NotReady,
        SieCode::QueueFull | SieCode::ResourceExhausted => Class::Busy,
        SieCode::InputTooLong => Class::TooLong,
        SieCode::InvalidInput => Class::Invalid,
        SieCode::InferenceError
        | SieCode::InternalError
        | SieCode::ModelLoadFailed
        | SieCode::ModelNotFound
        | SieCode::ModelNotLoaded => Class::Final,
    };
    with_wait(Failure { stated: Some(stated), ..Failure::new(cause, class) }, wait)
}
