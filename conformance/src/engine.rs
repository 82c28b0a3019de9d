//! What plays the engines that cannot run here: small programs that behave on the wire as vLLM, TEI, Ollama and llama-swap do.
//!
//! They run no model. Each says what it does, line by line, on standard output and to its director, a Unix socket of the stage
//! ([`crate::stage::director`]) that also says when a step may be taken, or that the program ends there. Without a director, steps take time.

mod answer;
mod cues;
mod http;
mod llama_swap;
mod models;
mod ollama;
mod options;
mod tei;
mod vllm;
mod world;

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::net::TcpSocket;
use tokio::signal::unix::{SignalKind, signal};

use options::{Like, Options};
use world::World;

/// How the program is started.
pub const USAGE: &str = options::USAGE;

/// Plays an engine as `words` say, until it is asked to end; its exit code.
pub fn play(words: &[String]) -> ExitCode {
    match options::read(words).and_then(|options| live(options).map_err(|error| error.to_string())) {
        Ok(code) => code.into(),
        Err(wrong) => {
            // Nobody reads what cannot be written.
            write!(std::io::stderr().lock(), "{wrong}\n\n{USAGE}").ok();
            ExitCode::from(2)
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn live(options: Options) -> std::io::Result<u8> {
    let mut asked_to_end = signal(SignalKind::terminate())?;
    let world = Arc::new(World::new(options)?);
    let code = world.options.exit_code;
    tokio::select! {
        served = serve(&world) => served?,
        _ = asked_to_end.recv() => {}
    }
    // The listener is gone; what was begun is finished.
    world.tell("ending");
    world.idle().await;
    Ok(code)
}

/// Loads, listens and serves, each when this kind of engine does.
async fn serve(world: &Arc<World>) -> std::io::Result<()> {
    world.cues.step("start").await;
    let kind = world.options.like;
    // vLLM takes its port before it loads and listens after; TEI takes it when it has loaded; the others listen and load when asked.
    let early = if kind == Like::Tei { None } else { Some(bound(world.options.address)?) };
    if kind.loads_at_start() {
        world.tell("loads");
        world.cues.step("load").await;
        world.fill();
    }
    if kind == Like::Crashing {
        return Ok(());
    }
    let socket = early.map_or_else(|| bound(world.options.address), Ok)?;
    let listener = socket.listen(128)?;
    world.tell("ready");
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(http::converse(Arc::clone(world), stream));
    }
}

/// The port, not yet listened on. The stage holds it too, so that nobody else takes it while the engine is away.
fn bound(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}
