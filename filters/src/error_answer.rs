//! What does an error that Spillway itself gives look like? One value, one renderer, the surface's own shape.
//!
//! Three kinds share it: a rejection (the caller is wrong), a refusal made here (the engine cannot be reached or has no room) and a
//! fault (the engine broke off). Texts say how to mend it and never repeat input, addresses or what another server wrote.

use serde::Serialize;
use spillway_policies::failure::{Failure, SieCode};
use spillway_policies::{Cause, Class, Surface};
use std::borrow::Cow;
use std::fmt;

/// One error answer.
#[derive(Clone, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// One sentence for a person.
    pub message: &'static str,
    /// The field it is about; owned when the caller chose its name, which is then shown to the caller alone.
    pub param: Option<Cow<'static, str>>,
    /// Seconds to wait.
    pub retry_after_s: Option<u64>,
}

impl ErrorAnswer {
    const fn new(status: u16, code: &'static str, message: &'static str) -> Self {
        Self { status, code, message, param: None, retry_after_s: None }
    }

    const fn wait(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// 400: the call is not valid.
    #[must_use]
    pub const fn invalid(message: &'static str) -> Self {
        Self::new(400, "INVALID_INPUT", message)
    }

    /// 400 about one field.
    #[must_use]
    pub const fn invalid_field(param: &'static str, message: &'static str) -> Self {
        let param = Some(Cow::Borrowed(param));
        Self { status: 400, code: "INVALID_INPUT", message, param, retry_after_s: None }
    }

    /// A violation of a surface's field rules; `param` is a name that the caller may have chosen.
    pub(crate) fn rejected(status: u16, code: &'static str, message: &'static str, param: Option<&str>) -> Self {
        let param = param.map(|param| Cow::Owned(bounded(param).to_owned()));
        Self { status, code, message, param, retry_after_s: None }
    }

    /// The request is not acceptable HTTP.
    #[must_use]
    pub const fn framing(status: u16, message: &'static str) -> Self {
        let code = if status == 413 { "INPUT_TOO_LONG" } else { "INVALID_INPUT" };
        Self::new(status, code, message)
    }

    /// 408: the request did not arrive in time.
    #[must_use]
    pub const fn too_slow(message: &'static str) -> Self {
        Self::new(408, "REQUEST_TIMEOUT", message)
    }

    /// 413: the body is larger than `max_body_bytes`.
    #[must_use]
    pub const fn body_too_large() -> Self {
        Self::new(413, "INPUT_TOO_LONG", "the body is larger than this proxy holds (listen.max_body_bytes)")
    }

    /// 503: the engine has not been reached yet in this life (product section 8).
    #[must_use]
    pub const fn provisioning() -> Self {
        Self::new(503, "PROVISIONING", "the engine is still starting").wait(5)
    }

    /// 503: the engine was reached before and is not there now (product section 8).
    #[must_use]
    pub const fn engine_unreachable() -> Self {
        Self::new(503, "ENGINE_UNREACHABLE", "the engine cannot be reached").wait(5)
    }

    /// 503: the model is being loaded, or will be.
    #[must_use]
    pub const fn model_loading() -> Self {
        Self::new(503, "MODEL_LOADING", "the model is being loaded").wait(5)
    }

    /// 503: the engine sleeps, and this call does not wake it: no wait helps.
    #[must_use]
    pub const fn asleep() -> Self {
        Self::new(
            503,
            "MODEL_LOADING",
            "the engine sleeps, and a call that only reads does not wake it: any other call does",
        )
    }

    /// 502: the engine or the model failed to load and is left alone for a while. No wait, as SIE says none.
    #[must_use]
    pub const fn load_failed() -> Self {
        Self::new(502, "MODEL_LOAD_FAILED", "the engine failed to load: its log says why")
    }

    /// 503: the engine finishes what it has and takes nothing new.
    #[must_use]
    pub const fn engine_draining() -> Self {
        Self::new(503, "ENGINE_UNREACHABLE", "the engine is going away").wait(5)
    }

    /// The same, with another wait in seconds.
    #[must_use]
    pub const fn after(self, seconds: u64) -> Self {
        self.wait(seconds)
    }

    /// 503: no room here, `max_in_flight` or `max_held_bytes` (product section 8).
    #[must_use]
    pub const fn queue_full() -> Self {
        Self::new(503, "QUEUE_FULL", "too many requests at the same time").wait(1)
    }

    /// 504: the engine did not answer in time. It may be working on the request, so nobody else is asked.
    #[must_use]
    pub const fn engine_timeout() -> Self {
        Self::new(504, "ENGINE_TIMEOUT", "the engine did not answer in time")
    }

    /// 502: the engine broke the connection off after it had the request.
    #[must_use]
    pub const fn engine_reset() -> Self {
        Self::new(502, "ENGINE_RESET", "the engine broke off before it answered")
    }

    /// 502: the engine's answer is not HTTP.
    #[must_use]
    pub const fn engine_protocol() -> Self {
        Self::new(502, "ENGINE_PROTOCOL", "the engine's answer is not valid HTTP")
    }

    /// 400: only an upstream serves this model, and none of its profiles has the name in `options.profile`.
    #[must_use]
    pub const fn no_such_profile() -> Self {
        Self::invalid_field("options.profile", "this model has no profile of that name: GET /v1/models lists them")
    }

    /// 400: only an upstream serves this model, and the model does not do what `surface` asks.
    #[must_use]
    pub const fn not_this_task(surface: Surface) -> Self {
        let mut answer =
            Self::invalid_field("model", "this model does not do what this API asks: its tasks are others");
        if matches!(surface, Surface::Embeddings) {
            answer.code = "invalid_request";
        }
        answer
    }

    /// 400: only an upstream serves this model and the caller forbids it.
    #[must_use]
    pub const fn forbidden_remote() -> Self {
        Self::invalid("X-SIE-Remote: forbid, but only an upstream serves this model")
    }

    /// 502: only an upstream serves this model and remote serving is switched off.
    #[must_use]
    pub const fn switched_off() -> Self {
        Self::new(502, "MODEL_LOAD_FAILED", "only an upstream serves this model and remote serving is switched off")
    }

    /// 503: only an upstream serves this model, and this HTTP version is not bridged yet (product section 8, full lane).
    #[must_use]
    pub const fn not_on_this_lane() -> Self {
        Self::new(
            503,
            "QUEUE_FULL",
            "only an upstream serves this model, and only HTTP/1.1 calls reach it; use HTTP/1.1",
        )
        .wait(5)
    }

    /// What a caller of a remote-only model is told about a failed attempt (contract section 5, remote_only refusals).
    #[must_use]
    pub const fn remote_failed(failure: &Failure, surface: Surface) -> Self {
        // By its class: a code that the upstream stated may be one that a client does not wait for here.
        let failure = &Failure { stated: None, ..*failure };
        let code = failure.code(surface).token();
        if failure.is_retryable() {
            let wait = match failure.retry_after_s {
                Some(wait) => wait,
                None => 5,
            };
            return Self::new(503, code, "the upstream cannot serve this model now").wait(wait);
        }
        match failure.code(surface) {
            _ if matches!(failure.class, Class::Unparsable) => {
                Self::new(500, OUTPUT_PARSE_ERROR, "the model's output breaks the schema that response_format demands")
            }
            SieCode::InvalidInput if matches!(failure.cause, Cause::Unsupported) => Self::new(
                400,
                code,
                "this call has a field or value that the model's upstream cannot be asked for: leave out what is not needed",
            ),
            SieCode::InputTooLong => Self::new(400, code, "the input is too long for this model"),
            SieCode::InvalidInput => Self::new(400, code, "the upstream refused the input"),
            _ if matches!(failure.cause, Cause::Unsupported) => {
                Self::new(501, code, "the upstream of this model does not serve this API")
            }
            _ if matches!(surface, Surface::Chat) => Self::new(502, "upstream_error", "the upstream failed"),
            _ => Self::new(500, code, "the upstream failed"),
        }
    }

    /// The JSON body in the shape of `surface`; OpenAI's when the surface is not known.
    #[must_use]
    pub fn body(&self, surface: Option<Surface>) -> Vec<u8> {
        let param = self.param.as_deref();
        let rendered = if surface.is_some_and(Surface::is_native) {
            serde_json::to_vec(&Native { detail: Detail { code: self.code, message: self.message, param } })
        } else if surface == Some(Surface::Embeddings) && self.status == 422 {
            let loc = param.map_or([Some("body"), None], |param| [Some("body"), Some(param)]);
            let loc = loc.into_iter().flatten().collect();
            serde_json::to_vec(&Fastapi { detail: [Misfit { r#type: self.code, loc, msg: self.message }] })
        } else {
            let code = if surface == Some(Surface::Audio) && self.code == "INVALID_INPUT" {
                "invalid_request"
            } else {
                self.code
            };
            serde_json::to_vec(&Openai {
                error: OpenaiError { message: self.message, r#type: self.kind(), param, code },
            })
        };
        rendered.expect("strings always render as JSON")
    }

    const fn kind(&self) -> &'static str {
        match self.status {
            502 if matches!(self.code.as_bytes(), b"upstream_error") => "upstream_error",
            ..500 => "invalid_request_error",
            _ => "server_error",
        }
    }

    /// Status line and header lines, unterminated: the writer adds disclosure, `Connection` and the blank line.
    #[must_use]
    pub fn head(&self, body_len: usize) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {body_len}\r\n",
            self.status,
            reason(self.status)
        );
        if let Some(wait) = self.retry_after_s {
            head.push_str(&format!("Retry-After: {wait}\r\n"));
        }
        head.into_bytes()
    }
}

#[derive(Serialize)]
struct Native<'a> {
    detail: Detail<'a>,
}

#[derive(Serialize)]
struct Detail<'a> {
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
}

/// FastAPI's shape for a body that does not fit its model (contract section 1.1, embeddings).
#[derive(Serialize)]
struct Fastapi<'a> {
    detail: [Misfit<'a>; 1],
}

#[derive(Serialize)]
struct Misfit<'a> {
    r#type: &'a str,
    loc: Vec<&'a str>,
    msg: &'a str,
}

#[derive(Serialize)]
struct Openai<'a> {
    error: OpenaiError<'a>,
}

#[derive(Serialize)]
struct OpenaiError<'a> {
    message: &'a str,
    r#type: &'a str,
    param: Option<&'a str>,
    code: &'a str,
}

/// What a caller's name is shown as: its first 64 characters, up to one that does not print.
fn bounded(name: &str) -> &str {
    let hides = |char: char| {
        char.is_control()
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let end = name.char_indices().enumerate().find(|(count, (_, char))| *count == 64 || hides(*char));
    end.map_or(name, |(_, (at, _))| &name[..at])
}

// A name that the caller chose is not for logs.
impl fmt::Debug for ErrorAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let param = self.param.as_ref().map(|param| match param {
            Cow::Borrowed(own) => *own,
            Cow::Owned(_) => "(the caller's)",
        });
        formatter
            .debug_struct("ErrorAnswer")
            .field("status", &self.status)
            .field("code", &self.code)
            .field("message", &self.message)
            .field("param", &param)
            .field("retry_after_s", &self.retry_after_s)
            .finish()
    }
}

/// The code of a finished output that breaks the caller's strict schema (contract section 5).
pub(crate) const OUTPUT_PARSE_ERROR: &str = "MODEL_OUTPUT_PARSE_ERROR";

/// The reason phrase of the statuses that Spillway itself gives.
#[must_use]
pub const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_surface_gets_its_own_shape() {
        let answer = ErrorAnswer::invalid_field("model", "say which model");
        let native: serde_json::Value = serde_json::from_slice(&answer.body(Some(Surface::Encode))).expect("JSON");
        assert_eq!(native["detail"]["code"], "INVALID_INPUT");
        assert_eq!(native["detail"]["param"], "model");
        let chat: serde_json::Value = serde_json::from_slice(&answer.body(Some(Surface::Chat))).expect("JSON");
        assert_eq!(chat["error"]["code"], "INVALID_INPUT");
        assert_eq!(chat["error"]["type"], "invalid_request_error");
        let audio: serde_json::Value = serde_json::from_slice(&answer.body(Some(Surface::Audio))).expect("JSON");
        assert_eq!(audio["error"]["code"], "invalid_request");
    }

    #[test]
    fn a_name_of_the_callers_is_bounded_escaped_and_not_for_logs() {
        let answer = ErrorAnswer::rejected(400, "unsupported_field", "leave it out", Some("a\"b\u{202e}c"));
        let body: serde_json::Value = serde_json::from_slice(&answer.body(Some(Surface::Chat))).expect("JSON");
        assert_eq!(body["error"]["param"], "a\"b");
        assert!(!format!("{answer:?}").contains("a\\\"b"));
        let long = ErrorAnswer::rejected(400, "unsupported_field", "leave it out", Some(&"\u{e4}".repeat(100)));
        assert_eq!(long.param.map(|param| param.chars().count()), Some(64));
    }

    #[test]
    fn a_misfit_of_embeddings_has_fastapis_shape() {
        let answer = ErrorAnswer::rejected(422, "string_type", "`input` must be a text", Some("input"));
        let body: serde_json::Value = serde_json::from_slice(&answer.body(Some(Surface::Embeddings))).expect("JSON");
        assert_eq!(body["detail"][0]["loc"], serde_json::json!(["body", "input"]));
        assert_eq!(body["detail"][0]["type"], "string_type");
        assert!(answer.head(0).starts_with(b"HTTP/1.1 422 Unprocessable Content\r\n"));
    }

    #[test]
    fn a_remote_only_caller_learns_whether_to_come_back() {
        let mut busy = Failure::new(Cause::Status, Class::NotReady);
        busy.retry_after_s = Some(60);
        let answer = ErrorAnswer::remote_failed(&busy, Surface::Encode);
        assert_eq!((answer.status, answer.code, answer.retry_after_s), (503, "MODEL_LOADING", Some(60)));
        let broken = Failure::new(Cause::InvalidAnswer, Class::Final);
        let answer = ErrorAnswer::remote_failed(&broken, Surface::Encode);
        assert_eq!((answer.status, answer.code, answer.retry_after_s), (500, "INFERENCE_ERROR", None));
        assert_eq!(ErrorAnswer::remote_failed(&broken, Surface::Chat).code, "upstream_error");
        let down = Failure::new(Cause::Connect, Class::Unavailable);
        assert_eq!(ErrorAnswer::remote_failed(&down, Surface::Generate).code, "RESOURCE_EXHAUSTED");
        let unparsable = Failure::new(Cause::InvalidAnswer, Class::Unparsable);
        let answer = ErrorAnswer::remote_failed(&unparsable, Surface::Chat);
        assert_eq!((answer.status, answer.code), (500, "MODEL_OUTPUT_PARSE_ERROR"));
        let unsupported = Failure::new(Cause::Unsupported, Class::Invalid);
        let answer = ErrorAnswer::remote_failed(&unsupported, Surface::Chat);
        assert_eq!((answer.status, answer.code), (400, "INVALID_INPUT"));
        assert!(answer.message.contains("cannot be asked"), "{}", answer.message);
    }
}
