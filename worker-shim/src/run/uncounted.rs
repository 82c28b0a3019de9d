//! Does the engine tell what it has to do, where a flag counts on that?
//!
//! It may begin to tell later, and a sidecar may count too, so this is a warning and nothing else.

use crate::config::Config;
use crate::probe::Reach;
use crate::state::Event;

const MAX_WAITING: &str = "the engine does not say how many requests wait: as long as it does not, --max-waiting has no effect \
                           (llama-server wants --metrics, SGLang --enable-metrics)";
const IDLE_SLEEP: &str = "the engine does not say what it has to do: as long as it does not, --idle-sleep-s counts only calls that \
                          come through a sidecar, and without one it never sleeps (llama-server wants --metrics, SGLang \
                          --enable-metrics)";

/// What is still to be seen of that.
#[derive(Debug)]
pub(super) struct Uncounted {
    max_waiting: bool,
    idle_sleep: bool,
    /// The newest round that asks it.
    round: Option<u64>,
}

impl Uncounted {
    pub(super) const fn of(config: &Config) -> Self {
        let tells = config.preset.watch.queue.is_some();
        Self {
            max_waiting: tells && config.max_waiting.is_some(),
            idle_sleep: tells && config.idle_sleep.is_some(),
            round: None,
        }
    }

    /// A round begins. `queue`: it asks what the engine has to do.
    pub(super) const fn look(&mut self, round: u64, queue: bool) {
        if queue {
            self.round = Some(round);
        }
    }

    pub(super) fn take(&mut self, event: &Event) {
        for text in self.missing(event) {
            tracing::warn!("{text}");
        }
    }

    /// What the operator is told, once: when the engine was well and asked for the first time.
    fn missing(&mut self, event: &Event) -> Vec<&'static str> {
        let Event::Looked(round, sighting) = event else { return Vec::new() };
        if self.round != Some(*round) || !matches!(sighting.reach, Reach::Answered(200..=299)) || sighting.busy {
            return Vec::new();
        }
        let waiting = self.max_waiting && sighting.waiting.is_none();
        let running = self.idle_sleep && sighting.running.is_none();
        (self.max_waiting, self.idle_sleep) = (false, false);
        [waiting.then_some(MAX_WAITING), running.then_some(IDLE_SLEEP)].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Sighting;

    #[test]
    fn the_first_look_at_a_well_engine_decides() {
        let well = Sighting::only(Reach::Answered(200));
        let all: &[_] = &[MAX_WAITING, IDLE_SLEEP];
        for (sighting, first, then) in [
            (well.clone(), all, &[][..]),
            (Sighting { running: Some(0), ..well.clone() }, &[MAX_WAITING], &[]),
            (Sighting { waiting: Some(0), ..well.clone() }, &[IDLE_SLEEP], &[]),
            (Sighting { waiting: Some(0), running: Some(0), ..well.clone() }, &[], &[]),
            (Sighting { busy: true, ..well.clone() }, &[], all),
            (Sighting::only(Reach::Answered(503)), &[], all),
            (Sighting::only(Reach::Silent), &[], all),
        ] {
            let mut uncounted = Uncounted { max_waiting: true, idle_sleep: true, round: None };
            assert!(uncounted.missing(&Event::Looked(1, sighting.clone())).is_empty(), "it was not asked");
            uncounted.look(2, true);
            assert_eq!(uncounted.missing(&Event::Looked(2, sighting.clone())), first, "{sighting:?}");
            assert_eq!(uncounted.missing(&Event::Looked(2, well.clone())), then, "{sighting:?}");
        }
    }
}
