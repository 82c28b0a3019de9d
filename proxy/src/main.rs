//! The command line of the sidecar.

use clap::{Args, Parser, Subcommand, ValueEnum};
use spillway::config::{self, Config};
use spillway::handover::{self, Inherited};
use spillway::run::Running;
use spillway::signals::{Asked, Signals};
use spillway::{demo, run, telemetry};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const FINE: u8 = 0;
const FAILED: u8 = 1;
const OPERATORS_MISTAKE: u8 = 2;

/// How long the tasks of exchanges that are cut may take to end, each with its access line.
const CUT_TIME: Duration = Duration::from_millis(500);

/// A sidecar for inference engines: when the engine beside it says "not now", the request is re-issued once to an upstream you
/// configured, and the caller never sees the 503.
#[derive(Parser)]
#[command(name = "spillway", version, after_help = EXAMPLES)]
struct Arguments {
    /// The deployment file.
    #[arg(short, long = "config", value_name = "FILE", default_value = "spillway.toml", global = true)]
    config: PathBuf,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "Examples:
  spillway demo                    a cold engine, an upstream and the sidecar in one process, for a first look
  spillway check spillway.toml     every mistake in a configuration, with line, column and how to mend it
  spillway -c spillway.toml        serve (the same as `spillway run`)

Exit codes: 0 fine, 1 failed, 2 the operator's mistake.";

#[derive(Subcommand)]
enum Command {
    /// Serve. The default.
    Run(Run),
    /// Check a configuration without serving: every mistake in one run.
    Check {
        /// The deployment file; the same as -c.
        file: Option<PathBuf>,
        /// For a person or for a program.
        #[arg(short, long, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Show the main job in one process: a cold engine, an upstream, and the sidecar between. Needs no configuration.
    Demo,
}

#[derive(Args, Default)]
struct Run {
    /// Take the listening sockets over from the running process, which is sent SIGQUIT: no connection is refused meanwhile.
    #[arg(long)]
    upgrade: bool,
    /// Where the two processes meet, the same path for both [default: beside the deployment file, with the ending `.upgrade.sock`].
    // Not in a folder for temporary files: whoever may write beside the configuration rules the process anyway, and nobody else may.
    #[arg(long, value_name = "PATH")]
    upgrade_socket: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Json,
    Text,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let code = match arguments.command {
        None => serve(&arguments.config, Run::default()),
        Some(Command::Run(run)) => serve(&arguments.config, run),
        Some(Command::Check { file, output }) => check(file.as_ref().unwrap_or(&arguments.config), output),
        Some(Command::Demo) => demo::run(),
    };
    ExitCode::from(code)
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn say(text: &str) {
    // Nobody to tell when stdout is closed.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn complain(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn check(file: &Path, output: Output) -> u8 {
    let format = match output {
        Output::Json => config::Format::Json,
        Output::Text => config::Format::Human,
    };
    let (diagnostics, code) = match config::load(file, &environment) {
        Ok(config) => (config.unseen(file).into_iter().chain(config.warnings).collect(), FINE),
        Err(diagnostics) => (diagnostics, OPERATORS_MISTAKE),
    };
    say(&config::report(&diagnostics, format));
    if code == FINE && matches!(output, Output::Text) {
        say(&format!("{}: fine\n", file.display()));
    }
    code
}

fn serve(file: &Path, run: Run) -> u8 {
    let config = match config::load(file, &environment) {
        Ok(config) => config,
        Err(diagnostics) => {
            complain(&config::report(&diagnostics, config::Format::Human));
            if !file.exists() {
                complain("a first look without a configuration: `spillway demo`\n");
            }
            return OPERATORS_MISTAKE;
        }
    };
    telemetry::start(config.log.format);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(run::workers(&config)).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("cannot start the runtime: {error}\n"));
            return FAILED;
        }
    };
    let meeting = run.upgrade_socket.unwrap_or_else(|| file.with_extension("upgrade.sock"));
    let ended = runtime.block_on(live(&config, &meeting, run.upgrade));
    // Exchanges that outlived the drain end with the runtime.
    runtime.shutdown_timeout(CUT_TIME);
    match ended {
        Ok(Some(running)) => running.flush(),
        Ok(None) => {}
        Err(code) => return code,
    }
    FINE
}

/// One life of the process, from the first signal it hears to the last exchange it serves; nothing when it never came to serve.
async fn live(config: &Config, meeting: &Path, upgrade: bool) -> Result<Option<Running>, u8> {
    let mut signals = Signals::listen().map_err(|error| {
        complain(&format!("cannot listen for signals: {error}\n"));
        FAILED
    })?;
    let mut inherited = Inherited::default();
    if upgrade {
        tracing::info!(at = %meeting.display(), "waiting for the running process, which hands over at SIGQUIT");
        inherited = tokio::select! {
            received = handover::receive(meeting) => received.map_err(|error| cannot_wait(meeting, &error))?,
            () = signals.end() => return Ok(None),
        };
    }
    let mut running = run::start(config, &mut inherited).map_err(|error| {
        complain(&format!("error: {error}\n"));
        OPERATORS_MISTAKE
    })?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    tracing::info!(listener = "front", address = %running.front_address, "listening");
    tracing::info!(listener = "admin", address = %running.admin_address, "listening");
    inherited.confirm().await;
    end(config, meeting, &mut running, &mut signals).await;
    tracing::info!("stopped");
    Ok(Some(running))
}

fn cannot_wait(meeting: &Path, error: &std::io::Error) -> u8 {
    complain(&format!(
        "error: cannot wait at {}: {error}; name another path with --upgrade-socket, to both processes\n",
        meeting.display()
    ));
    OPERATORS_MISTAKE
}

/// Serves until it is asked to end or has handed over, then drains.
async fn end(config: &Config, meeting: &Path, running: &mut Running, signals: &mut Signals) {
    let successor = has_successor(meeting, running, signals).await;
    tracing::info!("draining");
    let (lame_duck, max) =
        (Duration::from_millis(config.drain.lame_duck_ms), Duration::from_millis(config.drain.max_ms));
    let drained = async { if successor { running.leave(max).await } else { running.drain(lame_duck, max).await } };
    tokio::select! {
        () = drained => {}
        // Asked twice: at once.
        () = signals.end() => {}
    }
    let cut = running.in_flight();
    if cut > 0 {
        tracing::warn!(cut, "exchanges are cut: they were still in flight");
    }
}

/// Waits until the process is asked to leave; true when another has taken its place.
async fn has_successor(meeting: &Path, running: &Running, signals: &mut Signals) -> bool {
    loop {
        if signals.next().await == Asked::End {
            return false;
        }
        tracing::info!(at = %meeting.display(), "handing over");
        let given = tokio::select! {
            given = handover::give(meeting, running.sockets()) => given,
            () = signals.end() => return false,
        };
        match given {
            Ok(()) => return true,
            Err(error) => {
                tracing::warn!(%error, "nobody took over (start the new process with `run --upgrade`): going on")
            }
        }
    }
}
