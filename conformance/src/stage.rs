//! What does a case play on: a scripted engine, a scripted upstream, the sidecar between them and callers in front?

pub mod client;
pub mod engine;
pub mod gate;
pub mod head;
pub mod journal;
pub(crate) mod patience;
pub mod pipe;
pub mod sample;
pub mod script;
pub mod scripted;
pub mod setup;
pub mod shim;
pub mod sidecar;
#[cfg(test)]
mod tests;
pub mod upstream;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Client, Received, Request};
use pipe::Address;
use scripted::Scripted;
use setup::{Places, Setup};
use sidecar::Sidecar;
use tokio::net::TcpSocket;

use crate::expect::Verdict;

/// Where a case gets its stage from.
#[derive(Clone, Debug)]
pub struct Bench {
    bin: PathBuf,
}

/// One case's world. Everything in it ends when it is dropped.
#[derive(Debug)]
pub struct Stage {
    /// The engine beside the sidecar.
    pub engine: Scripted,
    /// Every upstream of the configuration, unless the setup says otherwise.
    pub upstream: Scripted,
    /// The process under test.
    pub sidecar: Sidecar,
    _room: Room,
}

impl Bench {
    /// A bench for the binary at `bin`.
    pub fn new(bin: &Path) -> Self {
        Self { bin: bin.to_owned() }
    }

    /// Builds a stage. An engine without rules answers its health paths and an empty list of models.
    ///
    /// # Errors
    /// A finding when the sidecar does not become ready.
    pub async fn stage(&self, setup: Setup) -> Verdict<Stage> {
        let room = Room::new()?;
        let engine = if setup.unix { Scripted::unix(&room.path.join("engine.sock"))? } else { Scripted::tcp().await? };
        for path in ["/health", "/healthz", "/livez", "/readyz"] {
            engine.on_path(path, script::Answer::new(200).body("ok"));
        }
        engine.on_path("/v1/models", script::Answer::json(200, r#"{"models":[]}"#));
        let upstream = Scripted::tcp().await?;
        let sidecar = self.sidecar(&setup, &room, &engine, &upstream).await?;
        Ok(Stage { engine, upstream, sidecar, _room: room })
    }

    async fn sidecar(&self, setup: &Setup, room: &Room, engine: &Scripted, upstream: &Scripted) -> Verdict<Sidecar> {
        // Port 0: the sidecar takes a free one and says which.
        let any = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let front = if setup.unix { Address::Unix(room.path.join("front.sock")) } else { any.clone() };
        let engine = setup.engine_at.as_ref().unwrap_or_else(|| engine.address()).clone();
        let places = Places { front, admin: any, engine, upstream: upstream.address().clone() };
        let config = room.path.join("spillway.toml");
        std::fs::write(&config, setup.render(&places))?;
        Sidecar::start(&self.bin, &config, &setup.env, &places.front).await
    }
}

impl Stage {
    /// A new connection to the front.
    ///
    /// # Errors
    /// What the connect says.
    pub async fn client(&self) -> Verdict<Client> {
        Client::connect(self.sidecar.front()).await
    }

    /// One request on its own connection.
    ///
    /// # Errors
    /// A finding when no answer comes.
    pub async fn ask(&self, request: &Request) -> Verdict<Received> {
        self.client().await?.ask(request).await
    }
}

/// A loopback address that refuses every connection as long as this lives: the port is taken, and nobody listens.
#[derive(Debug)]
pub struct Nowhere {
    address: Address,
    _socket: TcpSocket,
}

impl Nowhere {
    /// Takes a port.
    ///
    /// # Errors
    /// What the bind says.
    pub fn new() -> Verdict<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        Ok(Self { address: Address::Tcp(socket.local_addr()?), _socket: socket })
    }

    /// Where nobody listens.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

/// A directory of one stage's own, removed with it.
#[derive(Debug)]
struct Room {
    path: PathBuf,
}

impl Room {
    fn new() -> Verdict<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("spillway-conformance-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self { path })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // A leftover directory harms nobody.
        std::fs::remove_dir_all(&self.path).ok();
    }
}
