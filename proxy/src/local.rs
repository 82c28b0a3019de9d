//! One attempt at the engine: does it accept, refuse, or break?
//!
//! The engine is heard while the request is still being written. A candidate refusal is read to its end before anything goes to the
//! caller; every other answer is accepted at its head.

use crate::budget::Share;
use crate::client::Client;
use crate::connection::{Connection, Ended};
use crate::engine::NoConnection;
use crate::house::House;
use crate::intake::Call;
use crate::{foreseen, local_body, local_state, stream_io, warmup};
use pingora_core::protocols::Stream;
use spillway_filters::call::Work;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::refusal::{self, Answer as Seen, Phase, Veiled};
use spillway_filters::wire::chunk::Framing;
use spillway_filters::wire::response::{self, ResponseHead, ResponseVerdict};
use spillway_policies::routing::Route;
use spillway_policies::{Refusal, Surface, Trigger};
use std::future::poll_fn;
use std::task::Poll;

/// Most bytes of an answer that are read to recognise a refusal; real ones are far below (engines section 2.8).
const MOST_REFUSAL_BYTES: usize = 64 * 1024;

/// How the attempt ended.
pub(crate) enum Local {
    /// The engine has the work. Its answer is relayed, whatever it says.
    Accepted(Answer),
    /// The engine broke off, or the caller did: nobody else is asked.
    Broken(Fault),
    /// The engine said "not now".
    Refused(Refused),
}

/// An accepted answer: its head is in the connection's `answer_head`.
pub(crate) struct Answer {
    pub(crate) engine: Stream,
    pub(crate) head: ResponseHead,
    /// Bytes of the body that were read with the head.
    pub(crate) body: Vec<u8>,
    /// The place at the engine, until the answer has passed.
    pub(crate) room: Option<Share>,
}

/// A refusal, kept as bytes so that restoring it is exact.
pub(crate) struct Refused {
    pub(crate) meaning: Refusal,
    pub(crate) status: u16,
    /// Status line and header lines, unterminated.
    pub(crate) head: Vec<u8>,
    /// The body as it was framed.
    pub(crate) body: Vec<u8>,
    /// The body ends where the connection does.
    pub(crate) until_close: bool,
    /// The engine was not asked: its state says what it would have said.
    pub(crate) foreseen: bool,
}

/// Not a refusal: the engine may have the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The caller has left.
    Gone,
    /// 502 or 504.
    Engine(ErrorAnswer),
}

/// The engine's connection ended before its head was read.
pub(crate) enum Broken {
    /// Nothing of the request can have been read: the pooled connection was closed already.
    Unsent,
    Fault(Fault),
}

/// Asks the engine once. `connection.request_head` is the head to send.
pub(crate) async fn attempt(house: &House, client: &mut Client<'_>, call: &Call, route: &Route<'_>) -> Local {
    let Ok(room) = house.engine.room(call.only_reads) else {
        return Local::Refused(made(call, Trigger::Saturated, ErrorAnswer::queue_full()));
    };
    if let Some(refused) = foreseen::by_shim(house, call, route) {
        return Local::Refused(refused);
    }
    if let Some(list) = foreseen::list(house, call, route) {
        match Box::pin(foreseen::by_list(house, client, call, list)).await {
            Ok(Some(refused)) => return Local::Refused(refused),
            Ok(None) => {}
            Err(fault) => return Local::Broken(fault),
        }
    }
    let mut idle = house.engine.idle(&house.clock);
    loop {
        let reused = idle.is_some();
        let mut engine = match idle.take() {
            Some(engine) => engine,
            None => match connect(house, client.connection).await {
                Ok(engine) => engine,
                Err(NotConnected::Fault(fault)) => return Local::Broken(fault),
                Err(NotConnected::Unreached(reason)) => {
                    let (trigger, answer) = unreached(house, reason);
                    return Local::Refused(made(call, trigger, answer));
                }
            },
        };
        client.connection.deadline.arm(client.first_byte_ms(house));
        let mut body = Vec::new();
        match first_head(&mut engine, client.connection, call.held.body(), &mut body, call.is_head).await {
            // Nobody asked for another protocol, and a body that is broken from the start is no answer.
            Ok(head) if head.status == 101 || { head.framing }.feed(&body).is_err() => {
                return Local::Broken(Fault::Engine(ErrorAnswer::engine_protocol()));
            }
            Ok(head) => return judge(house, client, call, route, Answer { engine, head, body, room }).await,
            Err(Broken::Unsent) if reused => {}
            Err(Broken::Unsent) => return Local::Broken(Fault::Engine(ErrorAnswer::engine_reset())),
            Err(Broken::Fault(fault)) => return Local::Broken(fault),
        }
    }
}

/// Asks the engine to change protocols, on a connection of its own. Never a refusal that could be bridged.
pub(crate) async fn upgrade(house: &House, client: &mut Client<'_>, held: &crate::held::Held) -> Local {
    let Ok(room) = house.engine.room(false) else { return Local::Broken(Fault::Engine(ErrorAnswer::queue_full())) };
    if let Some(answer) = warmup::refuse_unbridged(house, client.log, None, false) {
        return Local::Broken(Fault::Engine(answer));
    }
    let mut engine = match connect(house, client.connection).await {
        Ok(engine) => engine,
        Err(NotConnected::Fault(fault)) => return Local::Broken(fault),
        Err(NotConnected::Unreached(reason)) => return Local::Broken(Fault::Engine(unreached(house, reason).1)),
    };
    client.connection.deadline.arm(client.first_byte_ms(house));
    let mut body = Vec::new();
    match first_head(&mut engine, client.connection, held.body(), &mut body, false).await {
        Ok(head) => Local::Accepted(Answer { engine, head, body, room }),
        Err(Broken::Unsent) => Local::Broken(Fault::Engine(ErrorAnswer::engine_reset())),
        Err(Broken::Fault(fault)) => Local::Broken(fault),
    }
}

/// Why there is no connection to the engine.
pub(crate) enum NotConnected {
    /// The engine broke off, or the caller did.
    Fault(Fault),
    /// The engine is not there.
    Unreached(NoConnection),
}

/// A new connection, unless the caller leaves first.
pub(crate) async fn connect(house: &House, connection: &mut Connection) -> Result<Stream, NotConnected> {
    connection.deadline.arm(0);
    Box::pin(async {
        tokio::select! {
            biased;
            engine = house.engine.connect() => engine.map_err(|reason| match reason {
                // The same fault as a moment later, when the request is being written.
                NoConnection::Reset => NotConnected::Fault(Fault::Engine(ErrorAnswer::engine_reset())),
                NoConnection::Refused | NoConnection::Unreachable => NotConnected::Unreached(reason),
            }),
            _ = connection.ended() => Err(NotConnected::Fault(Fault::Gone)),
        }
    })
    .await
}

/// Writes the request and reads the head of the answer, both at once; `body` gets what was read behind the head.
pub(crate) async fn first_head(
    engine: &mut Stream,
    connection: &mut Connection,
    request_body: &[u8],
    body: &mut Vec<u8>,
    is_head: bool,
) -> Result<ResponseHead, Broken> {
    let request_head = std::mem::take(&mut connection.request_head);
    let mut written = 0;
    let mut writing = true;
    let result = poll_fn(|cx| {
        if writing {
            match stream_io::poll_write_two(engine, cx, (&request_head, request_body), &mut written) {
                Poll::Ready(Ok(())) => writing = false,
                Poll::Ready(Err(_)) if written == 0 => return Poll::Ready(Err(Broken::Unsent)),
                // The engine may have answered before it stopped reading: look for that answer.
                Poll::Ready(Err(_)) => writing = false,
                Poll::Pending => {}
            }
        }
        loop {
            match stream_io::poll_fill(engine, cx, body) {
                Poll::Pending => break,
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(engine_fault(ErrorAnswer::engine_reset()))),
                Poll::Ready(Ok(_)) => {
                    if let Some(result) = parse(body, is_head, &mut connection.answer_head) {
                        return Poll::Ready(result);
                    }
                }
            }
        }
        match connection.poll_ended(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ended::Gone) => Poll::Ready(Err(Broken::Fault(Fault::Gone))),
            Poll::Ready(Ended::Late) => Poll::Ready(Err(engine_fault(ErrorAnswer::engine_timeout()))),
        }
    })
    .await;
    connection.request_head = request_head;
    let mut head = result?;
    // An engine that answers before it has read the request will not be asked again on this connection.
    head.keep_alive &= !writing;
    Ok(head)
}

const fn engine_fault(answer: ErrorAnswer) -> Broken {
    Broken::Fault(Fault::Engine(answer))
}

/// Parses the answer's head off the front of `bytes`; interim answers are dropped.
pub(crate) fn parse(bytes: &mut Vec<u8>, is_head: bool, out: &mut Vec<u8>) -> Option<Result<ResponseHead, Broken>> {
    loop {
        match response::parse(bytes, is_head, out) {
            ResponseVerdict::NeedMore => return None,
            ResponseVerdict::Informational { len, .. } => {
                bytes.drain(..len);
            }
            ResponseVerdict::Bad(_) => return Some(Err(engine_fault(ErrorAnswer::engine_protocol()))),
            ResponseVerdict::Head(head) => {
                bytes.drain(..head.len);
                return Some(Ok(head));
            }
        }
    }
}

/// Accepts an answer, unless it is a refusal. Only a candidate's body is read here.
async fn judge(house: &House, client: &mut Client<'_>, call: &Call, route: &Route<'_>, answer: Answer) -> Local {
    let (preset, rules) = (house.engine.preset, house.engine.rules.as_slice());
    // Where nothing could be bridged, a refusal is an answer like any other.
    let (Some(surface), Route::Hybrid { .. }) = (call.surface, route) else { return Local::Accepted(answer) };
    if refusal::may_refuse(preset, rules, answer.head.status) {
        return Box::pin(read_refusal(house, client, call, surface, answer, Phase::Head)).await;
    }
    if answer.head.status == 200 && refusal::may_hide(preset, rules) {
        if answer.head.event_stream {
            return Box::pin(crate::local_stream::judge(house, client, work(call, surface), answer)).await;
        }
        if matches!(answer.head.framing, Framing::Length(length) if length <= MOST_REFUSAL_BYTES as u64) {
            return Box::pin(read_refusal(house, client, call, surface, answer, Phase::Prime)).await;
        }
    }
    Local::Accepted(answer)
}

/// Reads a candidate to its end and recognises it, or accepts it with what was read.
async fn read_refusal(
    house: &House,
    client: &mut Client<'_>,
    call: &Call,
    surface: Surface,
    mut answer: Answer,
    phase: Phase,
) -> Local {
    client.connection.deadline.arm(house.engine.idle_ms.min(client.first_byte_ms(house)));
    let seen = match local_body::whole(&mut answer, client.connection, MOST_REFUSAL_BYTES).await {
        Ok(Some(seen)) => seen,
        Ok(None) => return Local::Accepted(answer),
        Err(fault) => return Local::Broken(fault),
    };
    let meaning = match recognise(house, client.connection, &answer, seen, work(call, surface), phase) {
        Recognised::Answer => None,
        Recognised::Refusal(meaning) => Some(meaning),
        Recognised::Veiled(veiled) => match local_state::ask(house, client, veiled, &call.model).await {
            Ok(meaning) => meaning,
            Err(fault) => return Local::Broken(fault),
        },
    };
    let Some(meaning) = meaning else { return Local::Accepted(answer) };
    let (status, until_close) = (answer.head.status, answer.head.framing.until_close());
    let body = local_body::take(house, answer, seen);
    let head = std::mem::take(&mut client.connection.answer_head);
    Local::Refused(Refused { meaning, status, head, body, until_close, foreseen: false })
}

/// What the call asks for.
fn work(call: &Call, surface: Surface) -> Work<'_> {
    Work { surface, format: call.format, body: call.held.body() }
}

/// Reads once from the engine; false is the end of its stream.
pub(crate) async fn more(answer: &mut Answer, connection: &mut Connection) -> Result<bool, Fault> {
    poll_fn(|cx| match stream_io::poll_fill(&mut answer.engine, cx, &mut answer.body) {
        Poll::Ready(Ok(count)) => Poll::Ready(Ok(count > 0)),
        Poll::Ready(Err(_)) => Poll::Ready(Ok(false)),
        Poll::Pending => match connection.poll_ended(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ended::Gone) => Poll::Ready(Err(Fault::Gone)),
            Poll::Ready(Ended::Late) => Poll::Ready(Err(Fault::Engine(ErrorAnswer::engine_timeout()))),
        },
    })
    .await
}

/// What a whole candidate says.
enum Recognised {
    Answer,
    Refusal(Refusal),
    /// Only the state of the model can tell.
    Veiled(&'static Veiled),
}

fn recognise(
    house: &House,
    connection: &Connection,
    answer: &Answer,
    seen: usize,
    work: Work<'_>,
    phase: Phase,
) -> Recognised {
    let Some(body) = local_body::plain(answer, seen, MOST_REFUSAL_BYTES) else { return Recognised::Answer };
    let seen = Seen {
        phase,
        status: answer.head.status,
        head: &connection.answer_head,
        body: &body,
        served_remotely: answer.head.served_remotely,
        work: Some(work),
    };
    match refusal::recognise(house.engine.preset, &house.engine.rules, &seen) {
        Some(meaning) => Recognised::Refusal(meaning),
        None => {
            refusal::veiled(house.engine.preset, work.surface, &seen).map_or(Recognised::Answer, Recognised::Veiled)
        }
    }
}

/// What we say for an engine that cannot be reached (product section 8).
pub(crate) fn unreached(house: &House, reason: NoConnection) -> (Trigger, ErrorAnswer) {
    if reason == NoConnection::Refused && !house.engine.was_reached() {
        if let Some(shim) = &house.shim {
            shim.note_refused(house.engine.address());
        }
        (Trigger::Provisioning, ErrorAnswer::provisioning())
    } else {
        (Trigger::Unhealthy, ErrorAnswer::engine_unreachable())
    }
}

/// A refusal of our own making, in the surface's shape.
pub(crate) fn made(call: &Call, trigger: Trigger, answer: ErrorAnswer) -> Refused {
    let body = answer.body(call.surface);
    let mut head = answer.head(body.len());
    crate::client::date(&mut head);
    let meaning = Refusal::certain(trigger);
    Refused { meaning, status: answer.status, head, body, until_close: false, foreseen: false }
}
