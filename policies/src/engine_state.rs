//! Which states can an engine or one of its models be in, and which refusal does each one mean?

use crate::Trigger;

/// What an engine, or one model of an engine that serves several, is doing now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No process, or a model that the engine has not loaded.
    Absent,
    /// The process runs and does not answer yet.
    Starting,
    /// Weights are on their way.
    Loading,
    /// It takes requests.
    Ready,
    /// It takes requests and has more than enough of them.
    Saturated,
    /// It was ready and is not well, or it cannot be loaded.
    Unhealthy,
    /// It finishes what it has and takes nothing new.
    Draining,
    /// It gave its memory back on purpose and can be woken.
    Asleep,
}

impl State {
    /// Every state, in the order of a life.
    pub const ALL: [Self; 8] = [
        Self::Absent,
        Self::Starting,
        Self::Loading,
        Self::Ready,
        Self::Saturated,
        Self::Unhealthy,
        Self::Draining,
        Self::Asleep,
    ];

    /// The token of the state feed.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Starting => "starting",
            Self::Loading => "loading",
            Self::Ready => "ready",
            Self::Saturated => "saturated",
            Self::Unhealthy => "unhealthy",
            Self::Draining => "draining",
            Self::Asleep => "asleep",
        }
    }

    /// The state that a token names.
    #[must_use]
    pub fn from_token(token: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.token() == token)
    }

    /// Why an engine in this state would refuse; none: it takes requests (product section 8).
    #[must_use]
    pub const fn trigger(self) -> Option<Trigger> {
        match self {
            Self::Ready => None,
            Self::Absent | Self::Starting => Some(Trigger::Provisioning),
            // What sleeps is loaded again, by the wish that follows the refusal.
            Self::Loading | Self::Asleep => Some(Trigger::ModelLoading),
            Self::Saturated => Some(Trigger::Saturated),
            Self::Unhealthy | Self::Draining => Some(Trigger::Unhealthy),
        }
    }

    /// Why a model in this state would be refused by an engine that runs: one that is not loaded is a load away, not a start.
    #[must_use]
    pub const fn model_trigger(self) -> Option<Trigger> {
        match self {
            Self::Absent | Self::Starting => Some(Trigger::ModelLoading),
            other => other.trigger(),
        }
    }

    /// Whether only a wish to load gets it out of this state.
    #[must_use]
    pub const fn waits_for_a_wish(self) -> bool {
        matches!(self, Self::Absent | Self::Asleep | Self::Unhealthy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_lead_back_to_their_states() {
        for state in State::ALL {
            assert_eq!(State::from_token(state.token()), Some(state));
        }
        assert_eq!(State::from_token("READY"), None);
    }

    #[test]
    fn only_what_takes_requests_has_no_trigger() {
        let free: std::vec::Vec<_> = State::ALL.into_iter().filter(|state| state.trigger().is_none()).collect();
        assert_eq!(free, [State::Ready]);
        assert_eq!(State::Absent.trigger(), Some(Trigger::Provisioning));
        assert_eq!(State::Absent.model_trigger(), Some(Trigger::ModelLoading));
        assert_eq!(State::Draining.model_trigger(), Some(Trigger::Unhealthy));
    }
}
