//! How does a body pass that is too large to hold? Unheld and only to the engine: such a request can never be bridged.

use crate::client::{Client, Served};
use crate::connection::{Connection, Ended};
use crate::held::Held;
use crate::house::House;
use crate::intake::{self, Rejection, Upload};
use crate::local::{Answer, Fault};
use crate::stream_io;
use pingora_core::protocols::Stream;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::wire::RejectKind;
use spillway_filters::wire::request::{self, Method, RequestHead};
use spillway_filters::wire::response::{self, ResponseHead, ResponseVerdict};
use std::future::poll_fn;
use std::task::Poll;

/// Sends a request on as it arrives, and relays the answer.
pub(crate) async fn serve<'c>(house: &'c House, mut client: Client<'c>, head: RequestHead, upload: Upload) -> Served {
    let Ok(room) = house.engine.room() else {
        return client.fault(Fault::Engine(ErrorAnswer::queue_full())).await;
    };
    // A new connection: nothing can be sent again if an idle one turns out to be closed.
    let Ok(mut engine) = house.engine.connect().await else {
        let answer =
            if house.engine.was_reached() { ErrorAnswer::engine_unreachable() } else { ErrorAnswer::provisioning() };
        return client.fault(Fault::Engine(answer)).await;
    };
    if let Err(rejection) = intake::continue_if_asked(&mut client, &head).await {
        return client.reject(rejection).await;
    }
    let mut body = Vec::new();
    match exchange(house, &mut client, &head, upload, &mut engine, &mut body).await {
        Ok((answer_head, whole)) => {
            client.connection.deadline.arm(house.engine.idle_ms);
            let mut answer_head = answer_head;
            answer_head.keep_alive &= whole;
            let answer = Answer { engine, head: answer_head, body, room };
            // What the caller still sends of an unread body has no meaning as a next request.
            let client = if whole { client } else { client.closing() };
            client.relay(house, answer, Held::in_place(Vec::new(), 0..0, None)).await
        }
        Err(Stop::Rejected(rejection)) => client.reject(rejection).await,
        Err(Stop::Fault(fault)) => client.fault(fault).await,
    }
}

enum Stop {
    Fault(Fault),
    Rejected(Rejection),
}

/// The part of the body that has arrived and is not sent yet, and whether more will come.
struct Source {
    upload: Upload,
    ready: Vec<u8>,
    sent: usize,
    left: u64,
    over: bool,
}

async fn exchange(
    house: &House,
    client: &mut Client<'_>,
    head: &RequestHead,
    upload: Upload,
    engine: &mut Stream,
    body: &mut Vec<u8>,
) -> Result<(ResponseHead, bool), Stop> {
    let mut source = begin(client.connection, head, upload, &house.engine.path_prefix)?;
    let is_head = head.method == Method::Head;
    client.connection.deadline.arm(house.body_timeout_ms);
    loop {
        match step(client.connection, &mut source, engine, body).await? {
            Step::Answer => match response::parse(body, is_head, &mut client.connection.answer_head) {
                ResponseVerdict::NeedMore => {}
                ResponseVerdict::Informational { len, .. } => {
                    body.drain(..len);
                }
                ResponseVerdict::Bad(_) => return Err(Stop::Fault(Fault::Engine(ErrorAnswer::engine_protocol()))),
                ResponseVerdict::Head(head) => {
                    body.drain(..head.len);
                    let whole = source.over && source.sent == source.ready.len();
                    return Ok((head, whole));
                }
            },
            Step::Read => {
                advance(&mut source, client.connection)?;
                client.connection.deadline.arm(house.body_timeout_ms);
            }
            Step::Sent => {
                let wait = if source.over { client.first_byte_ms(house) } else { house.body_timeout_ms };
                client.connection.deadline.arm(wait);
            }
        }
    }
}

fn begin(connection: &mut Connection, head: &RequestHead, upload: Upload, prefix: &str) -> Result<Source, Stop> {
    let mut ready = std::mem::take(&mut connection.request_head);
    crate::lane::prefix_target(&mut ready, prefix);
    match &upload {
        Upload::Length(length) => request::finish_fixed(&mut ready, *length),
        Upload::Chunked { .. } => request::finish_chunked(&mut ready),
    }
    let mut source = Source { upload, ready, sent: 0, left: 0, over: false };
    let rest = connection.inbox.split_off(head.len);
    connection.inbox = rest;
    match &mut source.upload {
        Upload::Length(length) => source.left = *length,
        Upload::Chunked { decoded, unread, done, .. } => {
            let first = std::mem::take(decoded);
            connection.inbox = std::mem::take(unread);
            chunk(&mut source.ready, &first);
            if *done {
                source.ready.extend_from_slice(b"0\r\n\r\n");
                source.over = true;
            }
        }
    }
    advance(&mut source, connection)?;
    Ok(source)
}

fn chunk(out: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

/// Moves what has arrived into what is to be sent.
fn advance(source: &mut Source, connection: &mut Connection) -> Result<(), Stop> {
    if source.over {
        return Ok(());
    }
    if source.sent == source.ready.len() {
        source.ready.clear();
        source.sent = 0;
    }
    match &mut source.upload {
        Upload::Length(_) => {
            let count = usize::try_from(source.left).unwrap_or(usize::MAX).min(connection.inbox.len());
            source.ready.extend(connection.inbox.drain(..count));
            source.left -= count as u64;
            source.over = source.left == 0;
        }
        Upload::Chunked { dechunk, .. } => {
            let mut plain = Vec::new();
            let fed = dechunk.feed(&connection.inbox, &mut plain, usize::MAX);
            let (used, done) = fed.map_err(|error| {
                let kind = RejectKind::from(error);
                let answer = ErrorAnswer::framing(kind.status(), kind.message());
                Stop::Rejected(Rejection::Answer { answer, close: true })
            })?;
            connection.inbox.drain(..used);
            chunk(&mut source.ready, &plain);
            if done {
                source.ready.extend_from_slice(b"0\r\n\r\n");
                source.over = true;
            }
        }
    }
    Ok(())
}

enum Step {
    Answer,
    Read,
    Sent,
}

/// Writes, reads the engine, or reads the caller: whatever is possible first. One piece is in flight at a time, so memory stays bounded.
async fn step(
    connection: &mut Connection,
    source: &mut Source,
    engine: &mut Stream,
    body: &mut Vec<u8>,
) -> Result<Step, Stop> {
    poll_fn(|cx| {
        match stream_io::poll_fill(engine, cx, body) {
            Poll::Ready(Ok(0) | Err(_)) => {
                return Poll::Ready(Err(Stop::Fault(Fault::Engine(ErrorAnswer::engine_reset()))));
            }
            Poll::Ready(Ok(_)) => return Poll::Ready(Ok(Step::Answer)),
            Poll::Pending => {}
        }
        if source.sent < source.ready.len() {
            let mut written = source.sent;
            let result = stream_io::poll_write_two(engine, cx, (&source.ready, b""), &mut written);
            let progress = written > source.sent;
            source.sent = written;
            match result {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(Step::Sent)),
                // The engine may have answered before it stopped reading.
                Poll::Ready(Err(_)) => {
                    source.sent = source.ready.len();
                    source.over = true;
                    return Poll::Ready(Ok(Step::Sent));
                }
                Poll::Pending if progress => return Poll::Ready(Ok(Step::Sent)),
                Poll::Pending => {}
            }
        } else if !source.over {
            match stream_io::poll_fill(&mut connection.stream, cx, &mut connection.inbox) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(Stop::Fault(Fault::Gone))),
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(Step::Read)),
                Poll::Pending => {}
            }
        } else if let Poll::Ready(Ended::Gone) = connection.poll_ended(cx) {
            return Poll::Ready(Err(Stop::Fault(Fault::Gone)));
        }
        if connection.deadline.is_over(cx) {
            let late = if source.over {
                Stop::Fault(Fault::Engine(ErrorAnswer::engine_timeout()))
            } else {
                let answer = ErrorAnswer::too_slow(RejectKind::BodyTimeout.message());
                Stop::Rejected(Rejection::Answer { answer, close: true })
            };
            return Poll::Ready(Err(late));
        }
        Poll::Pending
    })
    .await
}
