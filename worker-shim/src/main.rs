//! The command line of the shim.

use spillway_shim::command::{self, Ask, Command, FAILED, Stop};
use spillway_shim::config::Config;
use spillway_shim::run::run;
use std::future::Future;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};

/// How many log lines wait for a reader of stderr that is slow.
const LINES_AHEAD: usize = 1_024;
/// How long the last of them have when the shim ends.
const LAST_LINES: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let done = command::read(std::env::args_os(), &|name| std::env::var(name).ok()).and_then(|command| match command {
        Command::Ask(ask) => question(&ask),
        Command::Wrap(config) => shim(*config),
    });
    ExitCode::from(done.unwrap_or_else(|stop| said(&stop)))
}

fn shim(config: Config) -> Result<u8, Stop> {
    let lines = log();
    let code = on_a_runtime(run(config));
    last_lines(lines);
    code
}

fn question(ask: &Ask) -> Result<u8, Stop> {
    on_a_runtime(ask.run(&mut std::io::stdout()))?.map(|()| 0)
}

/// One thread is enough: nothing here carries a request's bytes.
fn on_a_runtime<T>(work: impl Future<Output = T>) -> Result<T, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Stop { text: format!("error: cannot start the runtime: {error}\n"), code: FAILED })?;
    let done = runtime.block_on(work);
    // What a thread still reads or looks up is not waited for.
    runtime.shutdown_background();
    Ok(done)
}

/// Log lines for a person at a terminal, and for a program otherwise. They share stderr with the engine's own. Nobody waits for whoever
/// reads them: when it stands still, lines are dropped, and when it is gone, all are.
fn log() -> WorkerGuard {
    let (writer, guard) =
        NonBlockingBuilder::default().lossy(true).buffered_lines_limit(LINES_AHEAD).finish(std::io::stderr());
    let lines = tracing_subscriber::fmt()
        .with_writer(writer)
        .log_internal_errors(false)
        .with_target(false)
        .with_max_level(tracing::Level::INFO);
    if std::io::stderr().is_terminal() {
        lines.init();
    } else {
        lines.json().flatten_event(true).init();
    }
    guard
}

/// Lets the last lines out. Whoever holds them up is not waited for.
fn last_lines(lines: WorkerGuard) {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        drop(lines);
        done.send(())
    });
    // They are out, or they stay.
    let _ = ended.recv_timeout(LAST_LINES);
}

/// Help that was asked for goes to stdout, and why nothing is done to stderr. Nobody is told when that is closed.
fn said(stop: &Stop) -> u8 {
    let _ = match stop.code {
        0 => std::io::stdout().write_all(stop.text.as_bytes()),
        _ => std::io::stderr().write_all(stop.text.as_bytes()),
    };
    stop.code
}
