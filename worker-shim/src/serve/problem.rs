//! What is said to somebody whose request is not granted?

use super::answer::{Body, whole};
use crate::asked::Refused;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER};
use hyper::{Method, Response, StatusCode};
use serde_json::json;
use spillway_filters::names;

/// Every path, for somebody who asked for another.
const PATHS: &str = "the paths are GET /state, GET /state/stream, GET /log, POST /load, POST /sleep and POST /activity";

/// A request that is not granted. Each says how to mend it.
pub(super) struct Problem {
    status: StatusCode,
    code: &'static str,
    message: &'static str,
    retry_after_s: Option<u64>,
    allow: Option<HeaderValue>,
}

impl Problem {
    const fn new(status: StatusCode, code: &'static str, message: &'static str) -> Self {
        Self { status, code, message, retry_after_s: None, allow: None }
    }

    pub(super) const fn no_such_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", PATHS)
    }

    pub(super) fn method(allowed: &Method) -> Self {
        let allow = HeaderValue::from_str(allowed.as_str()).ok();
        Self { allow, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", PATHS) }
    }

    pub(super) const fn of_a_page() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "FORBIDDEN",
            "pages in a browser are not answered: send no Origin, and this machine's address as Host",
        )
    }

    pub(super) const fn ending() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ENDING", "the shim is ending; ask again when it runs again")
    }

    pub(super) fn streams() -> Self {
        let message = "as many streams are open as there may be: close one, or ask GET /state now and then";
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "TOO_MANY_STREAMS", message);
        Self { retry_after_s: Some(5), ..problem }
    }

    pub(super) const fn name() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "BAD_NAME",
            "`as` must be 1 to 64 characters out of letters, digits, dot, underscore and hyphen",
        )
    }

    pub(super) const fn model() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "BAD_NAME",
            "`model` must be 1 to 512 bytes; leave it out for the engine as a whole",
        )
    }

    pub(super) const fn wish() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_BODY", r#"the body must be empty or JSON such as {"model":"org/name"}"#)
    }

    pub(super) const fn activity() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "BAD_BODY",
            r#"the body must be JSON such as {"as":"sidecar","seq":1,"in_flight":0,"started":0}"#,
        )
    }

    pub(super) const fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", "the body may have at most 65536 bytes")
    }

    pub(super) const fn unfinished() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "BODY_UNFINISHED", "the body must arrive whole within 5 seconds")
    }

    pub(super) fn answer(self) -> Response<Body> {
        let body = json!({ "error": { "code": self.code, "message": self.message } }).to_string();
        let mut answer = whole(self.status, names::JSON, body);
        if let Some(seconds) = self.retry_after_s {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(allow) = self.allow {
            answer.headers_mut().insert(ALLOW, allow);
        }
        answer
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { retry_after_s: refused.retry_after_s, ..Self::new(status, refused.code, refused.message) }
    }
}
