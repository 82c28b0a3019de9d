//! How does what a call put to sleep wake again?

use spillway_filters::feed::{Moment, Why};
use spillway_filters::presets::{Call, Wake};

use super::Machine;
use super::event::{Action, Outcome};
use super::rest::Phase;
use super::wishes::LOAD_LIMIT_MS;
use crate::backoff::Faults;

/// How long after the call was answered the engine may be anything but well; until then it is said to load.
const WELL_LIMIT_MS: u64 = 60_000;

impl Machine {
    /// The call that wakes the engine; none: it needs none.
    pub(super) fn wake_call(&self) -> Option<Call> {
        let sleep = self.setup.preset.sleep.filter(|sleep| !sleep.per_model)?;
        sleep.wake.or(match self.setup.preset.wake {
            Wake::Call { call, .. } => Some(call),
            Wake::ByRefusal | Wake::None => None,
        })
    }

    /// Wakes what a call put to sleep.
    pub(super) fn wake(&mut self, now: Moment, actions: &mut Vec<Action>) {
        self.rest.awake();
        self.used_at = now;
        if let Some(call) = self.wake_call() {
            let order = self.order(call, String::new(), LOAD_LIMIT_MS, actions);
            self.rest.phase = Phase::Waking { order: Some(order), since: now, until: now };
        }
    }

    /// The answer to a call that wakes; false: it is to none.
    pub(super) fn woken(&mut self, id: u64, outcome: Outcome, now: Moment) -> bool {
        let Phase::Waking { order, until, .. } = &mut self.rest.phase else { return false };
        if *order != Some(id) {
            return false;
        }
        (*order, *until) = (None, now.plus(WELL_LIMIT_MS));
        self.look_now();
        if outcome != Outcome::Done {
            self.not_woken(now);
        }
        true
    }

    fn not_woken(&mut self, now: Moment) {
        self.wake_faults.count(now);
        self.models.drop_wanted();
        (self.rest.phase, self.rest.why) = (Phase::Asleep { ended: false }, Why::LoadFailed);
    }

    /// What a look says of an engine's sleep.
    pub(super) fn see_sleep(&mut self, now: Moment) {
        // A look without an answer tells of the last one, which was before.
        let heard = self.health.silent == 0;
        let asleep = self.health.asleep.filter(|_| heard);
        match self.rest.phase {
            Phase::Waking { order: None, .. } if asleep == Some(true) => self.not_woken(now),
            Phase::Waking { order: None, since, .. } if heard && self.health.is_well() => {
                self.wake_times.learn(now.since(since));
                self.wake_faults = Faults::default();
                self.rest.awake();
                self.used_at = now;
            }
            // What is wrong with it is told as it is.
            Phase::Waking { order: None, until, .. } if until <= now => {
                self.wake_faults.count(now);
                self.models.drop_wanted();
                self.rest.awake();
            }
            // Somebody else woke it.
            Phase::Asleep { ended: false } if asleep == Some(false) && self.wake_call().is_some() => self.stay_up(now),
            Phase::Asleep { ended: false } if self.wake_call().is_none() && !self.models.loaded().is_empty() => {
                self.stay_up(now);
            }
            // It sleeps by itself. Where no call wakes it, a request does, so that it is as good as ready.
            Phase::Awake if asleep == Some(true) && self.wake_call().is_some() => {
                (self.rest.phase, self.rest.why) = (Phase::Asleep { ended: false }, Why::Health);
            }
            _ => {}
        }
    }
}
