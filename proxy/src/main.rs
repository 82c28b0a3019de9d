//! The command line of the sidecar.

use clap::{Parser, Subcommand, ValueEnum};
use spillway::config::{self, Config};
use spillway::{demo, run, telemetry};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const FINE: u8 = 0;
const FAILED: u8 = 1;
const OPERATORS_MISTAKE: u8 = 2;

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
    Run,
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

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Json,
    Text,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let code = match arguments.command {
        None | Some(Command::Run) => serve(&arguments.config),
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
        Ok(config) => (config.warnings, FINE),
        Err(diagnostics) => (diagnostics, OPERATORS_MISTAKE),
    };
    say(&config::report(&diagnostics, format));
    if code == FINE && matches!(output, Output::Text) {
        say(&format!("{}: fine\n", file.display()));
    }
    code
}

fn serve(file: &Path) -> u8 {
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
    let code = runtime.block_on(until_signal(&config));
    // Exchanges that outlived the drain end with the process.
    runtime.shutdown_background();
    code
}

async fn until_signal(config: &Config) -> u8 {
    let running = match run::start(config) {
        Ok(running) => running,
        Err(error) => {
            complain(&format!("error: {error}\n"));
            return OPERATORS_MISTAKE;
        }
    };
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    tracing::info!(listener = "front", address = %running.front_address, "listening");
    tracing::info!(listener = "admin", address = %running.admin_address, "listening");
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        complain("cannot listen for signals\n");
        return FAILED;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("draining");
    let draining =
        running.drain(Duration::from_millis(config.drain.lame_duck_ms), Duration::from_millis(config.drain.max_ms));
    tokio::select! {
        cut = draining => if cut > 0 { tracing::warn!(cut, "exchanges were still in flight at the deadline") },
        // Asked twice: at once.
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopped");
    FINE
}
