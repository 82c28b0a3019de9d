//! How does an accepted answer reach the caller? Head and first bytes in one write, then piece by piece, each flushed as it comes.

mod broken;

use crate::client::Served;
use crate::connection::{Connection, Ended};
use crate::held::Held;
use crate::house::House;
use crate::local::Answer;
use crate::stream_io;
use crate::telemetry::Exchange;
use pingora_core::protocols::Stream;
use spillway_filters::disclose::{self, Disclosure};
use spillway_filters::stream_error;
use spillway_filters::wire::chunk::Framing;
use spillway_policies::Surface;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// How long a caller may take to accept a piece of its answer, in milliseconds.
pub(crate) const WRITE_MS: u64 = 60_000;

/// Buffers larger than this are not kept between two requests of a connection.
const KEPT_BUFFER: usize = 16 * 1024;

/// Ends a head: the blank line, and before it whether the connection ends.
pub(crate) fn finish_head(head: &mut Vec<u8>, keep_alive: bool) {
    head.extend_from_slice(if keep_alive { b"\r\n" } else { b"Connection: close\r\n\r\n" });
}

/// Relays the engine's answer. The held request goes back to being a read buffer, or goes away when a stream begins.
///
/// A plain function that returns its future: what is taken apart here is not kept twice in the task of the connection.
pub(crate) fn local<'c>(
    house: &'c House,
    connection: &'c mut Connection,
    log: &'c mut Exchange,
    answer: Answer,
    held: Held,
    (surface, keep_alive): (Option<Surface>, bool),
) -> impl Future<Output = Served> + 'c {
    let Answer { engine, head, mut body, room } = answer;
    let mut framing = head.framing;
    let rechunked = framing.until_close();
    let teller = broken::teller(surface, &head, &connection.answer_head);
    if rechunked {
        // Towards the caller the end is said, so that a cut answer cannot be taken for a whole one.
        disclose::line(&mut connection.answer_head, "Transfer-Encoding", "chunked");
    }
    Disclosure::Local.write(&mut connection.answer_head);
    finish_head(&mut connection.answer_head, keep_alive);
    let first = framing.feed(&body);
    let surplus = first.is_ok_and(|first| first < body.len());
    let mut pending = Pending { done: broken::is_done(false, &body), ..Pending::default() };
    if let Ok(first) = first {
        body.truncate(first);
        if rechunked {
            body = chunk(&body);
        }
    }
    connection.deadline.arm(house.engine.idle_ms);
    async move {
        let mut engine = engine;
        if first.is_err() {
            return cut(log);
        }
        let Connection { stream, deadline, answer_head, .. } = &mut *connection;
        if Connection::write(stream, deadline, answer_head, &body).await.is_err() {
            log.client_gone();
            return Served::Close;
        }
        let mut engine_keeps = head.keep_alive && !rechunked && !surplus;
        if framing.is_complete() {
            reuse(connection, held);
        } else {
            drop((held, body));
            connection.release_buffers();
            match rest(house.engine.idle_ms, &mut engine, connection, &mut framing, &mut pending).await {
                Ok(()) => engine_keeps &= !pending.surplus,
                Err(Stopped::Client) => {
                    log.client_gone();
                    return Served::Close;
                }
                Err(Stopped::Malformed) => return cut(log),
                Err(Stopped::Engine { silent }) => {
                    let last = teller.filter(|_| pending.done).and_then(|_| broken::last(framing));
                    if let Some(last) = last {
                        return Box::pin(end(connection, last, keep_alive)).await;
                    }
                    log.truncated();
                    let Some(surface) = teller else { return Served::Close };
                    let Some(ending) = broken::ending(surface, framing, silent) else { return Served::Close };
                    // Whole is what a failed stream of this surface still is.
                    let keep_alive = keep_alive && stream_error::ends_whole(surface);
                    return Box::pin(end(connection, ending, keep_alive)).await;
                }
            }
        }
        drop(room);
        if engine_keeps {
            house.engine.keep(engine, &house.clock);
        }
        if keep_alive { Served::Keep } else { Served::Close }
    }
}

/// One chunk of a chunked body; nothing for no bytes.
pub(crate) fn chunk(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    append_chunk(&mut out, data);
    out
}

/// Appends `data` as one chunk; nothing when there is none.
pub(crate) fn append_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        out.reserve(data.len() + 20);
        out.extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

/// The end of a chunked body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Reads the next request into the same buffer, unless it is large or pipelined bytes are waiting.
fn reuse(connection: &mut Connection, held: Held) {
    if connection.inbox.is_empty() {
        let mut buffer = held.into_buffer();
        if buffer.capacity() <= KEPT_BUFFER {
            buffer.clear();
            connection.inbox = buffer;
        }
    }
}

/// The engine broke off in the middle: the caller's connection is cut too, so that nobody takes the part for the whole.
fn cut(log: &mut Exchange) -> Served {
    log.truncated();
    Served::Close
}

/// Writes the end of a stream that the engine broke off.
async fn end(connection: &mut Connection, ending: Vec<u8>, keep_alive: bool) -> Served {
    let Connection { stream, deadline, .. } = connection;
    deadline.arm(WRITE_MS);
    let written = Connection::write(stream, deadline, &ending, b"").await.is_ok();
    if written && keep_alive { Served::Keep } else { Served::Close }
}

/// Which side a relay stopped for.
enum Stopped {
    Client,
    /// It broke off, or sent nothing for too long.
    Engine {
        silent: bool,
    },
    /// What it sent is no body.
    Malformed,
}

/// Relays what follows. No buffer is owned while nothing is pending: bytes pass through the thread's read buffer.
async fn rest(
    idle_ms: u64,
    engine: &mut Stream,
    connection: &mut Connection,
    framing: &mut Framing,
    pending: &mut Pending,
) -> Result<(), Stopped> {
    poll_fn(|cx| {
        loop {
            match step(engine, connection, framing, pending, cx) {
                Poll::Ready(Ok(Step::Progress)) => connection.deadline.arm(idle_ms),
                Poll::Ready(Ok(Step::Over)) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(stopped)) => return Poll::Ready(Err(stopped)),
                Poll::Pending => {
                    if pending.flush && Pin::new(&mut connection.stream).poll_flush(cx).is_ready() {
                        pending.flush = false;
                    }
                    return match connection.poll_ended(cx) {
                        Poll::Pending => Poll::Pending,
                        Poll::Ready(Ended::Gone) => Poll::Ready(Err(Stopped::Client)),
                        // Where the caller has not taken what there is, it is the slow one.
                        Poll::Ready(Ended::Late) if pending.written < pending.bytes.len() => {
                            Poll::Ready(Err(Stopped::Client))
                        }
                        Poll::Ready(Ended::Late) => Poll::Ready(Err(Stopped::Engine { silent: true })),
                    };
                }
            }
        }
    })
    .await
}

/// What the caller has not accepted yet, and whether something waits to be flushed.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    written: usize,
    flush: bool,
    /// Bytes stood behind the end of the answer.
    surplus: bool,
    /// The body ended with the engine's connection.
    closed: bool,
    /// What was passed on last said that the stream is whole.
    done: bool,
}

enum Step {
    Over,
    Progress,
}

fn step(
    engine: &mut Stream,
    connection: &mut Connection,
    framing: &mut Framing,
    pending: &mut Pending,
    cx: &mut Context<'_>,
) -> Poll<Result<Step, Stopped>> {
    while pending.written < pending.bytes.len() {
        let rest = &pending.bytes[pending.written..];
        match ready!(Pin::new(&mut connection.stream).poll_write(cx, rest)) {
            Ok(count) if count > 0 => pending.written += count,
            _ => return Poll::Ready(Err(Stopped::Client)),
        }
    }
    pending.bytes = Vec::new();
    pending.written = 0;
    if framing.is_complete() || pending.closed {
        let flushed = ready!(Pin::new(&mut connection.stream).poll_flush(cx));
        return Poll::Ready(flushed.map(|()| Step::Over).map_err(|_| Stopped::Client));
    }
    let read = stream_io::poll_read(engine, cx, |_, cx, bytes| pass(connection, framing, pending, cx, bytes));
    match ready!(read) {
        Ok(result) => Poll::Ready(result),
        Err(_) => Poll::Ready(Err(Stopped::Engine { silent: false })),
    }
}

/// Writes a piece as far as the caller accepts it at once and keeps the remainder.
fn pass(
    connection: &mut Connection,
    framing: &mut Framing,
    pending: &mut Pending,
    cx: &mut Context<'_>,
    bytes: &[u8],
) -> Result<Step, Stopped> {
    if bytes.is_empty() {
        if !framing.until_close() {
            return Err(Stopped::Engine { silent: false });
        }
        pending.closed = true;
        pending.bytes.extend_from_slice(LAST_CHUNK);
        return Ok(Step::Progress);
    }
    let used = framing.feed(bytes).map_err(|_| Stopped::Malformed)?;
    pending.done = broken::is_done(pending.done, bytes);
    if framing.until_close() {
        append_chunk(&mut pending.bytes, bytes);
        pending.flush = true;
        return Ok(Step::Progress);
    }
    if used < bytes.len() {
        // The answer is whole; the connection is not to be trusted.
        pending.surplus = true;
        pending.bytes.extend_from_slice(&bytes[..used]);
        return Ok(Step::Progress);
    }
    let mut written = 0;
    while written < used {
        match Pin::new(&mut connection.stream).poll_write(cx, &bytes[written..used]) {
            Poll::Ready(Ok(count)) if count > 0 => written += count,
            Poll::Ready(_) => return Err(Stopped::Client),
            Poll::Pending => break,
        }
    }
    pending.flush = true;
    pending.bytes.extend_from_slice(&bytes[written..used]);
    Ok(Step::Progress)
}
