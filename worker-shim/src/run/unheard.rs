//! Has nobody ever listened where the engine is to listen, although its process runs?
//!
//! Engines that load before they listen may take minutes, so this is a warning and nothing else.

use std::time::Duration;
use tokio::time::Instant;

use crate::config::Address;
use crate::probe::Reach;
use crate::state::Event;

/// How long a process runs before the operator is told.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is known of that.
#[derive(Debug, Default)]
pub(super) struct Unheard {
    /// When the process that runs was started.
    since: Option<Instant>,
    /// Somebody was heard, or the operator was told.
    over: bool,
    /// It asks for a key that we do not have, and the operator was told.
    is_locked: bool,
    /// It lacks the path that is asked for its health, and the operator was told.
    is_another: bool,
}

impl Unheard {
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::Spawned => self.since = Some(Instant::now()),
            Event::Ended(_) => self.since = None,
            Event::Looked(_, sighting) => {
                self.over |= sighting.reach != Reach::Refused;
                if matches!(sighting.reach, Reach::Answered(401 | 403)) && !self.is_locked {
                    self.is_locked = true;
                    tracing::warn!("the engine asks for a key before it tells anything: name it with --api-key-secret");
                }
                if matches!(sighting.reach, Reach::Answered(404 | 405 | 501)) && !self.is_another {
                    self.is_another = true;
                    tracing::warn!(
                        "the engine does not have the path that its preset asks for its health, so it is taken for well: \
                         is it another engine? Then say which one with --preset, or where it listens with --engine"
                    );
                }
            }
            _ => {}
        }
    }

    /// When the operator is told, if nobody is heard before.
    pub(super) fn due(&self) -> Option<Instant> {
        self.since.filter(|_| !self.over).map(|since| since + PATIENCE)
    }

    /// Tells the operator, once.
    pub(super) fn say(&mut self, engine: &Address) {
        self.over = true;
        tracing::warn!(
            "nobody listens at {engine} since the engine was started: if it listens elsewhere, say where with --engine"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Sighting;

    fn looked(reach: Reach) -> Event {
        Event::Looked(1, Sighting::only(reach))
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_due_a_minute_after_the_start_and_once() {
        let mut unheard = Unheard::default();
        assert_eq!(unheard.due(), None, "nothing was started");
        unheard.take(&Event::Spawned);
        let due = Some(Instant::now() + PATIENCE);
        tokio::time::advance(Duration::from_secs(1)).await;
        unheard.take(&looked(Reach::Refused));
        assert_eq!(unheard.due(), due);
        unheard.say(&Address::Unix("/e".into()));
        unheard.take(&Event::Spawned);
        assert_eq!(unheard.due(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn another_process_has_its_own_minute() {
        let mut unheard = Unheard::default();
        unheard.take(&Event::Spawned);
        unheard.take(&Event::Ended(1));
        assert_eq!(unheard.due(), None);
        tokio::time::advance(Duration::from_secs(50)).await;
        unheard.take(&Event::Spawned);
        assert_eq!(unheard.due(), Some(Instant::now() + PATIENCE));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_was_heard_once_is_there() {
        for reach in [Reach::Silent, Reach::Answered(503)] {
            let mut unheard = Unheard::default();
            unheard.take(&Event::Spawned);
            unheard.take(&looked(reach));
            unheard.take(&looked(Reach::Refused));
            assert_eq!(unheard.due(), None, "{reach:?}");
        }
    }
}
