//! Which refusals may bridge, and which do so by default.

/// Why the engine refused before it accepted the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The engine is still starting.
    Provisioning,
    /// The engine is up, the model is not loaded.
    ModelLoading,
    /// The queue is full. Opt-in.
    Saturated,
    /// The engine is down or the model cannot be loaded. Opt-in.
    Unhealthy,
}

impl Trigger {
    /// Every trigger, in the contract's order.
    pub const ALL: [Self; 4] = [Self::Provisioning, Self::ModelLoading, Self::Saturated, Self::Unhealthy];

    /// The token of configuration and of `X-SIE-Fallback-Reason`.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::ModelLoading => "model_loading",
            Self::Saturated => "saturated",
            Self::Unhealthy => "unhealthy",
        }
    }

    /// The trigger that a token names.
    #[must_use]
    pub fn from_token(token: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.token() == token)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The triggers a model has switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerSet(u8);

impl TriggerSet {
    /// No trigger is on.
    pub const EMPTY: Self = Self(0);

    /// This set and `trigger`.
    #[must_use]
    pub const fn with(self, trigger: Trigger) -> Self {
        Self(self.0 | trigger.bit())
    }

    /// Whether `trigger` is on.
    #[must_use]
    pub const fn contains(self, trigger: Trigger) -> bool {
        self.0 & trigger.bit() != 0
    }
}

impl Default for TriggerSet {
    /// `provisioning` and `model_loading`: the refusals that say nothing is wrong, only not yet.
    fn default() -> Self {
        Self::EMPTY.with(Trigger::Provisioning).with(Trigger::ModelLoading)
    }
}
