//! What is the operator told when the engine's process has ended, or cannot be started?

use spillway_filters::feed::Moment;

use crate::process::End;
use crate::state::{Event, Restart};

/// How the process fared.
pub(super) enum Fared {
    Ended(End),
    NotStarted,
}

impl Fared {
    /// None: nothing has become of it. `end`: the last one.
    pub(super) const fn of(event: &Event, end: Option<End>) -> Option<Self> {
        match (event, end) {
            (Event::Ended(_), Some(end)) => Some(Self::Ended(end)),
            (Event::NotSpawned(_), _) => Some(Self::NotStarted),
            _ => None,
        }
    }

    /// Tells it. `restart`: what was decided then; none: it was to end, or the shim ends with it.
    pub(super) fn say(&self, restart: Option<Restart>, now: Moment) {
        let (code, signal) = match self {
            Self::Ended(end) => (end.code, end.signal),
            Self::NotStarted => (None, None),
        };
        match restart.map(|restart| (restart.latched, self.text(restart, now))) {
            Some((true, text)) => tracing::error!(code, signal, "{text}"),
            Some((false, text)) => tracing::warn!(code, signal, "{text}"),
            None if matches!(self, Self::Ended(_)) => tracing::info!(code, signal, "the engine's process has ended"),
            None => {}
        }
    }

    fn text(&self, restart: Restart, now: Moment) -> String {
        let what = match self {
            Self::Ended(_) => "the engine's process has ended, and nobody told it to",
            Self::NotStarted => "the engine was not started",
        };
        let seconds = restart.at.since(now).div_ceil(1_000);
        if restart.latched {
            format!(
                "{what}, again and again before it was ready for a minute: it is left alone for {seconds} s, and then tried once; \
                 mend its command; its last lines above may say why"
            )
        } else {
            format!("{what}: it is started again in {seconds} s")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_it_is_tried_next_is_said_in_seconds() {
        let now = Moment::from_millis(5_000);
        let restart = |latched| Restart { at: now.plus(59_001), latched };
        let ended = Fared::Ended(End { code: Some(1), signal: None });
        assert_eq!(
            ended.text(restart(false), now),
            "the engine's process has ended, and nobody told it to: it is started again in 60 s"
        );
        assert_eq!(
            Fared::NotStarted.text(restart(true), now),
            "the engine was not started, again and again before it was ready for a minute: it is left alone for 60 s, and then \
             tried once; mend its command; its last lines above may say why"
        );
    }
}
