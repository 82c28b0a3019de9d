//! Who acts on what the shim says, and does any of them have requests at the engine?

use spillway_filters::feed::{Activity, Moment, STALE_MS};
use std::collections::BTreeMap;

/// With so many names, one that has no stream is not remembered: anybody may think of one, and there are fewer streams.
const MOST_UNSEEN: usize = 64;

/// Everybody who follows the stream under a name.
#[derive(Debug, Default)]
pub(super) struct Subscribers(BTreeMap<String, Subscriber>);

#[derive(Debug, Default)]
struct Subscriber {
    streams: u32,
    /// What it said last; none: nothing yet.
    said: Option<Said>,
    /// When its last stream ended, if nobody knows whether its requests have.
    left: Option<Moment>,
}

#[derive(Clone, Copy, Debug)]
struct Said {
    seq: u64,
    in_flight: u64,
    started: u64,
}

impl Subscribers {
    pub(super) fn come(&mut self, name: String) {
        let subscriber = self.0.entry(name).or_default();
        subscriber.streams += 1;
        subscriber.left = None;
    }

    /// A stream has ended. `notice`: the snapshot that everybody is to have acted on, if something waits for that.
    pub(super) fn leave(&mut self, name: &str, notice: Option<u64>, now: Moment) {
        let Some(subscriber) = self.0.get_mut(name) else { return };
        subscriber.streams = subscriber.streams.saturating_sub(1);
        if subscriber.streams > 0 {
            return;
        }
        let is_quiet = match notice {
            Some(seq) => subscriber.is_quiet(seq),
            None => subscriber.said.is_none_or(|said| said.in_flight == 0),
        };
        if is_quiet {
            self.0.remove(name);
        } else {
            subscriber.left = Some(now);
        }
    }

    /// Takes in what one says; whether the engine was used meanwhile. One whose stream was cut may have requests before it is back.
    pub(super) fn say(&mut self, activity: &Activity, now: Moment) -> bool {
        if activity.in_flight > 0 && self.0.len() < MOST_UNSEEN {
            let unseen = || Subscriber { left: Some(now), ..Subscriber::default() };
            self.0.entry(activity.r#as.clone()).or_insert_with(unseen);
        }
        let said = Said { seq: activity.seq, in_flight: activity.in_flight, started: activity.started };
        let Some(subscriber) = self.0.get_mut(&activity.r#as) else { return said.in_flight > 0 };
        if said.in_flight > 0 && subscriber.streams == 0 {
            subscriber.left = Some(now);
        }
        let before = subscriber.said.replace(said);
        said.in_flight > 0 || before.is_some_and(|before| before.started != said.started || before.in_flight > 0)
    }

    /// Whether nobody follows.
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether everybody has acted on this snapshot and has no request at the engine.
    pub(super) fn are_quiet(&self, seq: u64) -> bool {
        self.0.values().all(|subscriber| subscriber.is_quiet(seq))
    }

    /// Forgets those who left so long ago that their requests are over.
    pub(super) fn expire(&mut self, now: Moment) {
        self.0.retain(|_, subscriber| subscriber.left.is_none_or(|left| now.since(left) < STALE_MS));
    }

    /// When the first of those is to be forgotten.
    pub(super) fn due(&self) -> Option<Moment> {
        self.0.values().filter_map(|subscriber| subscriber.left).min().map(|left| left.plus(STALE_MS))
    }
}

impl Subscriber {
    fn is_quiet(&self, seq: u64) -> bool {
        self.said.is_some_and(|said| said.seq >= seq && said.in_flight == 0)
    }
}
