//! What are the models of an engine that serves several, and which loads are under way?

mod list;

use spillway_filters::feed::{Condition, Moment, State, Why};
use spillway_filters::presets::ModelList;
use std::collections::{BTreeMap, BTreeSet};

use super::event::Outcome;
use crate::backoff::Faults;
use crate::bounded::Bounded;
use crate::load_times::LoadTimes;

/// So many loads are under way or wished for at once; more is no use of an engine that anybody has.
const MOST_LOADS: usize = 64;
/// How many failures are remembered: names that do not exist are failures too, and anybody may send them.
const MOST_FAULTS: usize = 256;
/// How many models' load times are remembered: more than engines list, and a few megabytes at worst.
const MOST_TIMES: usize = 10_000;
/// How many models' other names are remembered: anybody may think of one.
const MOST_ALIASES: usize = 256;
/// For so many looks after a call was answered the list may still say what was before it.
const LATE_LOOKS: u32 = 5;

/// Everything about models.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// The list names models without their states, and each as soon as its load has begun: then the answer to our call says when it is done.
    is_stateless: bool,
    /// The list has only what is loaded.
    lists_loaded: bool,
    /// What the engine lists; none: not told yet.
    listed: Option<BTreeMap<String, Listed>>,
    loads: BTreeMap<String, Load>,
    /// Wished for, and to be begun when the engine can.
    wanted: BTreeSet<String>,
    /// Loaded, as the engine's answer to our call said, and on no list since: it lists them under another name.
    aliases: BTreeSet<String>,
    /// Put to sleep by us, and why, with the looks for which the list may still say that they are loaded.
    naps: BTreeMap<String, (Why, u32)>,
    faults: Bounded<Faults, MOST_FAULTS>,
    times: Bounded<LoadTimes, MOST_TIMES>,
    /// Looks in a row that brought no list.
    missed: u32,
    /// Something changed since [`Models::conditions`] was asked for.
    pub(super) changed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    state: State,
    failed: bool,
    since: Moment,
}

/// One load that we began.
#[derive(Clone, Copy, Debug)]
struct Load {
    since: Moment,
    /// The call, until it is answered.
    order: Option<u64>,
    seen_loading: bool,
    looks: u32,
}

impl Models {
    /// No model is known yet.
    pub(super) fn new(list: Option<&ModelList>) -> Self {
        let (is_stateless, lists_loaded) =
            list.map_or((false, false), |list| (list.state.is_empty(), list.unlisted.is_some()));
        Self { is_stateless, lists_loaded, ..Self::default() }
    }

    pub(super) const fn are_listed(&self) -> bool {
        self.listed.is_some()
    }

    /// What a model is, as far as we know; none: the list does not say.
    pub(super) fn state(&self, name: &str) -> Option<State> {
        self.known(name).map(|condition| condition.state)
    }

    fn known(&self, name: &str) -> Option<Condition> {
        let listed = self.listed.as_ref().and_then(|listed| listed.get(name));
        let ready = listed.is_some_and(|listed| matches!(listed.state, State::Ready | State::Saturated));
        let because = |state, why| Condition { why: Some(why), ..Condition::of(state) };
        if let Some((why, _)) = self.naps.get(name) {
            return Some(because(State::Asleep, *why));
        }
        let loads = self.loads.get(name).is_some_and(|load| !ready || (self.is_stateless && load.order.is_some()));
        if loads || self.wanted.contains(name) {
            return Some(Condition::of(State::Loading));
        }
        if listed.is_none() && self.aliases.contains(name) {
            return Some(Condition::of(State::Ready));
        }
        match listed {
            Some(listed) if listed.failed => Some(because(State::Unhealthy, Why::LoadFailed)),
            Some(listed) if listed.state != State::Absent => Some(Condition::of(listed.state)),
            _ if self.faults.get(name).is_some_and(Faults::any) => Some(because(State::Unhealthy, Why::LoadFailed)),
            listed => listed.map(|listed| Condition::of(listed.state)),
        }
    }

    /// Every model of which something is known.
    pub(super) fn conditions(&mut self) -> BTreeMap<String, Condition> {
        self.changed = false;
        let faulty = self.faults.iter().filter(|(_, faults)| faults.any()).map(|(name, _)| name);
        let listed = self.listed.iter().flat_map(BTreeMap::keys);
        let ours = self.loads.keys().chain(&self.wanted).chain(self.naps.keys()).chain(&self.aliases);
        let names: BTreeSet<&String> = faulty.chain(listed).chain(ours).collect();
        names.into_iter().filter_map(|name| Some((name.clone(), self.known(name)?))).collect()
    }

    /// Milliseconds until a model in this state is ready; one that nobody loads takes a whole load.
    pub(super) fn ready_in(&self, name: &str, state: State, now: Moment) -> Option<u64> {
        let times = self.times.get(name)?;
        let listed = self.listed.as_ref().and_then(|listed| listed.get(name));
        match (state, self.loads.get(name), listed) {
            (State::Loading | State::Starting, Some(load), _) => times.left(load.since, now),
            (State::Loading | State::Starting, None, Some(listed)) => times.left(listed.since, now),
            (State::Absent | State::Asleep | State::Loading | State::Starting, ..) => times.estimate(),
            _ => None,
        }
    }

    /// Whether a load is under way, ours or the engine's own.
    pub(super) fn are_loading(&self) -> bool {
        let listed = || self.listed.iter().flat_map(BTreeMap::values).any(|listed| listed.state == State::Loading);
        !self.loads.is_empty() || !self.wanted.is_empty() || listed()
    }

    /// The models that hold memory.
    pub(super) fn loaded(&self) -> Vec<String> {
        let loaded = |(name, listed): (&String, &Listed)| {
            let awake = matches!(listed.state, State::Ready | State::Saturated) && !self.naps.contains_key(name);
            awake.then(|| name.clone())
        };
        self.listed.iter().flatten().filter_map(loaded).collect()
    }

    /// Whether it is loaded under another name.
    pub(super) fn is_alias(&self, name: &str) -> bool {
        self.aliases.contains(name)
    }

    /// Remembers a wish for later; false: there are too many.
    pub(super) fn want(&mut self, name: &str) -> bool {
        let known = self.wanted.contains(name);
        if !known && self.is_full() {
            return false;
        }
        self.naps.remove(name);
        self.changed |= self.wanted.insert(name.to_owned());
        true
    }

    /// Whether no more loads may begin.
    pub(super) fn is_full(&self) -> bool {
        self.loads.len() + self.wanted.len() >= MOST_LOADS
    }

    pub(super) fn take_wanted(&mut self) -> BTreeSet<String> {
        self.changed |= !self.wanted.is_empty();
        std::mem::take(&mut self.wanted)
    }

    /// A wish is taken back; without a name, all are.
    pub(super) fn unwant(&mut self, name: Option<&str>) {
        match name {
            Some(name) => self.changed |= self.wanted.remove(name),
            None => self.drop_wanted(),
        }
    }

    pub(super) fn drop_wanted(&mut self) {
        self.take_wanted();
    }

    /// Milliseconds for which no load of this model is tried.
    pub(super) fn pause_ms(&self, name: &str, now: Moment) -> Option<u64> {
        self.faults.get(name)?.pause_ms(now)
    }

    /// Forgets failures that are old.
    pub(super) fn forget(&mut self, now: Moment) {
        self.changed |= self.faults.retain(|faults| now < faults.forgotten_at());
    }

    /// When the first failure is to be forgotten.
    pub(super) fn due(&self) -> Option<Moment> {
        self.faults.iter().map(|(_, faults)| faults.forgotten_at()).min()
    }

    /// Our call for a load is out.
    pub(super) fn begin(&mut self, name: &str, order: u64, now: Moment) {
        self.changed = true;
        self.naps.remove(name);
        self.loads.insert(name.to_owned(), Load { since: now, order: Some(order), seen_loading: false, looks: 0 });
    }

    /// The answer to a load of ours; false: it is to none.
    pub(super) fn called(&mut self, order: u64, outcome: Outcome, has_list: bool, now: Moment) -> bool {
        let Some((name, load)) = self.loads.iter_mut().find(|(_, load)| load.order == Some(order)) else {
            return false;
        };
        load.order = None;
        let name = name.clone();
        if outcome != Outcome::Done {
            self.fail(&name, now);
        } else if !has_list {
            self.succeed(&name, now);
        }
        true
    }

    fn fail(&mut self, name: &str, now: Moment) {
        self.changed = true;
        self.loads.remove(name);
        self.faults.entry(name).count(now);
    }

    fn succeed(&mut self, name: &str, now: Moment) {
        self.changed = true;
        if let Some(load) = self.loads.remove(name) {
            self.times.entry(name).learn(now.since(load.since));
        }
        self.faults.remove(name);
    }

    /// A model sleeps because we unloaded it.
    pub(super) fn nap(&mut self, name: &str, why: Why) {
        self.changed = true;
        self.naps.insert(name.to_owned(), (why, LATE_LOOKS));
    }

    /// The engine is gone, and with it everything that it had loaded. `failed`: by itself, so that a load under way may be why.
    pub(super) fn engine_ended(&mut self, failed: bool, now: Moment) {
        self.changed = true;
        self.listed = None;
        self.naps.clear();
        self.aliases.clear();
        for name in std::mem::take(&mut self.loads).into_keys() {
            if failed {
                self.faults.entry(&name).count(now);
            }
        }
    }
}
