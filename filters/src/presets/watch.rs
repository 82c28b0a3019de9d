//! How is an engine's state seen without sending it work?

use super::{Call, Origin};
use spillway_policies::State;

/// What an engine tells about itself, and how often it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// How often it is asked while it is ready, in milliseconds.
    pub every_ms: u64,
    /// How often while it starts, loads or wakes, in milliseconds.
    pub eager_ms: u64,
    /// What a running process is that nobody can connect to.
    pub listens: Listens,
    /// Whether it is well.
    pub health: Option<Health>,
    /// Which of its models are loaded, for an engine that serves several.
    pub models: Option<ModelList>,
    /// How much it has to do.
    pub queue: Option<Queue>,
    /// Whether it sleeps, where its health does not tell.
    pub asleep: Option<Flag>,
}

impl Watch {
    /// An engine that tells nothing, looked at as often as is usual.
    pub const USUAL: Self = Self {
        every_ms: 2_000,
        eager_ms: 200,
        listens: Listens::First,
        health: None,
        models: None,
        queue: None,
        asleep: None,
    };
}

/// When an engine begins to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listens {
    /// First, and then it loads: a refused connection means that the process is starting.
    First,
    /// When it has loaded: a refused connection to a live process means that it is loading.
    Loaded,
}

/// A health probe. 2xx is well. Any other status means loading as long as this process was never well, and unhealthy after that.
#[derive(Clone, Copy, Debug)]
pub struct Health {
    /// What is asked; a GET.
    pub path: &'static str,
    /// Statuses that say loading also after it was well once.
    pub loading: &'static [u16],
    /// How this is known.
    pub origin: Origin,
}

/// The models of an engine with their states, in one JSON answer.
#[derive(Clone, Copy, Debug)]
pub struct ModelList {
    /// What is asked.
    pub call: Call,
    /// A JSON pointer to the array; empty: the answer is the array.
    pub list: &'static str,
    /// JSON pointers in an entry to the names that callers use; each that is a string counts.
    pub names: &'static [&'static str],
    /// A JSON pointer in an entry to its state. Empty: what is listed is loaded.
    pub state: &'static str,
    /// What the values of `state` mean, without regard to case. A value that is not here says nothing of the model.
    pub states: &'static [(&'static str, State)],
    /// A JSON pointer in an entry to a boolean: true when its last load failed. Empty: there is none.
    pub failed: &'static str,
    /// What a model is that is not listed; none: not known, because the list is of loaded and unloaded ones alike.
    pub unlisted: Option<State>,
    /// The ending that a caller may leave off a name (Ollama's `:latest`); empty: none.
    pub optional_ending: &'static str,
    /// Endings of names that are never listed, without regard to case: the engine passes such a call on. Nothing is known of such a model.
    pub never_listed: &'static [&'static str],
    /// Whether a request for a model that is not loaded is held until it is: then a hybrid model's call is refused from this list before
    /// it is sent. Where the engine refuses by itself, or where only a refused request starts the load, the list is shown and not acted on.
    pub gates: bool,
}

impl ModelList {
    /// Whether a model of this name is listed when it is loaded.
    #[must_use]
    pub fn lists(&self, model: &str) -> bool {
        let ends = |ending: &&str| {
            let at = model.len().saturating_sub(ending.len());
            model.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
        };
        !self.never_listed.iter().any(ends)
    }

    /// The state of a model that is not on the list; none: not known.
    #[must_use]
    pub fn unlisted(&self, model: &str) -> Option<State> {
        self.unlisted.filter(|_| self.lists(model))
    }
}

/// How much an engine has to do.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// What is asked; a GET.
    pub path: &'static str,
    /// Prometheus gauges, or JSON pointers when they begin with `/`; what there is of them is added up.
    pub running: &'static [&'static str],
    /// As `running`, of requests that wait.
    pub waiting: &'static [&'static str],
    /// Asking counts as work: it wakes an engine that sleeps by itself, and keeps it awake. So it is asked only where somebody acts on it.
    pub wakes: bool,
    /// How this is known.
    pub origin: Origin,
}

/// One boolean in a JSON answer.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// What is asked; a GET.
    pub path: &'static str,
    /// A JSON pointer to the boolean.
    pub pointer: &'static str,
    /// How this is known.
    pub origin: Origin,
}

/// How an engine gives its memory back and takes it again, where it can without ending.
#[derive(Clone, Copy, Debug)]
pub struct Sleep {
    /// What puts it, or one model (`$model`), to sleep.
    pub sleep: Call,
    /// What wakes it; none: the preset's load call does.
    pub wake: Option<Call>,
    /// Whether these are said of each loaded model rather than of the engine.
    pub per_model: bool,
}
