//! What state is the engine in, and what is to be done about it?
//!
//! One pure machine: no clock, no process, no socket. [`Machine::on`] takes in what has happened and says what is to be done;
//! [`Machine::snapshot`] is what the world is told. Every decision of the shim is made here, so that tables can test it.
//!
//! `life` is the engine's process, `health` what its probes say, `looks` when they ask, `models` what it has loaded, `wishes` how
//! it is made to load, `rest` how it sleeps, `wake` how it wakes, `drain` how all of it ends, `subscribers` who must have been told before.

mod drain;
mod event;
mod health;
mod life;
mod looks;
mod models;
mod refused;
mod rest;
mod shown;
mod subscribers;
mod wake;
mod wishes;

pub use event::{Action, Event, Exit, Order, Outcome, SpawnFault};

use spillway_filters::feed::{Identity, Moment, Snapshot, State};
use spillway_filters::presets::Preset;
use std::time::Duration;

use crate::backoff::Faults;
use crate::config::Config;
use crate::load_times::LoadTimes;

/// What the machine has to know beforehand. Times are milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Which engine it is.
    pub preset: &'static Preset,
    /// Whether its process is ours to start and to end.
    pub owned: bool,
    /// After how long without a request it sleeps; none: never by itself.
    pub idle_sleep_ms: Option<u64>,
    /// How many waiting requests make it saturated; none: it never is.
    pub max_waiting: Option<u64>,
    /// How long requests in flight may take when it is to end or to sleep.
    pub drain_ms: u64,
    /// How long it may take to end after its signal.
    pub stop_ms: u64,
}

impl From<&Config> for Setup {
    fn from(config: &Config) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            preset: config.preset,
            owned: !config.command.is_empty(),
            idle_sleep_ms: config.idle_sleep.map(millis),
            max_waiting: config.max_waiting,
            drain_ms: millis(config.drain),
            stop_ms: millis(config.stop),
        }
    }
}

/// The state of one engine.
#[derive(Debug)]
pub struct Machine {
    setup: Setup,
    life: life::Life,
    history: life::History,
    health: health::Health,
    looks: looks::Looks,
    models: models::Models,
    rest: rest::Rest,
    drain: Option<drain::Drain>,
    subscribers: subscribers::Subscribers,
    /// When it was used last.
    used_at: Moment,
    /// From the start of its process until it is ready.
    cold_times: LoadTimes,
    /// From the call that wakes it.
    wake_times: LoadTimes,
    wake_faults: Faults,
    progress: Option<String>,
    identity: Option<Identity>,
    /// Who listens has not been observed yet.
    is_unseen: bool,
    /// Counts the lives of the engine, so that what belongs to an earlier one is not taken for this one.
    lives: u64,
    /// Counts the calls.
    orders: u64,
    /// What the world was told last.
    shown: Snapshot,
    over: bool,
}

/// When the engine's process is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Not before this.
    pub at: Moment,
    /// It failed too often, and is left alone until then.
    pub latched: bool,
}

/// How long after the shim's start whoever followed an earlier one may need to come back, with requests that only it knows of: a sidecar whose
/// stream has ended asks again within a second.
const COME_BACK_MS: u64 = 1_500;

/// Since when everybody is to know something, and which look saw the engine's queue after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Notice {
    /// The snapshot that tells it; none: it has not been made yet.
    seq: Option<u64>,
    round: u64,
}

impl Machine {
    /// A machine to which nothing has happened yet.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            life: if setup.owned { life::Life::None } else { life::Life::Watched },
            history: life::History::default(),
            health: health::Health::default(),
            looks: looks::Looks::default(),
            models: models::Models::new(setup.preset.watch.models.as_ref()),
            rest: rest::Rest::default(),
            drain: None,
            subscribers: subscribers::Subscribers::default(),
            used_at: Moment::default(),
            cold_times: LoadTimes::default(),
            wake_times: LoadTimes::default(),
            wake_faults: Faults::default(),
            progress: None,
            identity: None,
            is_unseen: true,
            lives: 0,
            orders: 0,
            shown: Snapshot {
                gates: setup.preset.watch.models.is_some_and(|list| list.gates),
                ..Snapshot::of(setup.preset.name, State::Absent)
            },
            over: false,
        }
    }

    /// Takes in what has happened; what is to be done now, in this order.
    pub fn on(&mut self, event: Event, now: Moment) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.over {
            return actions;
        }
        self.take(event, now, &mut actions);
        self.subscribers.expire(now);
        self.models.forget(now);
        self.doze(now);
        // What is about to happen is told before it does: who waits for everybody to know waits for this.
        self.renew();
        self.live_on(now, &mut actions);
        self.rest_on(now, &mut actions);
        self.load_wanted(now, &mut actions);
        self.drain_on(now, &mut actions);
        self.look_on(now, &mut actions);
        self.renew();
        actions
    }

    /// The number of the newest snapshot: another one means that something has changed.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.shown.seq
    }

    /// Whether what the engine does was ever seen.
    #[must_use]
    pub const fn is_informed(&self) -> bool {
        self.setup.owned || self.looks.back > 0
    }

    /// Whether the shim ends with its process.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        self.drain.is_some() || matches!(self.life, life::Life::Clearing { after: life::After::Exit })
    }

    /// When the process is started next without anybody's wish; none: it runs, or is not.
    #[must_use]
    pub const fn restart(&self) -> Option<Restart> {
        match self.life {
            life::Life::Waiting { at } | life::Life::Clearing { after: life::After::Restart { at } } => {
                Some(Restart { at, latched: false })
            }
            life::Life::Latched { until: at, retry: true }
            | life::Life::Clearing { after: life::After::Latch { until: at, retry: true } } => {
                Some(Restart { at, latched: true })
            }
            _ => None,
        }
    }

    /// When the machine wants a [`Event::Tick`], if nothing happens before.
    #[must_use]
    pub fn due(&self) -> Option<Moment> {
        if self.over {
            return None;
        }
        let rest = match self.rest.phase {
            rest::Phase::Waiting { until, .. } => Some(until),
            _ => None,
        };
        // Without a process the drain waits for none.
        let drain = self.drain.as_ref().filter(|drain| !drain.passed_on && self.life.is_running());
        let drain = drain.map(|drain| drain.until);
        let dues =
            [self.life.due(), self.look_due(), self.idle_at(), self.subscribers.due(), self.models.due(), rest, drain];
        dues.into_iter().flatten().min()
    }

    fn take(&mut self, event: Event, now: Moment, actions: &mut Vec<Action>) {
        match event {
            Event::Begun => self.begun(actions),
            Event::Spawned => self.spawned(now),
            Event::NotSpawned(fault) => self.not_spawned(fault, now, actions),
            Event::Ended(code) => self.ended(code, now, actions),
            Event::Cleared => self.cleared(now, actions),
            Event::Looked(round, sighting) => self.looked(round, &sighting, now, actions),
            Event::Called(order, outcome) => self.called(order, outcome, now, actions),
            Event::Load(wish) => {
                let reply = self.load(&wish, now, actions);
                actions.push(Action::Reply(reply));
            }
            Event::Sleep(wish) => actions.push(Action::Reply(self.sleep(&wish, now))),
            Event::Activity(activity) => {
                if self.subscribers.say(&activity, now) {
                    self.used_at = now;
                    self.stay_up_for(&activity, now);
                }
            }
            Event::Subscribed(name) => self.subscribers.come(name),
            Event::Left(name) => self.subscribers.leave(&name, self.awaited(), now),
            Event::Progress(progress) => self.progress = progress,
            Event::Identified(life, identity) if life == self.lives => self.identity = Some(identity),
            Event::Identified(..) | Event::Tick => {}
            Event::Signal(signal) => self.signalled(signal, now, actions),
        }
    }

    /// What was known of the engine's last life is of no use for the next.
    fn begin_life(&mut self) {
        self.health = health::Health::default();
        self.rest.faults = Faults::default();
        self.progress = None;
        self.forget_identity();
    }

    /// Who answers next may be another; what is observed of this one comes too late.
    fn forget_identity(&mut self) {
        self.lives += 1;
        self.identity = None;
        self.is_unseen = true;
    }

    /// A notice that the next snapshot dates.
    const fn notice(&self) -> Notice {
        Notice { seq: None, round: self.looks.coming() }
    }

    /// The snapshot that everybody is to have acted on.
    fn awaited(&self) -> Option<u64> {
        match (&self.drain, &self.rest.phase) {
            (Some(drain), _) => drain.notice.seq,
            (None, rest::Phase::Waiting { notice, .. }) => notice.seq,
            _ => None,
        }
    }

    /// Whether everybody has acted on a notice, and neither they nor the engine know of a request that is under way.
    fn is_quiet(&self, notice: Notice, now: Moment) -> bool {
        if now.since(Moment::default()) < COME_BACK_MS {
            return false;
        }
        // One that has fallen silent, or is not well, may be busy with what it has.
        let is_there = matches!(self.health.seen, health::Seen::Well | health::Seen::Unwell(_));
        let tells = self.setup.preset.watch.queue.is_some() && is_there;
        let is_empty = !tells || (self.looks.back >= notice.round && self.health.is_idle());
        is_empty && notice.seq.is_some_and(|seq| self.subscribers.are_quiet(seq))
    }
}
