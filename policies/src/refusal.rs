//! What a refusal means. Its wire form belongs to `filters`.

use crate::Trigger;

/// The engine said "not now" and has not accepted the work, as far as the recogniser can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub trigger: Trigger,
    /// How sure the recogniser is that the engine did no work.
    pub certainty: Certainty,
}

impl Refusal {
    /// A refusal that certainly came before acceptance.
    #[must_use]
    pub const fn certain(trigger: Trigger) -> Self {
        Self { trigger, certainty: Certainty::Certain }
    }
}

/// Whether the engine may have done some of the work before it refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It may have: such a refusal is disclosed in the log and never bridged.
    Ambiguous,
    /// It certainly did nothing.
    Certain,
}
