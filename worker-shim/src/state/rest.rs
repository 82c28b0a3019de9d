//! How is the engine put to sleep without a request being lost?
//!
//! On the way down it is first *said* to sleep, so that whoever follows the feed refuses from that; then everybody's requests are waited
//! for; only then does anything happen to the engine. What does not come to rest in time is left alone.

use nix::sys::signal::Signal;
use spillway_filters::feed::{Activity, Moment, State, Why, Wish};
use spillway_filters::presets::Sleep;

use super::event::{Action, Outcome};
use super::health::Seen;
use super::life::{After, Life};
use super::{Machine, Notice, refused};
use crate::asked::Reply;
use crate::backoff::Faults;
use std::collections::BTreeMap;

/// How long followers have at least to say that they know. Of an idle engine that is enough.
const NOTICE_MS: u64 = 5_000;
/// How long a call that frees memory may take: what is moved to main memory is many gigabytes.
const SLEEP_LIMIT_MS: u64 = 120_000;

/// Whether the engine, or one of its models, sleeps or is on its way.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) phase: Phase,
    pub(super) why: Why,
    /// The one model that is meant; none: the engine. Nobody tells which model a request is for, so the requests of all are waited for.
    pub(super) model: Option<String>,
    /// Somebody wants it back while it is on its way down.
    pub(super) wake_after: bool,
    /// The engine has no call to sleep after all.
    pub(super) is_call_missing: bool,
    /// Of the calls that put this life of the engine to sleep.
    pub(super) faults: Faults,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Awake,
    /// It is said to sleep, and requests are waited for.
    Waiting {
        until: Moment,
        notice: Notice,
    },
    /// The calls are out, each for a model, or for all of the engine without a name. Everybody acts on the snapshot `told`.
    Calling {
        orders: BTreeMap<u64, String>,
        /// What each of them came to that was answered, and for which model.
        ended: Vec<(String, Outcome)>,
        told: Option<u64>,
    },
    /// The process was told to end.
    Ending,
    /// It sleeps: its process has ended, or a call did it.
    Asleep {
        ended: bool,
    },
    /// The call is out, or was answered: then it is to be well by `until`.
    Waking {
        order: Option<u64>,
        since: Moment,
        until: Moment,
    },
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            phase: Phase::Awake,
            why: Why::Asked,
            model: None,
            wake_after: false,
            is_call_missing: false,
            faults: Faults::default(),
        }
    }
}

impl Rest {
    /// Whether the whole engine sleeps or is on its way down.
    pub(super) const fn is_down(&self) -> bool {
        self.model.is_none() && !matches!(self.phase, Phase::Awake | Phase::Waking { .. })
    }

    pub(super) fn awake(&mut self) {
        self.phase = Phase::Awake;
        self.model = None;
        self.wake_after = false;
    }
}

impl Machine {
    /// Answers a wish to sleep.
    pub(super) fn sleep(&mut self, wish: &Wish, now: Moment) -> Reply {
        if self.drain.is_some() {
            return refused::draining();
        }
        let model = wish.model.as_deref().filter(|_| self.serves_several());
        let is_same = self.rest.model.as_deref() == model;
        match &mut self.rest.phase {
            Phase::Waiting { until, .. } if is_same && self.rest.why == Why::Idle => {
                (*until, self.rest.why) = (now.plus(self.setup.drain_ms.max(NOTICE_MS)), Why::Asked);
                return Reply::Begun;
            }
            Phase::Waiting { .. } | Phase::Calling { .. } | Phase::Ending if is_same => {
                self.rest.wake_after = false;
                self.models.unwant(model);
                return Reply::Begun;
            }
            Phase::Asleep { .. } => return Reply::Done,
            Phase::Awake => {}
            Phase::Waiting { .. } | Phase::Calling { .. } | Phase::Ending | Phase::Waking { .. } => {
                return refused::busy();
            }
        }
        match model {
            Some(model) => self.sleep_model(model, now),
            None => self.sleep_engine(now),
        }
    }

    fn sleep_model(&mut self, model: &str, now: Moment) -> Reply {
        if !self.setup.preset.sleep.is_some_and(|sleep| sleep.per_model) {
            return refused::no_sleep_of_a_model();
        }
        if self.health.seen == Seen::Nobody {
            return refused::absent();
        }
        if !self.health.is_well() {
            return refused::unhealthy();
        }
        if matches!(self.models.state(model), Some(State::Loading | State::Starting)) {
            return refused::busy();
        }
        let is_loaded = self.models.is_alias(model) || self.models.loaded().iter().any(|loaded| loaded == model);
        if self.models.are_listed() && !is_loaded {
            return Reply::Done;
        }
        self.announce(Why::Asked, Some(model.to_owned()), now);
        Reply::Begun
    }

    fn sleep_engine(&mut self, now: Moment) -> Reply {
        match self.life {
            // It holds nothing, and why is still to be seen. It is not tried by itself any more.
            Life::Latched { until, .. } => {
                self.life = Life::Latched { until, retry: false };
                return Reply::Done;
            }
            Life::Clearing { after: After::Latch { until, .. } } => {
                self.life = Life::Clearing { after: After::Latch { until, retry: false } };
                return Reply::Begun;
            }
            Life::None | Life::Waiting { .. } => {
                self.life = Life::None;
                self.models.drop_wanted();
                self.rest.why = Why::Asked;
                self.rest.phase = Phase::Asleep { ended: true };
                return Reply::Done;
            }
            Life::Clearing { after: After::Exit } => return refused::draining(),
            Life::Clearing { .. } => {
                self.life = Life::Clearing { after: After::Sleep };
                self.models.drop_wanted();
                self.rest.why = Why::Asked;
                self.rest.phase = Phase::Ending;
                return Reply::Begun;
            }
            Life::Watched if self.sleep_call().is_none() => return refused::no_sleep(),
            Life::Watched if self.health.seen == Seen::Nobody => return refused::absent(),
            Life::Watched if !self.health.is_well() => return refused::unhealthy(),
            Life::Watched | Life::Spawning | Life::Running(_) => {}
        }
        // What is being loaded would come up in the engine's sleep; in one that is not well it may hang, and ends with it.
        if self.health.is_well() && self.models.are_loading() {
            return refused::busy();
        }
        self.models.drop_wanted();
        let per_model = self.sleep_call().is_some_and(|sleep| sleep.per_model);
        if per_model && self.models.are_listed() && self.models.loaded().is_empty() {
            return Reply::Done;
        }
        self.announce(Why::Asked, None, now);
        Reply::Begun
    }

    /// Says that it sleeps, before it does.
    fn announce(&mut self, why: Why, model: Option<String>, now: Moment) {
        self.look_now();
        let notice = self.notice();
        let limit_ms = if why == Why::Idle { NOTICE_MS } else { self.setup.drain_ms.max(NOTICE_MS) };
        self.rest.phase = Phase::Waiting { until: now.plus(limit_ms), notice };
        (self.rest.why, self.rest.model) = (why, model);
        self.models.changed = true;
    }

    /// When an engine that nobody uses is put to sleep; none: it is used, nobody can tell, or it never is.
    pub(super) fn idle_at(&self) -> Option<Moment> {
        let idle_ms = self.setup.idle_sleep_ms?;
        let is_up = self.drain.is_none() && self.rest.phase == Phase::Awake && self.health.is_well();
        // Somebody must tell: silence of those who do not know is no rest.
        let is_told = !self.subscribers.are_none() || self.health.running.is_some();
        let is_quiet = self.health.is_idle() && self.subscribers.are_quiet(0) && !self.models.are_loading();
        let per_model = self.sleep_call().is_some_and(|sleep| sleep.per_model);
        let has_way = self.life.is_running() || self.sleep_call().is_some();
        let has_memory = !per_model || !self.models.loaded().is_empty();
        (is_up && is_told && is_quiet && has_way && has_memory)
            .then(|| self.used_at.plus(idle_ms).max(self.rest.faults.until()))
    }

    pub(super) fn doze(&mut self, now: Moment) {
        if self.idle_at().is_some_and(|at| at <= now) {
            self.announce(Why::Idle, None, now);
        }
    }

    /// Goes down when everybody is quiet, and gives up when that takes too long.
    pub(super) fn rest_on(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let Phase::Waiting { until, notice } = self.rest.phase else { return };
        if self.is_quiet(notice, now) {
            self.go_down(notice, now, actions);
        } else if until <= now {
            self.stay_up(now);
        }
    }

    /// Nobody asked for a sleep that only idleness brought: a request that was under way then ends it, and callers are not refused meanwhile.
    pub(super) fn stay_up_for(&mut self, activity: &Activity, now: Moment) {
        let is_idle_sleep = self.rest.why == Why::Idle && matches!(self.rest.phase, Phase::Waiting { .. });
        if is_idle_sleep && activity.in_flight > 0 {
            self.stay_up(now);
        }
    }

    pub(super) fn stay_up(&mut self, now: Moment) {
        self.rest.awake();
        self.models.changed = true;
        self.used_at = now;
    }

    fn sleep_call(&self) -> Option<Sleep> {
        self.setup.preset.sleep.filter(|_| !self.rest.is_call_missing)
    }

    fn go_down(&mut self, notice: Notice, now: Moment, actions: &mut Vec<Action>) {
        // An engine that is not well, or does not tell what it has loaded, cannot be trusted with a call.
        let can = |sleep: &Sleep| self.health.is_well() && (!sleep.per_model || self.models.are_listed());
        let Some(sleep) = self.sleep_call().filter(can) else {
            return self.end_to_sleep(now, actions);
        };
        let names = match &self.rest.model {
            Some(model) => vec![model.clone()],
            None if sleep.per_model => self.models.loaded(),
            None => vec![String::new()],
        };
        let order = |name: String| (self.order(sleep.sleep, name.clone(), SLEEP_LIMIT_MS, actions), name);
        let orders: BTreeMap<u64, String> = names.into_iter().map(order).collect();
        if orders.is_empty() {
            self.stay_up(now);
        } else {
            self.rest.phase = Phase::Calling { orders, ended: Vec::new(), told: notice.seq };
        }
    }

    fn end_to_sleep(&mut self, now: Moment, actions: &mut Vec<Action>) {
        if self.life.is_running() && self.rest.model.is_none() {
            self.rest.phase = Phase::Ending;
            self.stop(Signal::SIGTERM, now, actions);
        } else {
            self.stay_up(now);
        }
    }

    /// The answer to a call that puts to sleep; false: it is to none.
    pub(super) fn slept(&mut self, order: u64, outcome: Outcome, now: Moment, actions: &mut Vec<Action>) -> bool {
        let Phase::Calling { orders, ended, told } = &mut self.rest.phase else { return false };
        let Some(name) = orders.remove(&order) else { return false };
        ended.push((name, outcome));
        if !orders.is_empty() {
            return true;
        }
        let (told, ended) = (*told, std::mem::take(ended));
        let named = |wanted: Outcome| ended.iter().filter(move |(_, outcome)| *outcome == wanted).map(|(name, _)| name);
        // Of one model, "not found" says that the model is gone, and nothing of the call.
        let is_missing = named(Outcome::Missing).any(String::is_empty);
        if ended.iter().all(|(_, outcome)| *outcome == Outcome::Done) {
            self.rest.faults = Faults::default();
        } else {
            self.rest.faults.count(now);
        }
        if named(Outcome::Done).next().is_some() {
            self.fell_asleep(named(Outcome::Done), now, actions);
        } else if is_missing {
            self.rest.is_call_missing = true;
            // The process is ended instead, and who came meanwhile may have brought requests. The others know already.
            self.announce(self.rest.why, None, now);
            if let Phase::Waiting { notice, .. } = &mut self.rest.phase {
                notice.seq = told;
            }
        } else {
            self.stay_up(now);
        }
        true
    }

    /// What was called has done it, for these models.
    fn fell_asleep<'a>(&mut self, names: impl Iterator<Item = &'a String>, now: Moment, actions: &mut Vec<Action>) {
        self.look_now();
        if self.sleep_call().is_some_and(|sleep| sleep.per_model) {
            // What sleeps are the models: the engine takes requests, and loads what they are for.
            names.for_each(|model| self.models.nap(model, self.rest.why));
            return self.stay_up(now);
        }
        self.rest.phase = Phase::Asleep { ended: false };
        if self.rest.wake_after {
            self.wake(now, actions);
        }
    }
}
