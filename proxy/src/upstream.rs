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
use bytes::Bytes;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_http::ResponseHeader;
use spillway_filters::answer::{self, Content, Expected};
use spillway_filters::disclose;
use spillway_filters::names;
use spillway_filters::shape;
use spillway_filters::upstream_status;
use spillway_policies::breaker::Outcome;
use spillway_policies::routing::Tasks;
use spillway_policies::verdict::Plan;
use spillway_policies::{Cause, Class, Failure, Surface};
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of an error answer that are read to classify it.
const MOST_ERROR_BYTES: usize = 64 * 1024;
/// Most bytes of a buffered answer: generation, and everything else (contract section 5).
const MOST_TEXT_BYTES: usize = 32 * 1024 * 1024;
const MOST_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// With less than this left of the budget of both legs an attempt would only cost the upstream.
const LEAST_TIME: Duration = Duration::from_millis(250);
/// How long an upstream connection waits for its next call.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// An upstream's answer that may be delivered: checked as far as a first byte needs.
pub(crate) enum Primed {
    /// A whole, checked and shaped answer.
    Buffered { content_type: &'static str, body: Vec<u8> },
    /// A stream whose first content has come.
    Stream(Box<RemoteStream>),
}

impl Primed {
    /// Status line and the headers that do not depend on who served, unterminated. All of them are ours.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        match self {
            Self::Buffered { content_type, body } => {
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
    takes(&call, plan)?;
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
        result = ask(outlet, call, plan, budget) => result,
        ended = client.connection.ended() => Err(match ended {
            Ended::Gone => failure(Cause::Cancelled, Class::Final),
            Ended::Late => failure(Cause::Timeout, Class::Unavailable),
        }),
    };
    client.log.upstream_ms = u64::try_from(started.elapsed().as_millis()).ok();
    result
}

/// Whether this upstream can take this call in the caller's own protocol.
fn takes(call: &Call, plan: &Plan<'_>) -> Result<(), Failure> {
    let upstream = &plan.remote.upstream;
    if plan.trigger.is_some() && plan.surface.needs_equivalence() {
        return Err(failure(Cause::NotEquivalent, Class::Final));
    }
    let sie = matches!(upstream.kind, spillway_policies::upstream::Kind::Sie);
    let served = upstream.takes(plan.surface) && plan.tasks.has(plan.surface.task()) && !(sie && call.second_rerank);
    if served { Ok(()) } else { Err(failure(Cause::Unsupported, Class::Final)) }
}

async fn ask(outlet: &Arc<Outlet>, call: Call, plan: &Plan<'_>, budget: Duration) -> Result<Primed, Failure> {
    let bearer = outlet.bearer()?;
    let pass = outlet.admit()?;
    match primed(outlet, call, plan, budget, bearer).await {
        Ok(Primed::Stream(stream)) => Ok(Primed::Stream(Box::new(stream.admitted(pass)))),
        Ok(buffered) => {
            pass.settle(Outcome::Answered);
            Ok(buffered)
        }
        Err(failure) => {
            // Our own budget running out says nothing about the upstream.
            let limits = &plan.remote.upstream.timeouts;
            let own = failure.cause == Cause::Timeout && budget.as_millis() < u128::from(limits.first_byte_ms);
            pass.settle(if own { Outcome::Cancelled } else { failure.outcome() });
            Err(failure)
        }
    }
}

async fn primed(
    outlet: &Arc<Outlet>,
    call: Call,
    plan: &Plan<'_>,
    budget: Duration,
    bearer: Option<http::HeaderValue>,
) -> Result<Primed, Failure> {
    let limits = &plan.remote.upstream.timeouts;
    let started = tokio::time::Instant::now();
    let until_primed = started + Duration::from_millis(limits.first_byte_ms).min(budget);
    let until_whole = started + Duration::from_millis(limits.total_ms).min(budget);
    let timeout = failure(Cause::Timeout, Class::Unavailable);
    let request = request::build(&call, plan, bearer)?;
    let (surface, stream) = (plan.surface, call.details().stream);
    let shown = Shown::of(&call, plan.tasks);
    let (body, share) = call.held.into_body();
    let sending = send(outlet, request.header, request.pieces, body);
    let (mut session, peer) = tokio::time::timeout_at(until_primed, Box::pin(sending)).await.map_err(|_| timeout)??;
    // The upstream has the whole request: the held copy has done its work.
    drop(share);

    let head = session.response_header().ok_or(failure(Cause::InvalidAnswer, Class::Final))?.clone();
    if !matches!(head.status.as_u16(), 200 | 201) {
        return Err(rejected(&mut session, &head, until_primed).await);
    }
    if header(&head, "content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
        return Err(failure(Cause::InvalidAnswer, Class::Final));
    }
    if stream {
        if !is_type(&head, names::EVENT_STREAM) {
            return Err(failure(Cause::InvalidAnswer, Class::Final));
        }
        let stream = RemoteStream::new(session, outlet.clone(), peer, surface, shown, limits);
        return stream.primed(until_primed).await.map(|stream| Primed::Stream(Box::new(stream)));
    }
    let whole = buffered(&mut session, &head, surface, &shown);
    let primed = tokio::time::timeout_at(until_whole, Box::pin(whole)).await.map_err(|_| timeout)??;
    if is_framed_once(&head) {
        outlet.keep(session, &peer, POOL_IDLE).await;
    }
    Ok(primed)
}

/// What the caller is shown instead of what the upstream says about itself.
pub(crate) struct Shown {
    pub(crate) model: String,
    pub(crate) id: String,
    pub(crate) include_reasoning: bool,
    include_usage: bool,
    created_s: u64,
    wants_json: bool,
    inputs: Option<usize>,
    choices: Option<usize>,
    top_n: Option<usize>,
    dim: Option<u32>,
    context: Option<u32>,
    output_cap: Option<u64>,
}

impl Shown {
    fn of(call: &Call, tasks: &Tasks) -> Self {
        let caps = [call.details().output_cap, tasks.max_output_tokens.map(u64::from)];
        Self {
            model: call.model.clone(),
            id: outlet::fresh_id(call.surface),
            include_reasoning: call.details().include_reasoning,
            include_usage: call.details().include_usage,
            created_s: unix_s(),
            wants_json: request::wants_json(call),
            inputs: call.details().inputs,
            choices: call.details().choices,
            top_n: call.details().top_n,
            dim: tasks.dense_dim,
            context: tasks.context_length,
            output_cap: caps.into_iter().flatten().min(),
        }
    }

    /// As `filters` wants it.
    pub(crate) fn dress(&self) -> shape::Shown<'_> {
        shape::Shown {
            model: &self.model,
            id: &self.id,
            created_s: self.created_s,
            include_reasoning: self.include_reasoning,
            include_usage: self.include_usage,
        }
    }
}

/// Sends the request and reads the head of the answer.
async fn send(
    outlet: &Outlet,
    header: Box<pingora_http::RequestHeader>,
    pieces: Vec<spillway_filters::edit::Piece>,
    body: Bytes,
) -> Result<(HttpSession, HttpPeer), Failure> {
    let (mut session, peer) = outlet.connect().await?;
    let broken = |error: Box<pingora_error::Error>| failure(outlet::broken(&error), Class::Unavailable);
    session.write_request_header(header).await.map_err(broken)?;
    let mut whole = true;
    for piece in pieces {
        let bytes = match piece {
            spillway_filters::edit::Piece::Held(range) => body.slice(range),
            spillway_filters::edit::Piece::New(bytes) => Bytes::from(bytes),
        };
        // An upstream that refuses early stops reading: its answer is waiting.
        if !bytes.is_empty() && session.write_request_body(bytes, false).await.is_err() {
            whole = false;
            break;
        }
    }
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
async fn rejected(session: &mut HttpSession, head: &ResponseHeader, until: tokio::time::Instant) -> Failure {
    let status = head.status.as_u16();
    // The status is known: a body that stalls or breaks off only has no code.
    let body = match tokio::time::timeout_at(until, collect(session, MOST_ERROR_BYTES)).await {
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

/// Reads, checks and shapes a whole answer.
async fn buffered(
    session: &mut HttpSession,
    head: &ResponseHeader,
    surface: Surface,
    shown: &Shown,
) -> Result<Primed, Failure> {
    let (limit, json) = match surface.task() {
        spillway_policies::surface::Task::Generate => (MOST_TEXT_BYTES, true),
        _ => (MOST_ANSWER_BYTES, shown.wants_json),
    };
    if surface.task() == spillway_policies::surface::Task::Generate && !is_type(head, names::JSON) {
        return Err(failure(Cause::InvalidAnswer, Class::Final));
    }
    let body = collect(session, limit).await?;
    let content_type = match (surface, json) {
        (Surface::Audio, _) => audio_type(head),
        (_, true) => names::JSON,
        (_, false) => names::MSGPACK,
    };
    let content = match content_type {
        names::JSON => Content::Json,
        names::MSGPACK => Content::Msgpack,
        _ => Content::Text,
    };
    let expected = Expected {
        shown: shown.dress(),
        items: shown.inputs,
        choices: shown.choices,
        dim: shown.dim,
        context: shown.context,
        output_cap: shown.output_cap,
        top_n: shown.top_n,
    };
    let body = answer::check(surface, content, &body, &expected)?.into_owned();
    Ok(Primed::Buffered { content_type, body })
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

/// The transcription formats of contract section 1.1; anything else is shown as plain text.
fn audio_type(head: &ResponseHeader) -> &'static str {
    ["application/json", "text/vtt", "application/x-subrip"]
        .into_iter()
        .find(|kind| is_type(head, kind))
        .unwrap_or("text/plain; charset=utf-8")
}
