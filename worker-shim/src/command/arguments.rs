//! Which words may stand on the command line?

use super::{Stop, address, slip};
use crate::config::Address;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use spillway_filters::presets::{NAMES, Preset, preset};
use std::ffi::OsString;
use std::time::Duration;

/// Wraps one inference engine: starts it, tells its true state to the sidecar, and loads it, puts it to sleep and wakes it on request.
///
/// The engine's own command stands behind `--`. Its output passes through, and signals reach it. After a crash it is started again. When
/// it ends by itself with code 0 or by a signal that was passed on to it, or the shim is told to end, the shim ends with its code. Without a command an engine that runs already is
/// watched, and never ended.
#[derive(Parser)]
#[command(name = "spillway-shim", version, override_usage = USAGE, after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) question: Option<Question>,
    /// Where the shim listens: unix:/path, or a port on loopback such as http://127.0.0.1:9903
    #[arg(long, value_name = "ADDRESS", global = true, default_value = "unix:/run/spillway/shim.sock", value_parser = address::socket)]
    pub(super) socket: Address,
    #[command(flatten)]
    pub(super) wrap: Wrap,
}

const USAGE: &str = "spillway-shim [OPTIONS] -- ENGINE ARGS...
       spillway-shim --preset NAME [OPTIONS]
       spillway-shim status|load|sleep [MODEL] [--socket ADDRESS]";

const EXAMPLES: &str = "Examples:
  spillway-shim -- vllm serve org/model --port 8081
      wrap an engine; which one it is and where it listens are read from its command
  spillway-shim --idle-sleep-s 900 -- llama-server -m model.gguf --port 8081 --metrics
      give the memory back after 15 minutes without a request
  spillway-shim load
      ask a shim that runs to load or wake its engine, and show how far it is

Exit codes: the engine's own when it is wrapped, 128 and the signal when one ended it, 126 where its program cannot be run and
127 where there is none; otherwise 0 fine, 1 failed, 2 the operator's mistake.";

/// What a shim is to do.
#[derive(Args)]
pub(super) struct Wrap {
    /// Which engine it is [default: known by its command]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(NAMES).map(|name| known(&name)))]
    pub(super) preset: Option<&'static Preset>,
    /// Where the engine listens: http://host:port or unix:/path [default: where its command puts it]
    #[arg(long, value_name = "URL")]
    pub(super) engine: Option<String>,
    /// Who may use a Unix socket, in octal
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    pub(super) socket_mode: u32,
    /// Put the engine to sleep after so many seconds without a request [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    pub(super) idle_sleep_s: Option<Duration>,
    /// So many waiting requests are enough: with more, new ones are refused as saturated [default: no number is]
    #[arg(long, value_name = "REQUESTS")]
    pub(super) max_waiting: Option<u64>,
    /// How long requests in flight may take when the engine is to end or to sleep
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(super) drain_s: Duration,
    /// How long the engine may take to end after its signal, before it is killed
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(super) stop_s: Duration,
    /// The environment variable that holds the key which the engine asks for
    #[arg(long, value_name = "NAME")]
    pub(super) api_key_secret: Option<String>,
    /// The engine's program and its arguments, behind `--`
    #[arg(last = true, value_name = "ENGINE ARGS")]
    pub(super) command: Vec<OsString>,
}

/// What a shim that runs is asked.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Question {
    /// Show what a shim that runs knows of its engine, and the engine's last lines (text only)
    Status {
        /// For a person or for a program
        #[arg(short, long, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Load a model, or wake the engine, and show how far it is until it is ready
    Load {
        /// The model, where an engine serves several; an engine with one model is meant whole, whatever the name
        model: Option<String>,
    },
    /// Give the memory of a model, or of the engine, back, and wait until it is done
    Sleep {
        /// The model, where an engine serves several; an engine with one model is meant whole, whatever the name
        model: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    Json,
    Text,
}

impl Arguments {
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Stop> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let matches = Self::command().try_get_matches_from(&arguments);
        let matches = matches.map_err(|error| slip::explain(&error, has_question(&arguments)))?;
        if let Some((question, _)) = matches.subcommand()
            && let Some(flag) = flag_of_a_wrap(&matches)
        {
            return Err(Stop::mistake(format!(
                "--{flag} says how to wrap an engine, and `{question}` asks a shim that runs: leave one of them out"
            )));
        }
        Self::from_arg_matches(&matches).map_err(|error| slip::read(&error))
    }
}

fn has_question(arguments: &[OsString]) -> bool {
    let command = Arguments::command();
    let is_question = |word: &OsString| command.get_subcommands().any(|question| *word == question.get_name());
    arguments.iter().take_while(|word| *word != "--").any(is_question)
}

/// A flag that a question has no use for.
fn flag_of_a_wrap(matches: &ArgMatches) -> Option<String> {
    let command = Wrap::augment_args(clap::Command::new(""));
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    command.get_arguments().find(|flag| given(flag.get_id().as_str())).and_then(|flag| flag.get_long()).map(Into::into)
}

fn known(name: &str) -> &'static Preset {
    preset(name).expect("each of NAMES has its preset")
}

fn mode(text: &str) -> Result<u32, &'static str> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or("write three octal digits, such as 600 for yourself or 660 for your group too")
}

/// A time that may be zero.
fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|time| *time <= LONGEST).ok_or("write a number of seconds, such as 30 or 0.5")
}

/// A time that may not be zero.
fn span(text: &str) -> Result<Duration, &'static str> {
    let span = seconds(text)?;
    if span.is_zero() { Err("write more than 0 seconds; without the flag it never sleeps by itself") } else { Ok(span) }
}

/// A year: longer is a slip, and no clock overflows.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
