//! One attempt at one upstream: gate, credential, connection, request, answer. It is primed or it failed; nothing was sent to the caller.

mod egress_proxy;
mod outlet;
mod request;
mod stream;

pub(crate) use outlet::Outlet;
pub(crate) use stream::RemoteStream;

use crate::client::Client;
use crate::connection::Ended;
use crate::house::House;
use crate::intake::Call;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_http::ResponseHeader;
use request::Outgoing;
use spillway_filters::dialect::{self, Answer, Raw, Reading, Whole};
use spillway_filters::disclose;
use spillway_filters::names;
use spillway_filters::upstream_status;
use spillway_filters::validate::Dialect;
use spillway_policies::breaker::Outcome;
use spillway_policies::verdict::Plan;
use spillway_policies::{Cause, Class, Failure};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Most bytes of an error answer that are read to classify it.
const MOST_ERROR_BYTES: usize = 64 * 1024;
/// Most bytes of all answers of one attempt together.
const MOST_ANSWERS_BYTES: usize = 64 * 1024 * 1024;
/// With less than this left of the budget of both legs an attempt would only cost the upstream.
const LEAST_TIME: Duration = Duration::from_millis(250);
/// How long an upstream connection waits for its next call.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// An upstream's answer that may be delivered: checked as far as a first byte needs.
pub(crate) enum Primed {
    /// A whole, checked and shaped answer.
    Buffered(Answer),
    /// A stream whose first content has come.
    Stream(Box<RemoteStream>),
}

impl Primed {
    /// Status line and the headers that do not depend on who served, unterminated. All of them are ours.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        match self {
            Self::Buffered(Answer { content_type, body }) => {
                disclose::line(&mut head, "Content-Type", content_type);
                disclose::line(&mut head, "Content-Length", &body.len().to_string());
            }
            Self::Stream(_) => {
                disclose::line(&mut head, "Content-Type", names::EVENT_STREAM);
                disclose::line(&mut head, "Cache-Control", "no-cache");
                disclose::line(&mut head, "X-Accel-Buffering", "no");
                disclose::line(&mut head, "Transfer-Encoding", "chunked");
            }
        }
        head
    }
}

const fn failure(cause: Cause, class: Class) -> Failure {
    Failure::new(cause, class)
}

/// Asks the upstream of `plan`, once. The caller leaving ends the attempt and frees its permit.
pub(crate) async fn attempt(
    house: &House,
    client: &mut Client<'_>,
    call: Call,
    plan: &Plan<'_>,
) -> Result<Primed, Failure> {
    let upstream = &plan.remote.upstream;
    client.log.upstream = Some(upstream.name.as_str().to_owned());
    client.log.local_ms = plan.trigger.map(|_| client.log.elapsed_ms());
    may_be_asked(plan)?;
    let outlet = house.outlets.get(upstream.name.as_str()).ok_or(failure(Cause::Unsupported, Class::Final))?;
    let budget = Duration::from_millis(client.budget_ms(house));
    if budget < LEAST_TIME {
        return Err(failure(Cause::Timeout, Class::Unavailable));
    }
    let started = std::time::Instant::now();
    // The upstream's own limits and the budget apply from here on; the deadline of the connection is for its other waits.
    client.connection.deadline.arm(0);
    let result = tokio::select! {
        biased;
        result = ask(outlet, call, plan, house.dialect(), budget) => result,
        ended = client.connection.ended() => Err(match ended {
            Ended::Gone => failure(Cause::Cancelled, Class::Final),
            Ended::Late => failure(Cause::Timeout, Class::Unavailable),
        }),
    };
    client.log.upstream_ms = u64::try_from(started.elapsed().as_millis()).ok();
    result
}

/// Whether the model may be served this way at all; what the upstream can be asked is `dialect`'s to say.
fn may_be_asked(plan: &Plan<'_>) -> Result<(), Failure> {
    if plan.trigger.is_some() && plan.surface.needs_equivalence() {
        return Err(failure(Cause::NotEquivalent, Class::Final));
    }
    let declared = plan.tasks.has(plan.surface.task());
    if declared { Ok(()) } else { Err(failure(Cause::Unsupported, Class::Final)) }
}

async fn ask(
    outlet: &Arc<Outlet>,
    call: Call,
    plan: &Plan<'_>,
    spoken: Dialect,
    budget: Duration,
) -> Result<Primed, Failure> {
    let mut asked = dialect::ask(request::caller(&call, spoken), plan)?;
    let bearer = outlet.bearer()?;
    let pass = outlet.admit(asked.bodies.len())?;
    let limits = &plan.remote.upstream.timeouts;
    let now = Instant::now();
    let until = Until {
        primed: now + Duration::from_millis(limits.first_byte_ms).min(budget),
        whole: now + Duration::from_millis(limits.total_ms).min(budget),
        budget: now + budget,
    };
    let requests = request::outgoing(&mut asked, &plan.remote.upstream.base_url, bearer.as_ref(), call)?;
    let primed = match asked.reading {
        Reading::Stream(stream) => {
            let idle = Duration::from_millis(limits.idle_ms);
            streamed(outlet, requests, *stream, idle, until).await
        }
        Reading::Whole(whole) => whole_answers(outlet, requests, &whole, until)
            .await
            .and_then(|answers| whole.read(&answers))
            .map(Primed::Buffered),
    };
    match primed {
        Ok(Primed::Stream(stream)) => Ok(Primed::Stream(Box::new(stream.admitted(pass)))),
        Ok(buffered) => {
            pass.settle(Outcome::Answered);
            Ok(buffered)
        }
        Err(failure) => {
            // Our own budget running out says nothing about the upstream.
            let own = failure.cause == Cause::Timeout && budget.as_millis() < u128::from(limits.first_byte_ms);
            pass.settle(if own { Outcome::Cancelled } else { failure.outcome() });
            Err(failure)
        }
    }
}

/// When the steps of an attempt must be over.
#[derive(Clone, Copy)]
struct Until {
    /// Each head of an answer, and the first content of a stream.
    primed: Instant,
    /// A whole buffered call.
    whole: Instant,
    /// The first byte to the caller.
    budget: Instant,
}

const TOO_SLOW: Failure = failure(Cause::Timeout, Class::Unavailable);

async fn streamed(
    outlet: &Arc<Outlet>,
    requests: Vec<Outgoing>,
    stream: spillway_filters::stream::Stream,
    idle: Duration,
    until: Until,
) -> Result<Primed, Failure> {
    let [request] = <[Outgoing; 1]>::try_from(requests).map_err(|_| failure(Cause::Unsupported, Class::Final))?;
    let (session, peer, head) = answered(outlet, request, until.primed).await?;
    if !is_type(&head, names::EVENT_STREAM) {
        return Err(failure(Cause::InvalidAnswer, Class::Final));
    }
    let stream = RemoteStream::new(session, outlet.clone(), peer, stream, idle);
    stream.primed(until.primed, until.budget).await.map(|stream| Primed::Stream(Box::new(stream)))
}

/// The answers of all requests, one after the other: the upstream's concurrency cap counts one attempt.
async fn whole_answers(
    outlet: &Arc<Outlet>,
    requests: Vec<Outgoing>,
    whole: &Whole,
    until: Until,
) -> Result<Vec<Raw>, Failure> {
    let count = requests.len();
    let mut answers = Vec::with_capacity(count);
    let mut room = MOST_ANSWERS_BYTES.max(whole.most_bytes());
    let first_byte = until.primed - Instant::now();
    for (place, request) in requests.into_iter().enumerate() {
        let until_head = (Instant::now() + first_byte).min(until.whole);
        let (mut session, peer, head) = answered(outlet, request, until_head).await?;
        let body = timeout_at(until.whole, Box::pin(collect(&mut session, whole.most_bytes().min(room)))).await;
        let body = body.map_err(|_| TOO_SLOW)??;
        room -= body.len();
        if is_framed_once(&head) {
            outlet.keep(session, &peer, POOL_IDLE).await;
        }
        let answer = Raw { content_type: header(&head, "content-type").map(<[u8]>::to_vec), body };
        // The last one is checked with all the others.
        if place + 1 < count {
            whole.check(place, &answer)?;
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// Sends a request and reads the head of its answer, which is one that may be read on.
async fn answered(
    outlet: &Outlet,
    request: Outgoing,
    until: Instant,
) -> Result<(HttpSession, HttpPeer, ResponseHeader), Failure> {
    let sent = timeout_at(until, Box::pin(send(outlet, request))).await.map_err(|_| TOO_SLOW)?;
    let (mut session, peer) = sent?;
    let head = session.response_header().ok_or(failure(Cause::InvalidAnswer, Class::Final))?.clone();
    if !matches!(head.status.as_u16(), 200 | 201) {
        return Err(rejected(&mut session, &head, until).await);
    }
    if head.headers.get_all("content-encoding").iter().any(|coding| !is_identity(coding.as_bytes())) {
        return Err(failure(Cause::InvalidAnswer, Class::Final));
    }
    Ok((session, peer, head))
}

/// Sends the request and reads the head of the answer. The held copy goes with the request: it has done its work.
async fn send(outlet: &Outlet, request: Outgoing) -> Result<(HttpSession, HttpPeer), Failure> {
    let (mut session, peer) = outlet.connect().await?;
    let broken = |error: Box<pingora_error::Error>| failure(outlet::broken(&error), Class::Unavailable);
    session.write_request_header(request.header).await.map_err(broken)?;
    let mut whole = true;
    for bytes in request.pieces {
        // An upstream that refuses early stops reading: its answer is waiting.
        if !bytes.is_empty() && session.write_request_body(bytes, false).await.is_err() {
            whole = false;
            break;
        }
    }
    drop(request.share);
    if whole {
        let _ = session.finish_request_body().await;
    }
    loop {
        session.read_response_header().await.map_err(broken)?;
        // Interim answers say nothing about the outcome.
        match session.response_header() {
            Some(head) if head.status.is_informational() && head.status != 101 => {}
            _ => return Ok((session, peer)),
        }
    }
}

/// What an answer other than 200 means.
async fn rejected(session: &mut HttpSession, head: &ResponseHeader, until: Instant) -> Failure {
    let status = head.status.as_u16();
    // The status is known: a body that stalls or breaks off only has no code.
    let body = match timeout_at(until, collect(session, MOST_ERROR_BYTES)).await {
        Ok(Ok(body)) if status >= 400 => body,
        _ => Vec::new(),
    };
    upstream_status::classify(
        status,
        header(head, "retry-after"),
        header(head, "x-sie-error-code"),
        header(head, "content-type"),
        &body,
        unix_s(),
    )
}

fn unix_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Reads a body to its end, up to `limit` bytes.
async fn collect(session: &mut HttpSession, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(bytes) =
        session.read_response_body().await.map_err(|_| failure(Cause::Connect, Class::Unavailable))?
    {
        if body.len() + bytes.len() > limit {
            return Err(failure(Cause::TooLarge, Class::Final));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// Whether a content coding is none: we asked for no other (contract section 5, answer bounds).
fn is_identity(coding: &[u8]) -> bool {
    let coding = coding.trim_ascii();
    coding.is_empty() || coding.eq_ignore_ascii_case(b"identity")
}

/// An answer with both a length and a transfer coding costs its connection (RFC 9112 section 6.3).
fn is_framed_once(head: &ResponseHeader) -> bool {
    header(head, "content-length").is_none() || header(head, "transfer-encoding").is_none()
}

fn header<'h>(head: &'h ResponseHeader, name: &str) -> Option<&'h [u8]> {
    head.headers.get(name).map(http::HeaderValue::as_bytes)
}

fn is_type(head: &ResponseHeader, wanted: &str) -> bool {
    header(head, "content-type")
        .and_then(|value| value.split(|byte| *byte == b';').next())
        .is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
}
