//! What is said of all this to those who follow?

use spillway_filters::feed::{Condition, Moment, Snapshot, State, Why};
use spillway_filters::presets::Listens;
use std::collections::BTreeMap;

use super::Machine;
use super::health::Seen;
use super::life::{After, Life};
use super::rest::Phase;

impl Machine {
    /// Everything, at this moment.
    #[must_use]
    pub fn snapshot(&self, now: Moment) -> Snapshot {
        let mut snapshot = self.shown.clone();
        snapshot.engine.ready_in_ms = self.ready_in(now);
        for (name, condition) in &mut snapshot.models {
            condition.ready_in_ms = self.models.ready_in(name, condition.state, now);
        }
        snapshot
    }

    /// Brings what is shown up to date; only a change is a new one.
    pub(super) fn renew(&mut self) {
        let several = self.health.is_well() && self.models.are_listed();
        let list = self.setup.preset.watch.models.as_ref();
        let next = Snapshot {
            seq: self.shown.seq,
            preset: String::new(),
            engine: self.engine(),
            models: BTreeMap::new(),
            gates: list.is_some_and(|list| list.gates),
            unlisted: list.filter(|list| list.gates && several).and_then(|list| list.unlisted),
            running: self.health.running,
            waiting: self.health.waiting,
            restarts: self.history.restarts,
            identity: self.identity.clone(),
        };
        // The two that are long are compared where they are.
        let models = self.models.changed.then(|| self.model_conditions());
        let is_same = models.as_ref().is_none_or(|models| *models == self.shown.models)
            && next.engine == self.shown.engine
            && (next.gates, next.unlisted) == (self.shown.gates, self.shown.unlisted)
            && (next.running, next.waiting, next.restarts)
                == (self.shown.running, self.shown.waiting, self.shown.restarts)
            && next.identity == self.shown.identity;
        if !is_same {
            let models = models.unwrap_or_else(|| std::mem::take(&mut self.shown.models));
            let preset = std::mem::take(&mut self.shown.preset);
            self.shown = Snapshot { seq: self.shown.seq + 1, preset, models, ..next };
        }
        self.date_notices();
    }

    fn model_conditions(&mut self) -> BTreeMap<String, Condition> {
        let mut models = self.models.conditions();
        if let (Some(model), true) = (&self.rest.model, self.rest.phase != Phase::Awake) {
            // Not asleep yet: whoever asks for it now is refused too, also where only a request loads it.
            let on_its_way = Condition { why: Some(self.rest.why), ..Condition::of(State::Draining) };
            models.insert(model.clone(), on_its_way);
        }
        models
    }

    /// Who waits for everybody to know, waits for this snapshot.
    fn date_notices(&mut self) {
        let seq = self.shown.seq;
        if let Phase::Waiting { notice, .. } = &mut self.rest.phase {
            notice.seq.get_or_insert(seq);
        }
        if let Some(drain) = &mut self.drain {
            drain.notice.seq.get_or_insert(seq);
        }
    }

    fn engine(&self) -> Condition {
        let because = |state, why| Condition { why: Some(why), ..Condition::of(state) };
        if self.drain.is_some() {
            return Condition::of(State::Draining);
        }
        if self.rest.is_down() {
            return because(State::Asleep, self.rest.why);
        }
        match (self.life, &self.rest.phase) {
            (Life::Running(_) | Life::Watched, Phase::Waking { .. }) => Condition::of(State::Loading),
            (Life::Running(_), _) => self.of_health(self.coming()),
            // It may be busy: who has nowhere else to go is better let through.
            (Life::Watched, _) if self.health.seen == Seen::Mute => because(State::Unhealthy, Why::Silent),
            (Life::Watched, _) => self.of_health(State::Absent),
            (Life::None | Life::Clearing { after: After::Exit | After::Sleep }, _) => Condition::of(State::Absent),
            (Life::Latched { .. } | Life::Clearing { after: After::Latch { .. } }, _) => {
                because(State::Unhealthy, Why::LoadFailed)
            }
            (Life::Spawning | Life::Waiting { .. } | Life::Clearing { after: After::Restart { .. } }, _) => {
                self.on_its_way(self.coming())
            }
        }
    }

    /// What a process is that cannot be talked to yet.
    const fn coming(&self) -> State {
        match self.setup.preset.watch.listens {
            Listens::First => State::Starting,
            Listens::Loaded => State::Loading,
        }
    }

    fn on_its_way(&self, state: State) -> Condition {
        Condition {
            why: self.history.crashed.then_some(Why::Crashed),
            progress: self.progress.clone().filter(|_| self.life.is_running()),
            ..Condition::of(state)
        }
    }

    /// What the probes say. `unheard`: what it is as long as they say nothing.
    fn of_health(&self, unheard: State) -> Condition {
        match self.health.seen {
            Seen::Nobody | Seen::Mute if unheard == State::Absent => Condition::of(unheard),
            Seen::Nobody | Seen::Mute => self.on_its_way(unheard),
            Seen::Loading => self.on_its_way(State::Loading),
            Seen::Well if self.health.saturated => Condition::of(State::Saturated),
            Seen::Well => Condition::of(State::Ready),
            Seen::Unwell(why) => Condition { why: Some(why), ..Condition::of(State::Unhealthy) },
        }
    }

    /// Milliseconds until the engine is ready, as earlier times took. One that sleeps takes a whole time.
    fn ready_in(&self, now: Moment) -> Option<u64> {
        match (self.shown.engine.state, self.life) {
            (State::Asleep, Life::Running(_) | Life::Watched) if self.wake_call().is_some() => {
                self.wake_times.estimate()
            }
            (State::Asleep, _) => self.cold_times.estimate(),
            (State::Starting | State::Loading, life) => match (life, &self.rest.phase) {
                (_, Phase::Waking { since, .. }) => self.wake_times.left(*since, now),
                (Life::Running(run), _) if !self.health.was_well => self.cold_times.left(run.since, now),
                (Life::Waiting { at } | Life::Clearing { after: After::Restart { at } }, _) => {
                    self.cold_times.estimate().map(|estimate| estimate.saturating_add(at.since(now)))
                }
                (Life::Spawning, _) => self.cold_times.estimate(),
                _ => None,
            },
            _ => None,
        }
    }
}
