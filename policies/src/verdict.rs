//! *The* decision: is this refusal bridged?

use crate::refusal::{Certainty, Refusal};
use crate::routing::{Remote, Route, Tasks};
use crate::surface::Surface;
use crate::trigger::Trigger;

/// What happens to a refused call.
#[derive(Clone, Copy, Debug)]
pub enum Verdict<'a> {
    /// The model is hybrid and the trigger is on: the engine is woken and the upstream asked, once.
    Bridge(Plan<'a>),
    /// The refusal goes back as it came.
    Keep(Why),
}

/// One upstream attempt that may be made.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Where to.
    pub remote: &'a Remote,
    /// What the model declares.
    pub tasks: &'a Tasks,
    /// The trigger that caused it; none when only an upstream serves the model.
    pub trigger: Option<Trigger>,
    /// The surface the caller used.
    pub surface: Surface,
}

/// Why a refusal is kept. For the log; the caller sees the refusal only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The engine may have done some of the work.
    Ambiguous,
    /// Policy, switch or caller keep the model local.
    LocalOnly,
    /// The model has not switched this trigger on.
    TriggerOff,
}

impl Why {
    /// The stable token.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Ambiguous => "ambiguous",
            Self::LocalOnly => "local_only",
            Self::TriggerOff => "trigger_off",
        }
    }
}

/// Decides about one refusal. Total: every combination has a row in `tests/verdict_table.rs`.
#[must_use]
pub fn decide<'a>(route: &Route<'a>, surface: Surface, refusal: Refusal) -> Verdict<'a> {
    let Route::Hybrid { tasks, remote, triggers } = *route else {
        return Verdict::Keep(Why::LocalOnly);
    };
    if refusal.certainty == Certainty::Ambiguous {
        return Verdict::Keep(Why::Ambiguous);
    }
    if !triggers.contains(refusal.trigger) {
        return Verdict::Keep(Why::TriggerOff);
    }
    Verdict::Bridge(Plan { remote, tasks, trigger: Some(refusal.trigger), surface })
}
