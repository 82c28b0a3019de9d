//! When an upstream is left alone: one breaker as a plain state machine (contract section 5). `now` is an argument.

use crate::moment::{Moment, retry_after_s};
use alloc::collections::VecDeque;

/// What the operator set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Consecutive unavailable results that open the breaker, 1 to 1000.
    pub failures: u32,
    /// All of them within this many milliseconds.
    pub window_ms: u64,
    /// How long it stays open, in milliseconds.
    pub cooldown_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { failures: 5, window_ms: 30_000, cooldown_ms: 60_000 }
    }
}

/// How an attempt ended, as the breaker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The upstream answered, whatever it said: it is alive.
    Answered,
    /// Nobody waited for the result: says nothing about the upstream.
    Cancelled,
    /// No answer, or a 5xx of the kind that says it cannot serve.
    Unavailable,
}

/// Whether an admitted attempt is the one probe after a cooldown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The breaker is closed.
    Ordinary,
    /// The breaker is half open, and this is its only probe.
    Probe,
}

/// The breaker of one upstream.
#[derive(Clone, Debug)]
pub struct Breaker {
    settings: Settings,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Closed { failed_at: VecDeque<Moment> },
    Open { until: Moment },
    Probing,
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, state: State::Closed { failed_at: VecDeque::new() } }
    }

    /// Whether `requests` made together may pass now. Changes nothing; [`Breaker::entered`] does.
    ///
    /// # Errors
    /// The breaker is open, or half open with its probe out: the seconds to wait.
    pub fn check(&self, requests: u32, now: Moment) -> Result<Pass, u64> {
        match self.state {
            State::Closed { .. } => Ok(Pass::Ordinary),
            State::Open { until } if now < until => Err(retry_after_s(until.since(now))),
            State::Open { .. } if requests == 1 => Ok(Pass::Probe),
            State::Open { .. } | State::Probing => Err(1),
        }
    }

    /// An attempt with `pass` has started.
    pub fn entered(&mut self, pass: Pass) {
        if pass == Pass::Probe {
            self.state = State::Probing;
        }
    }

    /// An attempt with `pass` has ended. Results of attempts that began before the breaker opened are ignored while it is not closed.
    pub fn settle(&mut self, pass: Pass, outcome: Outcome, now: Moment) {
        match (&mut self.state, pass, outcome) {
            (State::Closed { failed_at }, _, Outcome::Answered) => failed_at.clear(),
            (State::Closed { failed_at }, _, Outcome::Unavailable) => {
                failed_at.push_back(now);
                failed_at.retain(|at| now.since(*at) <= self.settings.window_ms);
                if failed_at.len() >= self.settings.failures as usize {
                    self.open(now);
                }
            }
            (State::Probing, Pass::Probe, Outcome::Answered) => {
                self.state = State::Closed { failed_at: VecDeque::new() }
            }
            (State::Probing, Pass::Probe, Outcome::Unavailable) => self.open(now),
            // The probe's client left: the next attempt is the probe.
            (State::Probing, Pass::Probe, Outcome::Cancelled) => self.state = State::Open { until: now },
            _ => {}
        }
    }

    fn open(&mut self, now: Moment) {
        self.state = State::Open { until: now.plus(self.settings.cooldown_ms) };
    }
}
