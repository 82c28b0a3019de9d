//! Is the engine well, as its probes say?

use spillway_filters::feed::Why;
use spillway_filters::presets::Watch;

use crate::probe::{Reach, Sighting};

/// So many rounds in a row may a busy engine leave unanswered.
const SILENT_ROUNDS: u32 = 2;

/// What the probes said of this life of the engine.
#[derive(Debug, Default)]
pub(super) struct Health {
    pub(super) seen: Seen,
    /// It was well in this life.
    pub(super) was_well: bool,
    /// Rounds in a row without an answer.
    pub(super) silent: u32,
    /// It says that it sleeps.
    pub(super) asleep: Option<bool>,
    /// It answers, and not what it has to do.
    busy: bool,
    pub(super) running: Option<u64>,
    pub(super) waiting: Option<u64>,
    /// It has more than enough to do.
    pub(super) saturated: bool,
}

/// What the last answers amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nobody listens.
    #[default]
    Nobody,
    /// Somebody listens and says nothing.
    Mute,
    /// It says that it is not ready yet.
    Loading,
    Well,
    /// It was well in this life.
    Unwell(Why),
}

impl Health {
    pub(super) fn is_well(&self) -> bool {
        self.seen == Seen::Well
    }

    /// Whether it says that it has nothing to do; an engine that never tells is believed to.
    pub(super) fn is_idle(&self) -> bool {
        self.silent == 0 && !self.busy && self.running.unwrap_or(0) == 0 && self.waiting.unwrap_or(0) == 0
    }

    /// Takes one round in. `owned`: its process lives, so that a refused connection is not the end of it.
    pub(super) fn take(&mut self, sighting: &Sighting, watch: &Watch, owned: bool, max_waiting: Option<u64>) {
        let kept = self.silent;
        self.silent = 0;
        self.seen = match sighting.reach {
            // One that asks for a key takes requests, and its callers have one.
            Reach::Answered(200..=299 | 401 | 403) => Seen::Well,
            // It does not have the path: another engine, or another version. What is not known is not foreseen.
            Reach::Answered(status) if lacks_path(status) && !is_loading(watch, status) => Seen::Well,
            Reach::Answered(status) if !self.was_well || is_loading(watch, status) => Seen::Loading,
            Reach::Answered(_) => Seen::Unwell(Why::Health),
            Reach::Silent if !self.was_well => Seen::Mute,
            Reach::Silent => {
                self.silent = kept.saturating_add(1);
                if self.silent <= SILENT_ROUNDS {
                    // It keeps what it said last, its queue included.
                    return;
                }
                Seen::Unwell(Why::Silent)
            }
            Reach::Refused if owned && self.was_well => Seen::Unwell(Why::Silent),
            Reach::Refused => {
                *self = Self::default();
                return;
            }
        };
        self.was_well |= self.is_well();
        self.asleep = sighting.asleep;
        self.busy = sighting.busy;
        if self.busy {
            // What it said last stands.
            return;
        }
        (self.running, self.waiting) = (sighting.running, sighting.waiting);
        self.saturated = self.is_saturated(max_waiting);
    }

    /// Above the most that may wait; back when half of that is reached.
    fn is_saturated(&self, max_waiting: Option<u64>) -> bool {
        let (Some(most), Some(waiting)) = (max_waiting, self.waiting) else { return false };
        waiting > if self.saturated { most / 2 } else { most }
    }
}

/// Whether this is how a server answers to a path that it does not have.
const fn lacks_path(status: u16) -> bool {
    matches!(status, 404 | 405 | 501)
}

fn is_loading(watch: &Watch, status: u16) -> bool {
    watch.health.is_some_and(|health| health.loading.contains(&status))
}
