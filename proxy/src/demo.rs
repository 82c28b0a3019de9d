//! What does the main job look like? A cold engine, an upstream and the real sidecar between them, in one process.
//!
//! The engine and the upstream are scripted, the sidecar is not: it starts from a TOML text as any other, and every number and header
//! on the screen was measured or read from an answer.

mod caller;
mod chat;
mod engine;
mod hints;
mod journal;
mod listener;
mod outcome;
mod screen;
mod script;
mod sidecar;
mod story;
mod tally;
mod upstream;

use crate::config::{self, Config};
use crate::handover::Inherited;
use crate::run::{self, Running};
use engine::Engine;
use std::io::{IsTerminal as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use story::{Places, Story};
use tokio::signal::unix::{SignalKind, signal};
use upstream::Upstream;

const FINE: u8 = 0;
const FAILED: u8 = 1;

/// Plays the demo on stdout and keeps serving until it is interrupted or terminated, or stdout is closed.
///
/// Returns the exit code of the process: 0 when it was ended, 1 when it could not start. Everything is on loopback; no file is read,
/// and of the environment only `NO_COLOR` and `TERM`.
#[must_use]
pub fn run() -> u8 {
    match prepare().and_then(|stage| stage.play()) {
        Ok(()) => FINE,
        Err(reason) => {
            // Nobody to tell when stderr is closed.
            let _ = writeln!(std::io::stderr(), "the demo cannot start: {reason}");
            FAILED
        }
    }
}

/// Both scripted sides, bound, and the sidecar's configuration that names them.
struct Stage {
    engine: TcpListener,
    upstream: TcpListener,
    configuration: String,
    config: Config,
}

fn prepare() -> Result<Stage, String> {
    let (engine, upstream) = (bound()?, bound()?);
    let configuration = sidecar::configuration(&address(&engine)?, &address(&upstream)?);
    let config = config::parse("demo.toml", &configuration, &|_| None)
        .map_err(|diagnostics| config::report(&diagnostics, config::Format::Human))?;
    Ok(Stage { engine, upstream, configuration, config })
}

/// A listener on a port that the system chose.
fn bound() -> Result<TcpListener, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    Ok(listener)
}

fn address(listener: &TcpListener) -> Result<String, String> {
    listener.local_addr().map(|address| address.to_string()).map_err(|error| error.to_string())
}

impl Stage {
    fn play(self) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(run::workers(&self.config))
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let played = runtime.block_on(self.until_ended());
        // The process ends now, and with it the story and whoever is still being served. Taken apart, the runtime would fail them first.
        std::mem::forget(runtime);
        played
    }

    async fn until_ended(self) -> Result<(), String> {
        let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return Err("cannot listen for signals".to_owned());
        };
        let (story, _serving) = self.open()?;
        // Stdout may block, so the story has a thread of its own: a signal is heard all the same.
        let handle = tokio::runtime::Handle::current();
        let telling = tokio::task::spawn_blocking(move || handle.block_on(story.tell()));
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => leave_the_line(),
            // Stdout was closed: nobody watches any more.
            _ = telling => {}
        }
        Ok(())
    }

    /// Starts the three servers.
    fn open(self) -> Result<(Story, Running), String> {
        let places = Places { engine: address(&self.engine)?, upstream: address(&self.upstream)?, ..Places::default() };
        let tokio_listener = |listener| tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string());
        let (engine_listener, upstream_listener) = (tokio_listener(self.engine)?, tokio_listener(self.upstream)?);
        let running = run::start(&self.config, &mut Inherited::default()).map_err(|error| error.to_string())?;
        let places = Places { front: running.front_address.clone(), admin: running.admin_address.clone(), ..places };
        let (notes, journal) = journal::open();
        let engine = Arc::new(Engine::new(notes.clone(), self.configuration));
        let upstream = Arc::new(Upstream::new(notes));
        tokio::spawn(listener::serve(engine_listener, engine.clone()));
        tokio::spawn(listener::serve(upstream_listener, upstream.clone()));
        Ok((Story::new(places, engine, upstream, journal), running))
    }
}

/// A terminal has just shown `^C`: what the shell says next starts on a line of its own.
fn leave_the_line() {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = stderr.write_all(b"\n");
    }
}
