//! The full lane: stock pingora for what is not HTTP/1.1, and for everything when `fast_lane = false`.
//!
//! Served by the engine only, never bridged (lanes decision 2). `X-SIE-Remote` is checked, disclosure rewritten, and calls of models that
//! only an upstream serves are answered here and never sent to the engine (product section 8).

mod answer;
mod replay;

use crate::budget::Share;
use crate::house::{House, Inside};
use crate::telemetry::{Exchange, Side};
use crate::warmup;
use answer::write;
use async_trait::async_trait;
use pingora_core::apps::{HttpServerOptions, ServerApp as _};
use pingora_core::protocols::{Digest, Stream};
use pingora_core::server::ShutdownWatch;
use pingora_core::server::configuration::ServerConf;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_error::{Error, ErrorSource, ErrorType, Result};
use pingora_http::{RequestHeader, ResponseHeader};
use pingora_proxy::{FailToProxy, HttpProxy, ProxyHttp, Session, http_proxy};
use replay::Replay;
use spillway_filters::call::{self, Format};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::names;
use spillway_filters::paths::{self, Asked};
use spillway_filters::wire::RejectKind;
use spillway_policies::model::Selector;
use spillway_policies::routing::{Barred, Route};
use spillway_policies::{Consent, Surface};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How much of a body is looked at for its model. pingora replays what was read before, up to 64 KiB.
const MOST_READ: usize = 48 * 1024;

/// Disclosure names: ours to write, dropped from everybody else.
const DISCLOSURE: [&str; 6] = [
    names::SERVED_BY,
    names::UPSTREAM,
    names::FALLBACK_REASON,
    names::FALLBACK_ERROR,
    names::CAUSE,
    names::EQUIVALENCE,
];

/// The full lane as the front listener sees it.
pub(crate) struct FullLane {
    app: Arc<HttpProxy<Sidecar>>,
    /// How long a caller may take until its first bytes tell which HTTP it speaks.
    first_bytes: Duration,
    /// No further request is waited for.
    over: watch::Sender<bool>,
}

impl FullLane {
    pub(crate) fn new(house: Arc<House>) -> Self {
        let first_bytes = Duration::from_millis(house.idle_timeout_ms);
        let mut app = http_proxy(&Arc::new(ServerConf::default()), Sidecar { house });
        let mut options = HttpServerOptions::default();
        options.h2c = true;
        app.server_options = Some(options);
        Self { app: Arc::new(app), first_bytes, over: watch::Sender::new(false) }
    }

    /// Closes connections that wait for a request.
    pub(crate) async fn stop(&self) {
        self.over.send_replace(true);
        self.app.cleanup().await;
    }

    /// Serves the rest of a connection, `read` first.
    pub(crate) async fn serve(&self, stream: Stream, read: Vec<u8>, shutdown: &ShutdownWatch) {
        let mut replay = Replay::new(read, stream);
        // Not as soon as the listener closes: a connection that came just before a successor got it may be about to speak.
        let mut over = self.over.subscribe();
        // pingora looks for the HTTP/2 preface for as long as the caller likes, drain or not.
        tokio::select! {
            biased;
            begun = tokio::time::timeout(self.first_bytes, replay.begin()) => if !matches!(begun, Ok(Ok(()))) { return },
            _ = over.wait_for(|over| *over) => return,
        }
        let mut next: Option<Stream> = Some(Box::new(replay));
        while let Some(stream) = next {
            next = self.app.process_new(stream, shutdown).await;
        }
    }
}

struct Sidecar {
    house: Arc<House>,
}

#[async_trait]
impl ProxyHttp for Sidecar {
    type CTX = Passing;

    fn new_ctx(&self) -> Passing {
        Passing { _inside: self.house.enter(), room: None, addresses: 0, tried: 0, log: Exchange::new(None) }
    }

    async fn request_filter(&self, session: &mut Session, passing: &mut Passing) -> Result<bool> {
        let surface = surface_of(session.req_header());
        let consent = match consent(session.req_header(), self.house.remote_serving) {
            Ok(consent) => consent,
            Err(answer) => return answered(&self.house, session, &mut passing.log, &answer, surface).await,
        };
        // Behind the fast lane only an HTTP/1.0 connection gets here on HTTP/1; the strict gate has seen its first request only.
        if self.house.fast_lane || self.house.is_retired() {
            session.set_keepalive(None);
        }
        if surface.is_some() && self.house.has_remote() {
            let refused = match self.model(session, surface).await? {
                Named::Model(model) => {
                    passing.log.model = self.house.routes.configured_name(&model).map(str::to_owned);
                    self.barred(&model, consent)
                }
                Named::No(answer) => Some(answer),
            };
            if let Some(answer) = refused {
                return answered(&self.house, session, &mut passing.log, &answer, surface).await;
            }
        }
        let only_reads =
            matches!(session.req_header().method, http::Method::GET | http::Method::HEAD | http::Method::OPTIONS);
        let Ok(room) = self.house.engine.room(only_reads) else {
            write(&self.house, session, &mut passing.log, &ErrorAnswer::queue_full(), surface, true).await?;
            return Ok(true);
        };
        passing.room = room;
        if let Some(answer) = warmup::refuse_unbridged(&self.house, &mut passing.log, surface, only_reads) {
            // Its body may be long in coming, and is for nobody.
            passing.room = None;
            write(&self.house, session, &mut passing.log, &answer, surface, true).await?;
            return Ok(true);
        }
        Ok(false)
    }

    async fn upstream_peer(&self, _: &mut Session, passing: &mut Passing) -> Result<Box<HttpPeer>> {
        let peers = self.house.engine.peers().await.map_err(|_| Error::new(ErrorType::ConnectError))?;
        passing.addresses = peers.len();
        let peer = peers.into_iter().nth(passing.tried);
        let mut peer = peer.ok_or_else(|| Error::new(ErrorType::ConnectError))?;
        // A connection older than the engine's own keep-alive is not used, as on the fast lane.
        let engine = &self.house.engine;
        peer.options.idle_timeout = Some(Duration::from_millis(engine.preset.idle_ms));
        peer.options.connection_timeout = Some(Duration::from_millis(engine.connect_ms));
        // pingora has one limit for every read: the first byte and the pauses behind it.
        let first_byte_ms =
            if engine.first_byte_ms == 0 { self.house.first_byte_budget_ms } else { engine.first_byte_ms };
        peer.options.read_timeout = Some(Duration::from_millis(first_byte_ms.max(engine.idle_ms)));
        Ok(Box::new(peer))
    }

    async fn connected_to_upstream(
        &self,
        _: &mut Session,
        _: bool,
        _: &HttpPeer,
        _: std::os::unix::io::RawFd,
        _: Option<&Digest>,
        passing: &mut Passing,
    ) -> Result<()> {
        self.house.engine.note_reached();
        passing.log.served(Side::Local);
        Ok(())
    }

    /// The engine's name may have further addresses; nothing was sent yet.
    fn fail_to_connect(
        &self,
        _: &mut Session,
        _: &HttpPeer,
        passing: &mut Passing,
        mut error: Box<Error>,
    ) -> Box<Error> {
        passing.tried += 1;
        error.set_retry(passing.tried < passing.addresses);
        error
    }

    /// Nothing is sent twice: the engine may have read a request on a connection that broke.
    fn error_while_proxy(
        &self,
        _: &HttpPeer,
        _: &mut Session,
        mut error: Box<Error>,
        _: &mut Passing,
        _: bool,
    ) -> Box<Error> {
        error.set_retry(false);
        error
    }

    async fn upstream_request_filter(
        &self,
        _: &mut Session,
        request: &mut RequestHeader,
        _: &mut Passing,
    ) -> Result<()> {
        for name in DISCLOSURE {
            request.remove_header(name);
        }
        let prefix = self.house.engine.path_prefix.as_bytes();
        if !prefix.is_empty() {
            let target = [prefix, request.raw_path()].concat();
            request.set_raw_path(&target)?;
        }
        Ok(())
    }

    async fn response_filter(&self, session: &mut Session, answer: &mut ResponseHeader, _: &mut Passing) -> Result<()> {
        if session.req_header().version == http::Version::HTTP_10 {
            // HTTP/1.0 has no chunks: the body ends with the connection.
            answer.remove_header("Transfer-Encoding");
        }
        for name in DISCLOSURE {
            answer.remove_header(name);
        }
        answer.insert_header(names::SERVED_BY, "local")
    }

    async fn fail_to_proxy(&self, session: &mut Session, error: &Error, passing: &mut Passing) -> FailToProxy {
        let surface = surface_of(session.req_header());
        let answer = match error.etype() {
            ErrorType::ConnectRefused | ErrorType::ConnectError if !self.house.engine.was_reached() => {
                ErrorAnswer::provisioning()
            }
            ErrorType::ConnectRefused | ErrorType::ConnectError | ErrorType::ConnectTimedout => {
                ErrorAnswer::engine_unreachable()
            }
            ErrorType::ReadTimedout => ErrorAnswer::engine_timeout(),
            _ => ErrorAnswer::engine_reset(),
        };
        let code = answer.status;
        if session.response_written().is_none() {
            passing.room = None;
            let _ = write(&self.house, session, &mut passing.log, &answer, surface, true).await;
        } else if error.esource() == &ErrorSource::Upstream {
            // An HTTP/1.0 caller sees a body that ends: only this tells.
            passing.log.truncated();
        }
        FailToProxy { error_code: code, can_reuse_downstream: false }
    }

    async fn logging(&self, session: &mut Session, error: Option<&Error>, passing: &mut Passing) {
        let log = &mut passing.log;
        log.surface = surface_of(session.req_header());
        log.status = session.response_written().map_or(0, |answer| answer.status.as_u16());
        if log.status == 0 || error.is_some_and(|error| error.esource() == &ErrorSource::Downstream) {
            log.client_gone();
        }
        self.house.access.record(log);
    }

    fn suppress_error_log(&self, _: &Session, _: &Passing, _: &Error) -> bool {
        true
    }
}

/// One exchange on this lane, counted as in flight, and its place at the engine.
struct Passing {
    _inside: Inside,
    room: Option<Share>,
    /// How many addresses the engine has, and how many of them did not answer.
    addresses: usize,
    tried: usize,
    log: Exchange,
}

enum Named {
    Model(String),
    No(ErrorAnswer),
}

impl Sidecar {
    /// The model of an inference call; the beginning of the body is read when the path does not name it.
    async fn model(&self, session: &mut Session, surface: Option<Surface>) -> Result<Named> {
        let Some(surface) = surface else { return Ok(Named::No(UNNAMED)) };
        if let Asked::Inference(_, Some(model)) = paths::asked(session.req_header().uri.path().as_bytes()) {
            return Ok(Named::Model(model.into_owned()));
        }
        let content_type =
            session.req_header().headers.get("content-type").map(|value| value.as_bytes().to_vec()).unwrap_or_default();
        session.as_mut().enable_retry_buffering();
        let mut read: Vec<u8> = Vec::new();
        while let Some(piece) = session.as_mut().read_request_body().await? {
            read.extend_from_slice(&piece);
            if read.len() >= MOST_READ {
                break;
            }
        }
        let format = Format::of(surface, &content_type);
        let named = match format {
            Format::Multipart => call::named(format, &content_type, &read).ok().map(|named| named.model),
            Format::Json | Format::Msgpack => call::named_early(&read),
        };
        Ok(named.map(Cow::into_owned).map_or(Named::No(UNNAMED), Named::Model))
    }

    /// The answer for a model that only an upstream serves: this lane does not bridge.
    fn barred(&self, model: &str, consent: Consent) -> Option<ErrorAnswer> {
        match self.house.routes.resolve(&Selector::parse(model, None), consent) {
            Ok(Route::Hybrid { .. } | Route::Local) => None,
            Ok(Route::Remote { .. }) => Some(ErrorAnswer::not_on_this_lane()),
            Err(Barred::Forbidden) => Some(ErrorAnswer::forbidden_remote()),
            Err(Barred::NoSuchProfile) => Some(ErrorAnswer::no_such_profile()),
            Err(Barred::SwitchedOff) => Some(ErrorAnswer::switched_off()),
        }
    }
}

const UNNAMED: ErrorAnswer = ErrorAnswer::invalid_field(
    "model",
    "over this HTTP version `model` must stand in the first 48 KiB of the body; use HTTP/1.1",
);

fn surface_of(head: &RequestHeader) -> Option<Surface> {
    if head.method == http::Method::POST { paths::surface(head.uri.path().as_bytes()) } else { None }
}

/// The caller's word: exactly one `forbid`, or nothing, under no other spelling and nominated by nobody (product section 8).
fn consent(head: &RequestHeader, remote_serving: bool) -> Result<Consent, ErrorAnswer> {
    let refused = || ErrorAnswer::invalid(RejectKind::Remote.message());
    let spelled = |name: &http::HeaderName| name.as_str().replace('_', "-").eq_ignore_ascii_case(names::REMOTE);
    let mut said = head.headers.iter().filter(|(name, _)| spelled(name));
    let forbids = match (said.next(), said.next()) {
        (None, _) => false,
        (Some((name, value)), None) if name.as_str().eq_ignore_ascii_case(names::REMOTE) && value == "forbid" => true,
        _ => return Err(refused()),
    };
    let nominated = head.headers.get_all("connection").iter().any(|value| {
        value
            .as_bytes()
            .split(|byte| *byte == b',')
            .any(|name| name.trim_ascii().eq_ignore_ascii_case(names::REMOTE.as_bytes()))
    });
    if nominated { Err(refused()) } else { Ok(Consent::of(remote_serving, forbids)) }
}

async fn answered(
    house: &House,
    session: &mut Session,
    log: &mut Exchange,
    answer: &ErrorAnswer,
    surface: Option<Surface>,
) -> Result<bool> {
    write(house, session, log, answer, surface, false).await?;
    Ok(true)
}
