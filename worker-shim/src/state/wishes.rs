//! Somebody wants the engine or a model loaded: what is to be done, and what is the answer?

use spillway_filters::feed::{Moment, State, Wish};
use spillway_filters::presets::{Call, Wake};

use super::Machine;
use super::event::{Action, Order, Outcome};
use super::health::Seen;
use super::life::{After, Life};
use super::refused;
use super::rest::Phase;
use crate::asked::Reply;

/// How long a call may take that is answered when the load is over.
pub(super) const LOAD_LIMIT_MS: u64 = 600_000;
/// How long one may take that only begins it.
const BEGIN_LIMIT_MS: u64 = 30_000;

impl Machine {
    /// Whether its models are loaded one by one.
    pub(super) const fn serves_several(&self) -> bool {
        self.setup.preset.watch.models.is_some() || matches!(self.setup.preset.wake, Wake::Call { .. })
    }

    /// Answers a wish to load.
    pub(super) fn load(&mut self, wish: &Wish, now: Moment, actions: &mut Vec<Action>) -> Reply {
        if self.drain.is_some() {
            return refused::draining();
        }
        self.used_at = now;
        let model = wish.model.as_deref().filter(|_| self.serves_several());
        if let Phase::Waiting { .. } = self.rest.phase
            && (self.rest.model.is_none() || self.rest.model.as_deref() == model)
        {
            // Nothing has happened to the engine yet.
            self.rest.awake();
            self.models.changed = true;
        }
        if self.rest.model.is_none() {
            match self.rest.phase {
                Phase::Calling { .. } | Phase::Ending => {
                    return self.later(model, |machine| machine.rest.wake_after = true);
                }
                Phase::Asleep { ended: false } => return self.load_awake(model, now, actions),
                Phase::Waking { .. } => return self.later(model, |_| ()),
                Phase::Asleep { ended: true } => self.rest.awake(),
                Phase::Awake | Phase::Waiting { .. } => {}
            }
        }
        match self.life {
            Life::Latched { until, .. } if now < until => refused::load_failed(until.since(now)),
            Life::None | Life::Latched { .. } => self.later(model, |machine| machine.start_in_time(now, actions)),
            Life::Clearing { after: After::Exit } => refused::draining(),
            Life::Clearing { after: After::Latch { until, .. } } => refused::load_failed(until.since(now)),
            Life::Clearing { .. } | Life::Spawning | Life::Waiting { .. } => self.later(model, |_| ()),
            Life::Running(_) | Life::Watched => self.load_up(model, now, actions),
        }
    }

    /// A wish that is kept until the engine can; `then` sets that going.
    fn later(&mut self, model: Option<&str>, then: impl FnOnce(&mut Self)) -> Reply {
        if model.is_some_and(|model| !self.models.want(model)) {
            return refused::too_many();
        }
        then(self);
        Reply::Begun
    }

    /// The engine sleeps by a call.
    fn load_awake(&mut self, model: Option<&str>, now: Moment, actions: &mut Vec<Action>) -> Reply {
        if let Some(pause) = self.wake_faults.pause_ms(now) {
            return refused::load_failed(pause);
        }
        if self.wake_call().is_some() {
            return self.later(model, |machine| machine.wake(now, actions));
        }
        self.wake(now, actions);
        self.load_up(model, now, actions)
    }

    /// There is an engine, or none that we could start.
    fn load_up(&mut self, model: Option<&str>, now: Moment, actions: &mut Vec<Action>) -> Reply {
        match (self.health.seen, model) {
            (Seen::Well, Some(model)) => self.load_model(model, now, actions),
            (Seen::Well, None) => Reply::Done,
            (Seen::Nobody, _) if self.life == Life::Watched => refused::absent(),
            (Seen::Unwell(_), _) => refused::unhealthy(),
            (Seen::Nobody | Seen::Mute | Seen::Loading, model) => self.later(model, |_| ()),
        }
    }

    fn load_model(&mut self, name: &str, now: Moment, actions: &mut Vec<Action>) -> Reply {
        if self.rest.model.as_deref() == Some(name) {
            return self.later(Some(name), |_| ());
        }
        match self.models.state(name) {
            Some(State::Ready | State::Saturated) => return Reply::Done,
            Some(State::Loading | State::Starting) => return Reply::Begun,
            Some(State::Absent | State::Asleep | State::Draining | State::Unhealthy) | None => {}
        }
        let Wake::Call { call, blocks } = self.setup.preset.wake else { return refused::not_loadable() };
        if let Some(pause) = self.models.pause_ms(name, now) {
            return refused::load_failed(pause);
        }
        if self.models.is_full() {
            return refused::too_many();
        }
        if self.setup.preset.watch.models.is_some() && !self.models.are_listed() {
            // A second load of what is loaded would be a second instance of it (LM Studio): the list comes first.
            return self.later(Some(name), Self::look_now);
        }
        let limit_ms = if blocks { LOAD_LIMIT_MS } else { BEGIN_LIMIT_MS };
        let order = self.order(call, name.to_owned(), limit_ms, actions);
        self.models.begin(name, order, now);
        Reply::Begun
    }

    /// Begins the loads that were wished for while the engine could not.
    pub(super) fn load_wanted(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let is_told = self.setup.preset.watch.models.is_none() || self.models.are_listed();
        if self.drain.is_some() || self.rest.phase != Phase::Awake || !self.health.is_well() || !is_told {
            return;
        }
        for name in self.models.take_wanted() {
            self.load_model(&name, now, actions);
        }
    }

    /// One call to the engine; its number.
    pub(super) fn order(&mut self, call: Call, model: String, limit_ms: u64, actions: &mut Vec<Action>) -> u64 {
        self.orders += 1;
        actions.push(Action::Call(Order { id: self.orders, call, model, limit_ms }));
        self.orders
    }

    /// A call was answered.
    pub(super) fn called(&mut self, order: u64, outcome: Outcome, now: Moment, actions: &mut Vec<Action>) {
        let has_list = self.setup.preset.watch.models.is_some();
        if self.slept(order, outcome, now, actions) || self.woken(order, outcome, now) {
            return;
        }
        if self.models.called(order, outcome, has_list, now) {
            self.used_at = now;
            self.look_now();
        }
    }
}
