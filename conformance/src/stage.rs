//! What does a case play on: a scripted engine, a scripted upstream, the sidecar between them and callers in front?

pub mod aftermath;
pub mod client;
pub mod director;
pub mod engine;
pub mod gate;
pub mod head;
pub mod journal;
pub(crate) mod patience;
pub mod pipe;
pub mod program;
pub mod sample;
pub mod script;
pub mod scripted;
pub mod setup;
pub mod shim;
pub mod sidecar;
#[cfg(test)]
mod tests;
pub mod traffic;
pub mod upstream;
pub mod wrapped;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Client, Received, Request};
use pipe::Address;
use scripted::Scripted;
use setup::{Places, Setup};
use sidecar::{Launch, Sidecar};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use wrapped::{Wrap, Wrapped};

use crate::expect::Verdict;

/// Where a case gets its stage from.
#[derive(Clone, Debug)]
pub struct Bench {
    binaries: Binaries,
}

/// The programs that a stage is made of.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// The sidecar under test.
    pub sidecar: PathBuf,
    /// The shim under test.
    pub shim: PathBuf,
    /// What plays the engines: `spillway-conformance`.
    pub engine: PathBuf,
}

impl Binaries {
    /// The sidecar, and what Cargo builds into the same folder.
    pub fn beside(sidecar: &Path) -> Self {
        let sibling = |name| sidecar.with_file_name(name);
        Self { shim: sibling("spillway-shim"), engine: sibling("spillway-conformance"), sidecar: sidecar.to_owned() }
    }
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
    launch: Launch,
    _room: Room,
}

impl Bench {
    /// A bench for these programs.
    pub fn new(binaries: &Binaries) -> Self {
        Self { binaries: binaries.clone() }
    }

    /// A place for an engine that the shim wraps. Nothing runs there yet.
    ///
    /// # Errors
    /// A finding when there is no room for it.
    pub fn wrapped(&self, wrap: Wrap) -> Verdict<Wrapped> {
        Wrapped::new(wrap, &self.binaries)
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
        let launch = self.launch(&setup, &room, &engine, &upstream)?;
        let sidecar = Sidecar::start(&launch).await?;
        Ok(Stage { engine, upstream, sidecar, launch, _room: room })
    }

    fn launch(&self, setup: &Setup, room: &Room, engine: &Scripted, upstream: &Scripted) -> Verdict<Launch> {
        // Port 0: the sidecar takes a free one and says which.
        let any = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let at = |name: &str| if setup.unix { Address::Unix(room.path.join(name)) } else { any.clone() };
        let (front, admin) = (at("front.sock"), at("admin.sock"));
        let engine = setup.engine_at.as_ref().unwrap_or_else(|| engine.address()).clone();
        let places = Places { front, admin, engine, upstream: upstream.address().clone() };
        let config = room.path.join("spillway.toml");
        std::fs::write(&config, setup.render(&places))?;
        let Places { front, admin, .. } = places;
        Ok(Launch { bin: self.binaries.sidecar.clone(), config, env: setup.env.clone(), front, admin })
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
    /// A finding when no answer comes, or one with a key of the sidecar in it.
    pub async fn ask(&self, request: &Request) -> Verdict<Received> {
        let answer = self.client().await?.ask(request).await?;
        aftermath::keeps_keys(&answer)?;
        Ok(answer)
    }

    /// Starts the sidecar once more with the same configuration, in place of one that has ended, at the addresses where that one was.
    ///
    /// # Errors
    /// A finding when it does not become ready.
    pub async fn restart(&mut self) -> Verdict {
        let text = std::fs::read_to_string(&self.launch.config)?;
        let listen = |table: &str, address: &Address| format!("[{table}]\naddress = \"{}\"", address.listen());
        let (front, admin) = (self.sidecar.front().clone(), self.sidecar.admin().clone());
        let text = text.replace(&listen("listen", &self.launch.front), &listen("listen", &front));
        let text = text.replace(&listen("admin", &self.launch.admin), &listen("admin", &admin));
        std::fs::write(&self.launch.config, text)?;
        (self.launch.front, self.launch.admin) = (front, admin);
        self.sidecar = Sidecar::start(&self.launch).await?;
        Ok(())
    }

    /// Starts another sidecar with the same configuration, which waits to take the place of this one.
    ///
    /// # Errors
    /// A finding when the binary cannot be started.
    pub fn successor(&self) -> Verdict<Sidecar> {
        Sidecar::spawn(&self.launch, &["--upgrade"])
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

/// A loopback address at which connecting hangs: the queue of its listener is full, and nobody accepts.
#[derive(Debug)]
pub struct Deaf {
    address: Address,
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Deaf {
    /// Fills the queue of a listener that never accepts.
    ///
    /// # Errors
    /// What the system says.
    pub async fn new() -> Verdict<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let listener = socket.listen(0)?;
        let address = listener.local_addr()?;
        // A queue of length 0 takes one connection, and drops every further attempt without a word.
        let waiting = vec![TcpStream::connect(address).await?];
        Ok(Self { address: Address::Tcp(address), _listener: listener, _waiting: waiting })
    }

    /// Where nobody listens to those who call.
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
