//! How does a body pass that is too large to hold? Unheld and only to the engine: such a request can never be bridged.

use crate::budget::Share;
use crate::client::{Client, Served};
use crate::connection::{Connection, Ended};
use crate::held::Held;
use crate::house::House;
use crate::intake::{self, Pace, Rejection, Upload};
use crate::local::{self, Answer, Fault};
use crate::relay::{LAST_CHUNK, append_chunk};
use crate::{stream_io, warmup};
use pingora_core::protocols::Stream;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::wire::RejectKind;
use spillway_filters::wire::request::{self, Method, RequestHead};
use spillway_filters::wire::response::ResponseHead;
use std::future::poll_fn;
use std::task::Poll;

/// Sends a request on as it arrives, and relays the answer.
///
/// The connection ends with the answer, unless the whole body was passed on: what is left of one must not be taken for the next request.
pub(crate) async fn serve<'c>(house: &'c House, client: Client<'c>, mut head: RequestHead, upload: Upload) -> Served {
    let (wants_more, surface) = (client.wants_more(), client.surface());
    let mut client = client.closing();
    let Ok(room) = house.engine.room(false) else {
        return client.fault(Fault::Engine(ErrorAnswer::queue_full())).await;
    };
    if let Some(answer) = warmup::refuse_unbridged(house, client.log, surface, false) {
        return client.fault(Fault::Engine(answer)).await;
    }
    // A new connection: nothing can be sent again if an idle one turns out to be closed.
    let mut engine = match local::connect(house, client.connection).await {
        Ok(engine) => engine,
        Err(local::NotConnected::Fault(fault)) => return client.fault(fault).await,
        Err(local::NotConnected::Unreached(reason)) => {
            let (_, answer) = local::unreached(house, reason);
            return client.fault(Fault::Engine(answer)).await;
        }
    };
    if let Err(rejection) = intake::continue_if_asked(&mut client, &mut head).await {
        return client.reject(rejection).await;
    }
    let mut body = Vec::new();
    match exchange(house, &mut client, &head, upload, &mut engine, &mut body).await {
        Ok((answer_head, whole)) => {
            client.connection.deadline.arm(house.engine.idle_ms);
            let mut answer_head = answer_head;
            answer_head.keep_alive &= whole;
            let client = client.going_on(wants_more && whole);
            let answer = Answer { engine, head: answer_head, body, room };
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
    /// The engine stopped reading: what it has is not the whole body.
    broken: bool,
    /// What the decoded beginning takes of the budget of held bytes, until it is sent.
    share: Option<Share>,
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
    let mut pace = Pace::new(house, client.connection);
    loop {
        match step(client.connection, &mut source, engine, body).await? {
            Step::Answer => {
                if let Some(head) = parse(body, is_head, client.connection)? {
                    let whole = source.over && source.sent == source.ready.len() && !source.broken;
                    return Ok((head, whole));
                }
            }
            Step::Read(count) => {
                pace.took(count, client.connection);
                advance(&mut source, client.connection)?;
            }
            Step::Sent => {
                if source.over {
                    client.whole();
                    client.connection.deadline.arm(client.first_byte_ms(house));
                }
            }
        }
    }
}

/// Parses the answer's head off the front of `body`; interim answers are dropped.
fn parse(body: &mut Vec<u8>, is_head: bool, connection: &mut Connection) -> Result<Option<ResponseHead>, Stop> {
    match local::parse(body, is_head, &mut connection.answer_head) {
        None => Ok(None),
        Some(Ok(head)) => Ok(Some(head)),
        Some(Err(_)) => Err(Stop::Fault(Fault::Engine(ErrorAnswer::engine_protocol()))),
    }
}

fn begin(connection: &mut Connection, head: &RequestHead, upload: Upload, prefix: &str) -> Result<Source, Stop> {
    let mut ready = std::mem::take(&mut connection.request_head);
    crate::lane::prefix_target(&mut ready, prefix);
    match &upload {
        Upload::Length(length) => request::finish_fixed(&mut ready, *length),
        Upload::Chunked { .. } => request::finish_chunked(&mut ready),
    }
    let mut source = Source { upload, ready, sent: 0, left: 0, over: false, broken: false, share: None };
    let rest = connection.inbox.split_off(head.len);
    connection.inbox = rest;
    match &mut source.upload {
        Upload::Length(length) => source.left = *length,
        Upload::Chunked { decoded, unread, done, share, .. } => {
            source.share = share.take();
            let first = std::mem::take(decoded);
            // What arrived while the engine was being reached stands behind what intake had read.
            unread.append(&mut connection.inbox);
            connection.inbox = std::mem::take(unread);
            append_chunk(&mut source.ready, &first);
            if *done {
                source.ready.extend_from_slice(LAST_CHUNK);
                source.over = true;
            }
        }
    }
    advance(&mut source, connection)?;
    Ok(source)
}

/// Moves what has arrived into what is to be sent.
fn advance(source: &mut Source, connection: &mut Connection) -> Result<(), Stop> {
    if source.over {
        return Ok(());
    }
    if source.sent == source.ready.len() {
        // The first piece may be as large as the limit; its memory is not kept for the rest of the upload.
        source.ready = Vec::new();
        source.share = None;
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
            append_chunk(&mut source.ready, &plain);
            if done {
                source.ready.extend_from_slice(LAST_CHUNK);
                source.over = true;
            }
        }
    }
    Ok(())
}

enum Step {
    Answer,
    /// So many bytes from the caller.
    Read(usize),
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
                    source.broken = true;
                    return Poll::Ready(Ok(Step::Sent));
                }
                Poll::Pending if progress => return Poll::Ready(Ok(Step::Sent)),
                Poll::Pending => {}
            }
        } else if !source.over {
            match stream_io::poll_fill(&mut connection.stream, cx, &mut connection.inbox) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(Stop::Fault(Fault::Gone))),
                Poll::Ready(Ok(count)) => return Poll::Ready(Ok(Step::Read(count))),
                Poll::Pending => {}
            }
        } else if let Poll::Ready(Ended::Gone) = connection.poll_ended(cx) {
            return Poll::Ready(Err(Stop::Fault(Fault::Gone)));
        }
        if connection.deadline.is_over(cx) {
            let late = if source.over || source.sent < source.ready.len() {
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
