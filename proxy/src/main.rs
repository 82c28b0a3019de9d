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
use tokio::sync::Notify;

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
        Ok((running, code)) => {
            running.flush();
            code
        }
        Err(code) => code,
    }
}

/// One life of the process, from the first signal it hears to the last exchange it serves: its exit code, as an error when it never came
/// to serve.
async fn live(config: &Config, meeting: &Path, upgrade: bool) -> Result<(Running, u8), u8> {
    let mut signals = Signals::listen().map_err(|error| {
        complain(&format!("cannot listen for signals: {error}\n"));
        FAILED
    })?;
    let mut inherited = Inherited::default();
    if upgrade {
        let waiting = handover::wait_at(meeting).map_err(|error| cannot_wait(meeting, &error))?;
        tracing::info!(at = %meeting.display(), "waiting for the running process, which hands over at SIGQUIT");
        inherited = tokio::select! {
            inherited = waiting.inherit() => inherited.map_err(|error| cannot_wait(meeting, &error))?,
            () = signals.end() => return Err(FINE),
        };
    }
    if inherited.is_called_off() {
        complain(TOO_LATE);
        return Err(FAILED);
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
    // The predecessor accepts until this one does.
    let confirmed = async {
        running.begun().await;
        inherited.confirm().await
    };
    let alone = tokio::select! {
        alone = confirmed => Some(alone),
        () = signals.end() => None,
    };
    let (departure, code) = match alone {
        Some(true) => (asked(meeting, &running, &mut signals).await, FINE),
        Some(false) => {
            complain(TOO_LATE);
            (Departure::BesideAnother, FAILED)
        }
        // The predecessor, if there is one, hears no more and goes on.
        None => (Departure::Last, FINE),
    };
    leave(config, departure, &mut running, &mut signals).await;
    tracing::info!("stopped");
    Ok((running, code))
}

/// Why a new process gives up.
const TOO_LATE: &str = "error: the running process had stopped waiting for this one and goes on serving; start this one again, and send the \
running one SIGQUIT once it says that it is waiting\n";

fn cannot_wait(meeting: &Path, error: &std::io::Error) -> u8 {
    complain(&format!(
        "error: cannot wait at {}: {error}; name another path with --upgrade-socket, to both processes\n",
        meeting.display()
    ));
    OPERATORS_MISTAKE
}

/// How a process leaves.
enum Departure {
    /// Nobody serves after it.
    Last,
    /// Another process accepts the connections.
    BesideAnother,
}

/// Finishes what was begun. Asked once more, it ends at once; beside another process, the first time only that it does not wait for idle
/// callers: whoever sent SIGQUIT may send what ends every process next.
async fn leave(config: &Config, departure: Departure, running: &mut Running, signals: &mut Signals) {
    tracing::info!("draining");
    let max = Duration::from_millis(config.drain.max_ms);
    match departure {
        Departure::Last => tokio::select! {
            () = running.drain(Duration::from_millis(config.drain.lame_duck_ms), max) => {}
            () = signals.end() => {}
        },
        Departure::BesideAnother => {
            let hurry = Notify::new();
            let asked_twice = async {
                signals.end().await;
                hurry.notify_one();
                signals.end().await;
            };
            tokio::select! {
                () = running.leave(max, hurry.notified()) => {}
                () = asked_twice => {}
            }
        }
    }
    let cut = running.in_flight();
    if cut > 0 {
        tracing::warn!(cut, "exchanges are cut: they were still in flight");
    }
}

/// Waits until the process is asked to leave.
async fn asked(meeting: &Path, running: &Running, signals: &mut Signals) -> Departure {
    loop {
        if signals.next().await == Asked::End {
            return Departure::Last;
        }
        tracing::info!(at = %meeting.display(), "handing over");
        let given = tokio::select! {
            given = handover::give(meeting, running.sockets()) => given,
            () = signals.end() => return Departure::Last,
        };
        match given {
            Ok(()) => return Departure::BesideAnother,
            Err(error) => {
                tracing::warn!(%error, "nobody took over (start the new process with `run --upgrade`): going on")
            }
        }
    }
}
