//! What can happen to the machine, and what does it want done?

use nix::sys::signal::Signal;
use spillway_filters::feed::{Activity, Identity, Wish};
use spillway_filters::presets::Call;

use crate::asked::Reply;
use crate::probe::Sighting;

/// One thing that has happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The shim is up.
    Begun,
    /// The process was started.
    Spawned,
    /// The process could not be started.
    NotSpawned(SpawnFault),
    /// The process has ended with this exit code (128 + its signal).
    Ended(u8),
    /// What was left of its group is gone too.
    Cleared,
    /// The round of probes with this number is back.
    Looked(u64, Sighting),
    /// An [`Order`] was carried out.
    Called(u64, Outcome),
    /// Somebody wants something loaded: an [`Action::Reply`] follows.
    Load(Wish),
    /// Somebody wants memory back: an [`Action::Reply`] follows.
    Sleep(Wish),
    /// A subscriber tells of its requests.
    Activity(Activity),
    /// A subscriber's stream has begun.
    Subscribed(String),
    /// A subscriber's stream has ended.
    Left(String),
    /// How far the engine says it is.
    Progress(Option<String>),
    /// What the engine of this life was observed to be.
    Identified(u64, Identity),
    /// The shim got a signal. SIGTERM and SIGINT are to end it; any other is for the engine.
    Signal(Signal),
    /// The moment of [`Machine::due`](super::Machine::due) has come.
    Tick,
}

/// Why a process could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnFault {
    /// There is no such program.
    NotFound,
    /// It is no program that may be run, or the system has no room for it.
    NotRun,
    /// Somebody else listens where it is to listen, and would be taken for it.
    Taken,
}

/// One thing to do. What it leads to comes back as an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start the process: [`Event::Spawned`] or [`Event::NotSpawned`].
    Spawn,
    /// Send this to the process group.
    Signal(Signal),
    /// Probe once: [`Event::Looked`] with this number. An older round that is still out is of no use any more.
    Look {
        /// Its number.
        round: u64,
        /// Whether what the engine has to do is asked too.
        queue: bool,
    },
    /// Call the engine: [`Event::Called`].
    Call(Order),
    /// Give up every call that is out.
    Abort,
    /// Observe what the local side is: [`Event::Identified`] with this number.
    Identify(u64),
    /// The answer to the wish that has just come.
    Reply(Reply),
    /// It is over.
    Exit(Exit),
}

/// One call to the engine's control surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Its number.
    pub id: u64,
    /// What is called.
    pub call: Call,
    /// For which model; empty: the engine.
    pub model: String,
    /// How long it may take, in milliseconds.
    pub limit_ms: u64,
}

/// How a call to the engine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// The engine has no such call, or it is switched off.
    Missing,
    /// It was not done.
    Failed,
}

impl Outcome {
    /// What an answer to a call means.
    #[must_use]
    pub fn of(call: &Call, status: u16, body: &[u8]) -> Self {
        match status {
            _ if call.is_done(status, body) => Self::Done,
            404 | 405 | 501 => Self::Missing,
            _ => Self::Failed,
        }
    }
}

/// Why the shim ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Its engine has ended with this code, or it had none to end.
    Engine(u8),
    /// Somebody else listens where its engine is to listen.
    Taken,
    /// There is no such program.
    NotFound,
    /// The program cannot be run.
    NotRun,
}

impl Exit {
    /// The exit code: the engine's own, or what a shell says of a command that it cannot run.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Engine(code) => code,
            Self::Taken => 2,
            Self::NotFound => 127,
            Self::NotRun => 126,
        }
    }
}
