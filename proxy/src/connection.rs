//! One caller's connection: its stream, what was read ahead, and the waits on it.

use crate::clock::Deadline;
use crate::stream_io;
use pingora_core::protocols::Stream;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::AsyncWrite as _;

/// Most bytes of pipelined requests that are read ahead while an answer is awaited.
const MOST_READ_AHEAD: usize = 64 * 1024;

/// A connection on the fast lane. Lives as long as the TCP connection; between requests it owns no large buffer.
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    /// Bytes read and not used yet: a head, a body, pipelined requests.
    pub(crate) inbox: Vec<u8>,
    /// The head that goes to the engine.
    pub(crate) request_head: Vec<u8>,
    /// The head that goes to the caller.
    pub(crate) answer_head: Vec<u8>,
    pub(crate) deadline: Deadline,
}

/// Why a wait ended without what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The caller closed the connection or its half of it.
    Gone,
    /// The deadline passed.
    Late,
}

impl Connection {
    pub(crate) fn new(stream: Stream, deadline: Deadline) -> Self {
        Self { stream, inbox: Vec::new(), request_head: Vec::new(), answer_head: Vec::new(), deadline }
    }

    /// Reads once into the inbox.
    pub(crate) async fn fill(&mut self) -> Result<usize, Ended> {
        poll_fn(|cx| match stream_io::poll_fill(&mut self.stream, cx, &mut self.inbox) {
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(Err(Ended::Gone)),
            Poll::Ready(Ok(count)) => Poll::Ready(Ok(count)),
            Poll::Pending if self.deadline.is_over(cx) => Poll::Ready(Err(Ended::Late)),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Reads once into the inbox, or ends when `stop` says so; a wake-up of the deadline asks again.
    pub(crate) async fn fill_unless(&mut self, stop: impl Fn() -> bool) -> Result<usize, Ended> {
        poll_fn(|cx| match stream_io::poll_fill(&mut self.stream, cx, &mut self.inbox) {
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(Err(Ended::Gone)),
            Poll::Ready(Ok(count)) => Poll::Ready(Ok(count)),
            Poll::Pending if self.deadline.is_over(cx) => Poll::Ready(Err(Ended::Late)),
            Poll::Pending if self.inbox.is_empty() && stop() => Poll::Ready(Err(Ended::Gone)),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Writes two slices as one message.
    pub(crate) async fn write(
        stream: &mut Stream,
        deadline: &Deadline,
        first: &[u8],
        second: &[u8],
    ) -> Result<(), Ended> {
        let mut written = 0;
        poll_fn(|cx| match stream_io::poll_write_two(stream, cx, (first, second), &mut written) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(_)) => Poll::Ready(Err(Ended::Gone)),
            Poll::Pending if deadline.is_over(cx) => Poll::Ready(Err(Ended::Late)),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Ends our half of the connection.
    pub(crate) async fn shut(&mut self) -> Result<(), Ended> {
        poll_fn(|cx| match Pin::new(&mut self.stream).poll_shutdown(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(_)) => Poll::Ready(Err(Ended::Gone)),
            Poll::Pending if self.deadline.is_over(cx) => Poll::Ready(Err(Ended::Late)),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Watches the caller while something else is awaited. Pipelined bytes are kept, up to a bound; beyond it the caller's departure is
    /// seen only when its answer is written.
    pub(crate) fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        while self.inbox.len() < MOST_READ_AHEAD {
            match stream_io::poll_fill(&mut self.stream, cx, &mut self.inbox) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Ended::Gone),
                Poll::Ready(Ok(_)) => {}
                Poll::Pending => break,
            }
        }
        if self.deadline.is_over(cx) { Poll::Ready(Ended::Late) } else { Poll::Pending }
    }

    /// Resolves when the caller has left or the deadline has passed.
    pub(crate) async fn ended(&mut self) -> Ended {
        poll_fn(|cx| self.poll_ended(cx)).await
    }

    /// Gives back the memory of buffers that are not needed while a stream runs.
    pub(crate) fn release_buffers(&mut self) {
        self.request_head = Vec::new();
        self.answer_head = Vec::new();
        if self.inbox.is_empty() {
            self.inbox = Vec::new();
        }
    }
}
