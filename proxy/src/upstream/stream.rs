//! A stream from an upstream: held back until its first content, then passed on event by event, each flushed as it comes.

use super::outlet::{Outlet, Pass};
use super::{POOL_IDLE, failure};
use crate::client::Served;
use crate::connection::Connection;
use crate::relay::{self, LAST_CHUNK, append_chunk};
use crate::telemetry::Exchange;
use bytes::Bytes;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::HttpPeer;
use spillway_filters::prime::Progress;
use spillway_filters::stream::Stream;
use spillway_policies::breaker::Outcome;
use spillway_policies::{Cause, Class, Failure};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Most bytes of what comes until the first content is whole, and of a whole stream (contract section 5, engines section 5).
const MOST_META_BYTES: usize = 64 * 1024 + 1024 * 1024;
const MOST_STREAM_BYTES: usize = 64 * 1024 * 1024;
/// How long the end of an answer is waited for after its last event, so that the connection can be used again.
const CLOSING: Duration = Duration::from_millis(100);

/// One upstream stream, from its head on.
pub(crate) struct RemoteStream {
    session: HttpSession,
    outlet: Arc<Outlet>,
    peer: HttpPeer,
    stream: Stream,
    /// Events for the caller that wait to be written.
    ready: Vec<u8>,
    read_bytes: usize,
    /// The connection may be used again.
    keeps: bool,
    idle: Duration,
    pass: Option<Pass>,
}

impl RemoteStream {
    pub(super) fn new(
        session: HttpSession,
        outlet: Arc<Outlet>,
        peer: HttpPeer,
        stream: Stream,
        idle: Duration,
    ) -> Self {
        let keeps = session.response_header().is_some_and(super::is_framed_once);
        Self { session, outlet, peer, stream, ready: Vec::new(), read_bytes: 0, keeps, idle, pass: None }
    }

    /// Reads until the first content or a valid end, `until` at the latest. What came before is kept and goes out with it.
    ///
    /// A stream that generates, though nothing that the caller sees yet, has the whole `budget` instead, and is content enough when
    /// that is over: a caller who waits longer gives up.
    pub(super) async fn primed(mut self, mut until: Instant, budget: Instant) -> Result<Self, Failure> {
        let (mut silent_from, mut is_alive) = (0, false);
        loop {
            let bytes = match tokio::time::timeout_at(until, self.session.read_response_body()).await {
                Ok(bytes) => bytes.map_err(|_| failure(Cause::StreamError, Class::Unavailable))?,
                Err(_) if is_alive => return Ok(self),
                Err(_) => return Err(failure(Cause::Timeout, Class::Unavailable)),
            };
            match self.take(bytes)? {
                Progress::Committed => return Ok(self),
                // Only what says nothing is bounded.
                Progress::Alive => (silent_from, is_alive, until) = (self.read_bytes, true, budget),
                Progress::Nothing => {}
            }
            if self.read_bytes - silent_from > MOST_META_BYTES {
                return Err(failure(Cause::TooLarge, Class::Final));
            }
        }
    }

    /// The attempt's permit stays with the stream until it closes.
    pub(super) fn admitted(mut self, pass: Pass) -> Self {
        self.pass = Some(pass);
        self
    }

    /// Takes a piece of the upstream's stream, or its end.
    fn take(&mut self, bytes: Option<Bytes>) -> Result<Progress, Failure> {
        let Some(bytes) = bytes else { return self.stream.end(&mut self.ready).map(|()| Progress::Committed) };
        self.read_bytes += bytes.len();
        if self.read_bytes > MOST_STREAM_BYTES {
            return Err(failure(Cause::TooLarge, Class::Final));
        }
        self.stream.feed(&bytes, &mut self.ready)
    }

    /// Writes the head with the first events, then every later one as it comes, until the end, a failure or the caller's departure.
    pub(crate) async fn run(
        mut self,
        connection: &mut Connection,
        log: &mut Exchange,
        head: Vec<u8>,
        keep_alive: bool,
    ) -> Served {
        connection.release_buffers();
        let mut first = head;
        let end = loop {
            let mut chunk = std::mem::take(&mut first);
            append_chunk(&mut chunk, &std::mem::take(&mut self.ready));
            if self.stream.is_done() {
                chunk.extend_from_slice(LAST_CHUNK);
            }
            if self.write(connection, &chunk).await.is_err() {
                break End::ClientGone;
            }
            if self.stream.is_done() {
                break End::Whole;
            }
            match self.next(connection).await {
                Next::Piece(Ok(_)) => {}
                Next::Piece(Err(failure)) => break self.fail(connection, log, &failure).await,
                Next::ClientGone => break End::ClientGone,
            }
        };
        self.close(end, log, keep_alive).await
    }

    async fn write(&self, connection: &mut Connection, bytes: &[u8]) -> Result<(), ()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Connection { stream, deadline, .. } = connection;
        deadline.arm(relay::WRITE_MS);
        Connection::write(stream, deadline, bytes, b"").await.map_err(|_| ())
    }

    async fn next(&mut self, connection: &mut Connection) -> Next {
        connection.deadline.arm(0);
        let read = tokio::time::timeout(self.idle, self.session.read_response_body());
        let bytes = tokio::select! {
            biased;
            bytes = read => bytes,
            _ = connection.ended() => return Next::ClientGone,
        };
        Next::Piece(match bytes {
            Err(_) => Err(failure(Cause::Timeout, Class::Unavailable)),
            Ok(Err(_)) => Err(failure(Cause::StreamError, Class::Unavailable)),
            Ok(Ok(bytes)) => self.take(bytes),
        })
    }

    /// The stream failed after its first content: the events before the failure go out, then the surface's own error, once and last.
    async fn fail(&mut self, connection: &mut Connection, log: &mut Exchange, failure: &Failure) -> End {
        log.stream_failed(failure.cause);
        self.stream.fail(failure, &mut self.ready);
        let mut chunk = Vec::new();
        append_chunk(&mut chunk, &std::mem::take(&mut self.ready));
        let whole = self.stream.fails_whole();
        if whole {
            chunk.extend_from_slice(LAST_CHUNK);
        }
        let written = self.write(connection, &chunk).await.is_ok();
        if whole && written {
            End::Failed { whole: true, outcome: failure.outcome() }
        } else {
            End::Failed { whole: false, outcome: failure.outcome() }
        }
    }

    async fn close(mut self, end: End, log: &mut Exchange, keep_alive: bool) -> Served {
        let pass = self.pass.take();
        let settle = |outcome| {
            if let Some(pass) = pass {
                pass.settle(outcome);
            }
        };
        match end {
            End::ClientGone => {
                log.client_gone();
                Served::Close
            }
            End::Failed { whole, outcome } => {
                settle(outcome);
                if whole && keep_alive { Served::Keep } else { Served::Close }
            }
            End::Whole => {
                settle(Outcome::Answered);
                let Self { mut session, outlet, peer, keeps, .. } = self;
                tokio::spawn(async move {
                    if keeps && let Ok(Ok(None)) = tokio::time::timeout(CLOSING, session.read_response_body()).await {
                        outlet.keep(session, &peer, POOL_IDLE).await;
                    }
                });
                if keep_alive { Served::Keep } else { Served::Close }
            }
        }
    }
}

enum Next {
    ClientGone,
    Piece(Result<Progress, Failure>),
}

enum End {
    ClientGone,
    Failed { whole: bool, outcome: Outcome },
    Whole,
}
