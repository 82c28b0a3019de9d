//! How long will it still take, for somebody who asks later than the snapshot was made?

use spillway_filters::feed::{Condition, Snapshot, State};
use std::borrow::Cow;
use tokio::time::Instant;

/// A snapshot and when it was made, so that a time that runs needs no news of itself.
#[derive(Debug)]
pub struct Told {
    snapshot: Snapshot,
    at: Instant,
}

impl Told {
    /// A snapshot that is made now.
    #[must_use]
    pub fn new(snapshot: Snapshot) -> Self {
        Self { snapshot, at: Instant::now() }
    }

    /// What was told.
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// What is true of it now: what is on its way has come nearer.
    pub(super) fn now(&self) -> Cow<'_, Snapshot> {
        let passed = u64::try_from(self.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut models = self.snapshot.models.values();
        if passed == 0 || !(counts_down(&self.snapshot.engine) || models.any(counts_down)) {
            return Cow::Borrowed(&self.snapshot);
        }
        let mut snapshot = self.snapshot.clone();
        for condition in snapshot.models.values_mut().chain([&mut snapshot.engine]) {
            let is_near = counts_down(condition);
            condition.ready_in_ms =
                condition.ready_in_ms.map(|left| if is_near { left.saturating_sub(passed) } else { left });
        }
        Cow::Owned(snapshot)
    }
}

/// Whether it is on its way: what is not takes a whole load, whenever that begins.
fn counts_down(condition: &Condition) -> bool {
    condition.ready_in_ms.is_some() && matches!(condition.state, State::Starting | State::Loading)
}
