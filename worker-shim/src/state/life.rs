//! What does the engine's process do, and when is it started again?

use nix::sys::signal::Signal;
use spillway_filters::feed::Moment;

use super::event::{Action, Exit, SpawnFault};
use super::{Machine, rest::Phase};
use crate::backoff::Backoff;

/// Between the end of a process and its next start.
const RESTART: Backoff = Backoff { first_ms: 1_000, most_ms: 60_000 };
/// So many ends in a row without having been ready for [`SETTLED_MS`], and nothing is started for a while.
const LATCH_AFTER: u32 = 5;
const LATCH: Backoff = Backoff { first_ms: 60_000, most_ms: 600_000 };
/// An engine that was ready for this long has not failed to start, whatever ended it.
const SETTLED_MS: u64 = 60_000;

/// What the engine's process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// It is somebody else's, and only watched.
    Watched,
    /// Nothing runs, and nothing is to run.
    None,
    /// It is being started.
    Spawning,
    /// It runs.
    Running(Run),
    /// It has ended, and what is left of its group is being ended.
    Clearing { after: After },
    /// It ended by itself and is started again then.
    Waiting { at: Moment },
    /// It ended too often, and is left alone until then. `retry`: after that it is tried without a wish.
    Latched { until: Moment, retry: bool },
}

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// When it was started.
    pub(super) since: Moment,
    /// When it was ready first.
    pub(super) well: Option<Moment>,
    /// When it is killed, once it was told to end.
    kill_at: Option<Moment>,
    killed: bool,
    /// The last signal for it that came through us.
    passed_on: Option<Signal>,
}

impl Run {
    /// Whether this is the end that somebody's signal has brought: its own doing it is not.
    fn was_ended(&self, code: u8) -> bool {
        self.passed_on.is_some_and(|signal| i32::from(code) == 128 + signal as i32)
    }
}

/// What follows when a process and its group are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Exit,
    Latch { until: Moment, retry: bool },
    Restart { at: Moment },
    Sleep,
}

/// How the engine's processes fared so far.
#[derive(Debug, Default)]
pub(super) struct History {
    started: bool,
    ends: u32,
    latches: u32,
    /// Nothing is started before this.
    until: Moment,
    /// The exit code of the last end or start that failed.
    pub(super) code: u8,
    /// How often one was started again.
    pub(super) restarts: u64,
    /// The last one ended by itself, and no other was ready since.
    pub(super) crashed: bool,
}

impl History {
    /// `well`: since when it was ready; none: it never was.
    fn failed(&mut self, well: Option<Moment>, now: Moment) -> After {
        self.crashed = true;
        if well.is_some_and(|well| now.since(well) >= SETTLED_MS) {
            (self.ends, self.latches) = (0, 0);
        } else if well.is_some() && self.ends >= LATCH_AFTER {
            // What it was left alone for is mended: this is another fault.
            self.ends = 0;
        }
        self.ends = self.ends.saturating_add(1);
        if self.ends < LATCH_AFTER {
            self.until = now.plus(RESTART.wait_ms(self.ends));
            return After::Restart { at: self.until };
        }
        self.latches = self.latches.saturating_add(1);
        self.until = now.plus(LATCH.wait_ms(self.latches));
        After::Latch { until: self.until, retry: true }
    }
}

impl Life {
    pub(super) const fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }

    /// Whether it was told to end.
    pub(super) const fn is_stopping(&self) -> bool {
        matches!(self, Self::Running(Run { kill_at: Some(_), .. }))
    }

    /// When something about it is due.
    pub(super) const fn due(&self) -> Option<Moment> {
        match self {
            Self::Running(Run { kill_at, killed: false, .. }) => *kill_at,
            Self::Waiting { at: until } | Self::Latched { until, retry: true } => Some(*until),
            _ => None,
        }
    }
}

impl Machine {
    pub(super) fn begun(&mut self, actions: &mut Vec<Action>) {
        match self.life {
            Life::None if self.drain.is_none() => self.start(actions),
            _ => self.look_now(),
        }
    }

    /// Starts the process. Nothing of an earlier one is left when this is called.
    pub(super) fn start(&mut self, actions: &mut Vec<Action>) {
        self.life = Life::Spawning;
        actions.push(Action::Spawn);
    }

    /// Starts the process, or waits with that until it has been left alone for long enough.
    pub(super) fn start_in_time(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let at = self.history.until;
        if now < at {
            self.life = Life::Waiting { at };
        } else {
            self.start(actions);
        }
    }

    pub(super) fn spawned(&mut self, now: Moment) {
        if self.life != Life::Spawning {
            return;
        }
        self.history.restarts += u64::from(self.history.crashed);
        self.history.started = true;
        self.life = Life::Running(Run { since: now, well: None, kill_at: None, killed: false, passed_on: None });
        self.begin_life();
        self.used_at = now;
        self.look_at(now.plus(self.setup.preset.watch.eager_ms));
    }

    pub(super) fn not_spawned(&mut self, fault: SpawnFault, now: Moment, actions: &mut Vec<Action>) {
        if self.life != Life::Spawning {
            return;
        }
        let exit = match fault {
            SpawnFault::NotFound => Exit::NotFound,
            SpawnFault::NotRun => Exit::NotRun,
            SpawnFault::Taken => Exit::Taken,
        };
        if !self.history.started {
            return self.exit(exit, actions);
        }
        self.history.code = exit.code();
        let after = self.history.failed(None, now);
        self.follow(after, now, actions);
    }

    /// The leader has ended. What it leaves of its group may still hold memory and ports, so nothing is started yet.
    pub(super) fn ended(&mut self, code: u8, now: Moment, actions: &mut Vec<Action>) {
        let Life::Running(run) = self.life else { return };
        let by_itself = !self.life.is_stopping();
        self.history.code = code;
        let after = if self.drain.is_some() || (by_itself && (code == 0 || run.was_ended(code))) {
            After::Exit
        } else if !by_itself || self.rest.is_down() {
            // What ends while it sleeps is not started again before somebody wants it.
            After::Sleep
        } else {
            self.history.failed(run.well, now)
        };
        self.life = Life::Clearing { after };
        self.models.engine_ended(matches!(after, After::Restart { .. } | After::Latch { .. }), now);
        if after == After::Sleep {
            self.rest.phase = Phase::Ending;
        } else {
            self.rest.awake();
        }
        self.begin_life();
        actions.push(Action::Abort);
    }

    pub(super) fn cleared(&mut self, now: Moment, actions: &mut Vec<Action>) {
        if let Life::Clearing { after } = self.life {
            self.follow(if self.drain.is_some() { After::Exit } else { after }, now, actions);
        }
    }

    fn follow(&mut self, after: After, now: Moment, actions: &mut Vec<Action>) {
        match after {
            After::Exit => self.exit(Exit::Engine(self.history.code), actions),
            After::Latch { until, retry } => {
                self.life = Life::Latched { until, retry };
                self.models.drop_wanted();
            }
            After::Restart { at } => self.life = Life::Waiting { at },
            After::Sleep => {
                self.life = Life::None;
                self.rest.phase = Phase::Asleep { ended: true };
                if self.rest.wake_after {
                    self.rest.awake();
                    self.start_in_time(now, actions);
                }
            }
        }
    }

    /// Tells the process to end, and sees to it that it does.
    pub(super) fn stop(&mut self, signal: Signal, now: Moment, actions: &mut Vec<Action>) {
        if let Life::Running(run) = &mut self.life {
            let kill_at = now.plus(self.setup.stop_ms);
            run.kill_at = Some(run.kill_at.map_or(kill_at, |earlier| earlier.min(kill_at)));
            actions.push(Action::Signal(signal));
        }
    }

    /// Gives the process a signal that somebody sent for it.
    pub(super) fn pass_on(&mut self, signal: Signal, actions: &mut Vec<Action>) {
        if let Life::Running(run) = &mut self.life {
            run.passed_on = Some(signal);
            actions.push(Action::Signal(signal));
        }
    }

    /// What is due about the process.
    pub(super) fn live_on(&mut self, now: Moment, actions: &mut Vec<Action>) {
        match &mut self.life {
            Life::Running(Run { kill_at: Some(at), killed, .. }) if !*killed && *at <= now => {
                *killed = true;
                actions.push(Action::Signal(Signal::SIGKILL));
            }
            Life::Waiting { at: until } | Life::Latched { until, retry: true }
                if *until <= now && self.drain.is_none() =>
            {
                self.start(actions);
            }
            _ => {}
        }
    }

    pub(super) fn exit(&mut self, exit: Exit, actions: &mut Vec<Action>) {
        self.life = Life::None;
        self.over = true;
        actions.push(Action::Exit(exit));
    }
}
