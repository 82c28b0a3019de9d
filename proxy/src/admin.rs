//! The admin listener: `/livez` and `/readyz` (product section 8).

use crate::house::House;
use async_trait::async_trait;
use http::Response;
use pingora_core::apps::http_app::ServeHttp;
use pingora_core::protocols::http::ServerSession;
use std::sync::Arc;

/// The application behind the admin listener. Read-only.
pub(crate) struct Admin {
    house: Arc<House>,
}

impl Admin {
    /// Over shared state.
    #[must_use]
    pub(crate) const fn new(house: Arc<House>) -> Self {
        Self { house }
    }
}

#[async_trait]
impl ServeHttp for Admin {
    async fn response(&self, session: &mut ServerSession) -> Response<Vec<u8>> {
        let head = session.req_header();
        let reads = head.method == http::Method::GET || head.method == http::Method::HEAD;
        let (status, text) = match head.uri.path() {
            _ if !reads => (405, "only GET and HEAD are served here\n"),
            "/livez" => (200, "ok\n"),
            // Ready means: Spillway can answer, with a refusal or remotely. The engine's state is another question.
            "/readyz" if self.house.is_retired() => (503, "draining\n"),
            "/readyz" => (200, "ready\n"),
            _ => (404, "served here: /livez and /readyz\n"),
        };
        let mut answer = Response::new(text.as_bytes().to_vec());
        *answer.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        let headers = answer.headers_mut();
        headers.insert("Content-Type", http::HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert("Content-Length", http::HeaderValue::from(text.len()));
        answer
    }
}
