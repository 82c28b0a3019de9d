//! When is the engine looked at, and what does a look change?

use spillway_filters::feed::Moment;

use super::Machine;
use super::event::Action;
use super::health::Seen;
use super::life::Life;
use super::rest::Phase;
use crate::probe::{Reach, Sighting};

/// The rounds of probes.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// How many were begun.
    begun: u64,
    /// The last one is out.
    out: bool,
    /// The newest one that is back.
    pub(super) back: u64,
    /// When the next one begins.
    next: Option<Moment>,
}

impl Looks {
    /// The number of the next round.
    pub(super) const fn coming(&self) -> u64 {
        self.begun + 1
    }
}

impl Machine {
    pub(super) const fn look_at(&mut self, at: Moment) {
        self.looks.next = Some(at);
        self.looks.out = false;
    }

    /// Looks at once; what an older round brings is of no use any more.
    pub(super) fn look_now(&mut self) {
        self.look_at(Moment::default());
    }

    pub(super) fn look_due(&self) -> Option<Moment> {
        self.looks.next.filter(|_| self.is_watching() && !self.looks.out)
    }

    /// Whether there is anything to see.
    const fn is_watching(&self) -> bool {
        match self.life {
            Life::Watched => true,
            Life::Running(_) => !self.life.is_stopping(),
            _ => false,
        }
    }

    pub(super) fn look_on(&mut self, now: Moment, actions: &mut Vec<Action>) {
        if self.look_due().is_some_and(|at| at <= now) {
            self.looks.begun += 1;
            self.looks.out = true;
            actions.push(Action::Look { round: self.looks.begun, queue: self.wants_queue() });
        }
    }

    /// Whether the engine is asked what it has to do. Where that is work for it, only if somebody acts on it, and never in its sleep.
    fn wants_queue(&self) -> bool {
        let is_waited_for = self.drain.is_some() || matches!(self.rest.phase, Phase::Waiting { .. });
        let counts = self.setup.max_waiting.is_some() || self.setup.idle_sleep_ms.is_some();
        let matters = (is_waited_for || counts) && self.health.asleep != Some(true);
        self.setup.preset.watch.queue.is_some_and(|queue| !queue.wakes || matters)
    }

    pub(super) fn looked(&mut self, round: u64, sighting: &Sighting, now: Moment, actions: &mut Vec<Action>) {
        if !self.looks.out || round != self.looks.begun || !self.is_watching() {
            return;
        }
        self.looks.back = round;
        let was_well = self.health.was_well;
        let owned = self.life.is_running();
        self.health.take(sighting, &self.setup.preset.watch, owned, self.setup.max_waiting);
        match (was_well, self.health.was_well) {
            (false, true) => self.is_up(now),
            (true, false) => self.is_gone(now),
            // A command may start its engine anew by itself. Silence alone is a busy engine.
            (true, true) if !self.health.is_well() && sighting.reach != Reach::Silent => self.forget_identity(),
            _ => {}
        }
        if self.health.is_well() && std::mem::take(&mut self.is_unseen) {
            actions.push(Action::Identify(self.lives));
        }
        if !self.health.is_idle() {
            self.used_at = now;
        }
        self.list(sighting, now);
        self.see_sleep(now);
        self.look_at(now.plus(self.interval_ms()));
    }

    fn list(&mut self, sighting: &Sighting, now: Moment) {
        match &sighting.models {
            _ if self.drain.is_some() => {}
            Some(models) => self.models.list(models, now),
            None if self.health.is_well() && self.setup.preset.watch.models.is_some() => self.models.not_listed(now),
            None => {}
        }
    }

    /// It is well for the first time in this life.
    fn is_up(&mut self, now: Moment) {
        self.used_at = now;
        self.history.crashed = false;
        if let Life::Running(run) = &mut self.life {
            run.well = Some(now);
            self.cold_times.learn(now.since(run.since));
        }
    }

    /// A watched engine has ended.
    fn is_gone(&mut self, now: Moment) {
        self.models.engine_ended(false, now);
        self.models.drop_wanted();
        self.rest.awake();
        // The next one may have it.
        self.rest.is_call_missing = false;
        self.begin_life();
    }

    /// Eager while something is expected to change, at the preset's pace otherwise.
    fn interval_ms(&self) -> u64 {
        let watch = &self.setup.preset.watch;
        let comes = match self.health.seen {
            Seen::Nobody => self.life.is_running(),
            Seen::Mute | Seen::Loading => true,
            Seen::Well => self.health.silent == 0 && (self.health.saturated || self.models.are_loading()),
            Seen::Unwell(_) => false,
        };
        let waits = matches!(self.rest.phase, Phase::Waiting { .. } | Phase::Waking { .. }) || self.drain.is_some();
        if comes || waits { watch.eager_ms } else { watch.every_ms }
    }
}
