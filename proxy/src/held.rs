//! The request, held whole in the buffer it was read into, until its answer commits.

use crate::budget::Share;
use bytes::Bytes;
use std::ops::Range;

/// Head and body of one request. Nothing is copied: a body with a length stands behind its head, a chunked one is decoded once.
pub(crate) struct Held {
    /// The head, and behind it a body with a length.
    buffer: Vec<u8>,
    /// The decoded body of a chunked request.
    decoded: Option<Vec<u8>>,
    /// Where the body stands in `buffer` or `decoded`.
    body: Range<usize>,
    /// What the body takes of the budget of held bytes.
    share: Option<Share>,
}

impl Held {
    /// A request whose body stands at `body` in `buffer`.
    pub(crate) const fn in_place(buffer: Vec<u8>, body: Range<usize>, share: Option<Share>) -> Self {
        Self { buffer, decoded: None, body, share }
    }

    /// A request whose body was decoded from chunks.
    pub(crate) fn decoded(buffer: Vec<u8>, decoded: Vec<u8>, share: Option<Share>) -> Self {
        let body = 0..decoded.len();
        Self { buffer, decoded: Some(decoded), body, share }
    }

    /// The bytes of the head.
    pub(crate) fn head(&self) -> &[u8] {
        &self.buffer
    }

    /// The bytes of the body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.decoded.as_ref().unwrap_or(&self.buffer)[self.body.clone()]
    }

    /// The body as shared bytes, without a copy, and the share of the budget that goes with it.
    pub(crate) fn into_body(self) -> (Bytes, Option<Share>) {
        let bytes = Bytes::from(self.decoded.unwrap_or(self.buffer));
        (bytes.slice(self.body), self.share)
    }

    /// The buffer, to read the next request into.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}
