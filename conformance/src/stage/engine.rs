//! How does a SIE engine answer, and how does it refuse?

use super::sample::{self, Surface};
use super::script::Answer;

/// A refusal or error as the single node writes it on this surface.
pub fn refusal(surface: Surface, status: u16, code: &str, retry_after: Option<&str>) -> Answer {
    let answer = Answer::json(status, &error_body(surface, status, code));
    match retry_after {
        Some(seconds) => answer.field("Retry-After", seconds),
        None => answer,
    }
}

/// The ordinary cold start: 503 `MODEL_LOADING`, Retry-After 5.
pub fn loading(surface: Surface) -> Answer {
    refusal(surface, 503, "MODEL_LOADING", Some("5"))
}

/// The body of an error on this surface.
pub fn error_body(surface: Surface, status: u16, code: &str) -> String {
    if surface.is_native() {
        return format!(r#"{{"detail":{{"code":"{code}","message":"the engine says {code}"}}}}"#);
    }
    let kind = if status < 500 { "invalid_request_error" } else { "server_error" };
    format!(r#"{{"error":{{"message":"the engine says {code}","type":"{kind}","param":null,"code":"{code}"}}}}"#)
}

/// A local success on this surface. Its text says `local`.
pub fn success(surface: Surface, model: &str) -> super::script::Play {
    sample::answer(surface, model, "local")
}
