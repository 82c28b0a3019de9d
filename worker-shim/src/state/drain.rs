//! How does the shim end: in flight first, then the engine, then itself?

use nix::sys::signal::Signal;
use spillway_filters::feed::Moment;

use super::event::{Action, Exit};
use super::life::Life;
use super::rest::Phase;
use super::{Machine, Notice};

/// The shim was told to end.
#[derive(Debug)]
pub(super) struct Drain {
    signal: Signal,
    /// For so long requests in flight are waited for.
    pub(super) until: Moment,
    pub(super) notice: Notice,
    /// The engine was told.
    pub(super) passed_on: bool,
}

impl Machine {
    pub(super) fn signalled(&mut self, signal: Signal, now: Moment, actions: &mut Vec<Action>) {
        match (signal, &mut self.drain) {
            (Signal::SIGTERM | Signal::SIGINT, None) => self.begin_drain(signal, now, actions),
            (Signal::SIGTERM | Signal::SIGINT, Some(drain)) => {
                drain.passed_on = true;
                self.stop(signal, now, actions);
            }
            _ => self.pass_on(signal, actions),
        }
    }

    fn begin_drain(&mut self, signal: Signal, now: Moment, actions: &mut Vec<Action>) {
        self.look_now();
        let (until, notice) = (now.plus(self.setup.drain_ms), self.notice());
        // What was told to end in order to sleep only has to end.
        let passed_on = self.life.is_stopping();
        if let Phase::Waiting { .. } = self.rest.phase {
            // It is ended instead, once.
            self.rest.awake();
        }
        self.drain = Some(Drain { signal, until, notice, passed_on });
        self.models.engine_ended(false, now);
        self.models.drop_wanted();
        actions.push(Action::Abort);
    }

    /// Goes on with what SIGTERM began.
    pub(super) fn drain_on(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let Some(drain) = self.drain.as_ref().filter(|_| !self.over) else { return };
        match self.life {
            // Who follows a watched engine is told, and that is all.
            Life::Watched | Life::None => self.exit(Exit::Engine(0), actions),
            Life::Waiting { .. } | Life::Latched { .. } => self.exit(Exit::Engine(self.history.code), actions),
            Life::Running(_) if !drain.passed_on && (drain.until <= now || self.is_quiet(drain.notice, now)) => {
                let signal = drain.signal;
                if let Some(drain) = &mut self.drain {
                    drain.passed_on = true;
                }
                self.stop(signal, now, actions);
            }
            Life::Running(_) | Life::Spawning | Life::Clearing { .. } => {}
        }
    }
}
