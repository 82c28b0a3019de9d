//! The engine beside us: where it is, whether it was ever reached, and connections to it.

use crate::budget::{Budget, Share};
use crate::clock::{self, Clock};
use crate::config;
use crate::local_models::Listed;
use crate::slots::Slots;
use pingora_core::connectors::{ConnectorOptions, TransportConnector};
use pingora_core::protocols::Stream;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_error::ErrorType;
use spillway_filters::presets::Preset;
use spillway_filters::refusal::Rule;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::time::Duration;

/// The local engine.
pub(crate) struct Engine {
    pub(crate) preset: &'static Preset,
    /// The operator's own recognisers, asked before the preset's.
    pub(crate) rules: Vec<Rule>,
    /// What the engine's base URL puts before every path.
    pub(crate) path_prefix: String,
    /// Milliseconds until the first byte of an answer; zero: the engine decides, within the budget.
    pub(crate) first_byte_ms: u64,
    /// Milliseconds between two pieces of an answer.
    pub(crate) idle_ms: u64,
    address: config::Address,
    /// Milliseconds until a connection stands.
    pub(crate) connect_ms: u64,
    connector: TransportConnector,
    slots: Slots,
    reached: AtomicBool,
    /// What it listed as loaded, when it was last asked.
    pub(crate) listed: Listed,
    room: Option<Arc<Budget>>,
    /// A shim waits for requests in flight, so they are counted.
    counts: bool,
    /// Requests that were given room since the start and did more than read, where they are counted.
    started: AtomicU64,
}

/// Why there is no connection. Nothing was sent, so this is always before acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoConnection {
    /// Nobody listens there.
    Refused,
    /// Somebody listened and broke off at once.
    Reset,
    /// The attempt failed in another way, or took too long.
    Unreachable,
}

impl Engine {
    pub(crate) fn new(config: &config::Engine, workers: usize) -> Self {
        Self {
            preset: config.preset,
            rules: config.rules.clone(),
            path_prefix: config.path_prefix.clone(),
            first_byte_ms: config.first_byte_ms,
            idle_ms: config.idle_ms,
            address: config.address.clone(),
            connect_ms: config.connect_ms,
            connector: TransportConnector::new(Some(ConnectorOptions::new(1))),
            slots: Slots::new(workers, clock::ticks(config.preset.idle_ms)),
            reached: AtomicBool::new(false),
            listed: Listed::default(),
            room: config.max_in_flight.or_else(|| config.shim.as_ref().map(|_| usize::MAX)).map(Budget::new),
            counts: config.shim.is_some(),
            started: AtomicU64::new(0),
        }
    }

    /// An idle connection, if one is fresh enough to trust.
    pub(crate) fn idle(&self, clock: &Clock) -> Option<Stream> {
        self.slots.take(clock.tick())
    }

    /// Gives back a connection whose last answer was read to its end.
    pub(crate) fn keep(&self, stream: Stream, clock: &Clock) {
        self.slots.put(stream, clock.tick());
    }

    /// Closes idle connections that have become too old.
    pub(crate) fn sweep(&self, tick: u32) {
        self.slots.sweep(tick);
    }

    /// Room for one more request, when `max_in_flight` limits them or a shim wants to know of them. What only reads does not keep an engine
    /// from being idle.
    pub(crate) fn room(&self, only_reads: bool) -> Result<Option<Share>, NoRoom> {
        let Some(room) = &self.room else { return Ok(None) };
        let share = room.take(1).ok_or(NoRoom)?;
        if self.counts {
            self.started.fetch_add(u64::from(!only_reads), Ordering::Relaxed);
            // Counted before the state is looked at: see `shim::report`.
            fence(Ordering::SeqCst);
        }
        Ok(Some(share))
    }

    /// Requests in flight, and requests since the start.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        (self.room.as_ref().map_or(0, |room| room.used() as u64), self.started.load(Ordering::Relaxed))
    }

    /// Whether the engine was ever reached in this life.
    pub(crate) fn was_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// A new connection. Boxed: its state is large and rarely needed.
    pub(crate) async fn connect(&self) -> Result<Stream, NoConnection> {
        let stream = Box::pin(self.open()).await?;
        self.note_reached();
        Ok(stream)
    }

    /// A connection was made.
    pub(crate) fn note_reached(&self) {
        if !self.was_reached() {
            self.reached.store(true, Ordering::Relaxed);
        }
    }

    async fn open(&self) -> Result<Stream, NoConnection> {
        let mut failed = NoConnection::Unreachable;
        for peer in self.peers().await? {
            match self.connector.new_stream(&peer).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = reason(&error),
            }
        }
        Err(failed)
    }

    /// The engine's addresses. A name is resolved at each connection, so that a restarted container is found again.
    pub(crate) async fn peers(&self) -> Result<Vec<HttpPeer>, NoConnection> {
        let mut peers = self.found().await?;
        let limit = Some(Duration::from_millis(self.connect_ms));
        for peer in &mut peers {
            (peer.options.connection_timeout, peer.options.total_connection_timeout) = (limit, limit);
        }
        Ok(peers)
    }

    async fn found(&self) -> Result<Vec<HttpPeer>, NoConnection> {
        match &self.address {
            config::Address::Unix(path) => {
                let peer = HttpPeer::new_uds(&path.to_string_lossy(), false, String::new());
                Ok(vec![peer.map_err(|_| NoConnection::Unreachable)?])
            }
            config::Address::Tcp(address) => {
                if let Ok(address) = address.parse::<std::net::SocketAddr>() {
                    return Ok(vec![HttpPeer::new(address, false, String::new())]);
                }
                let limit = Duration::from_millis(self.connect_ms);
                let found = tokio::time::timeout(limit, tokio::net::lookup_host(address)).await;
                let found = found.map_err(|_| NoConnection::Unreachable)?.map_err(|_| NoConnection::Unreachable)?;
                Ok(found.map(|address| HttpPeer::new(address, false, String::new())).collect())
            }
        }
    }

    /// Where the engine is.
    pub(crate) const fn address(&self) -> &config::Address {
        &self.address
    }
}

/// `max_in_flight` requests are at the engine already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRoom;

const fn is_unreachable(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::TimedOut
    )
}

fn reason(error: &pingora_error::Error) -> NoConnection {
    let io_kind = error.root_cause().downcast_ref::<io::Error>().map(io::Error::kind);
    match (error.etype(), io_kind) {
        (ErrorType::ConnectRefused, _) | (_, Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)) => {
            NoConnection::Refused
        }
        // A connection that was there and is gone shows in many ways: reset, not connected, an option that cannot be set.
        (ErrorType::ConnectTimedout | ErrorType::ConnectNoRoute | ErrorType::BindError, _) => NoConnection::Unreachable,
        (_, Some(kind)) if is_unreachable(kind) => NoConnection::Unreachable,
        _ => NoConnection::Reset,
    }
}
