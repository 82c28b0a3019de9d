//! How long is something left alone after it has failed?

use spillway_filters::feed::Moment;

/// A wait that doubles with each failure in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    /// After the first failure, in milliseconds.
    pub(crate) first_ms: u64,
    /// It never is longer than this, in milliseconds.
    pub(crate) most_ms: u64,
}

impl Backoff {
    /// The wait after the `failures`-th failure in a row, in milliseconds.
    pub(crate) const fn wait_ms(self, failures: u32) -> u64 {
        let doublings = if failures == 0 { 0 } else { failures - 1 };
        // 2^32 milliseconds are past every `most_ms`, and no shift overflows.
        let factor = 1_u64 << if doublings > 32 { 32 } else { doublings };
        let wait = self.first_ms.saturating_mul(factor);
        if wait < self.most_ms { wait } else { self.most_ms }
    }
}

/// Between two attempts to load.
const LOAD: Backoff = Backoff { first_ms: 2_000, most_ms: 64_000 };
/// So many failed loads in a row, and it is left alone for [`LATCH_MS`]: loads that fail again and again leak memory (engines section 3).
const LATCH_AFTER: u32 = 6;
const LATCH_MS: u64 = 600_000;
/// So long after its pause a failure says nothing of the next load any more.
const FORGET_MS: u64 = 600_000;

/// How often in a row a load, or a sleep, has failed, and until when none is tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    failures: u32,
    until: Moment,
}

impl Faults {
    /// It has failed once more.
    pub(crate) fn count(&mut self, now: Moment) {
        self.failures = self.failures.saturating_add(1);
        let pause = if self.failures >= LATCH_AFTER { LATCH_MS } else { LOAD.wait_ms(self.failures) };
        self.until = now.plus(pause);
    }

    /// From when on it is as if it had not failed.
    pub(crate) fn forgotten_at(&self) -> Moment {
        self.until.plus(FORGET_MS)
    }

    /// Whether it has failed since it last went well.
    pub(crate) const fn any(&self) -> bool {
        self.failures > 0
    }

    /// When it may be tried again.
    pub(crate) const fn until(&self) -> Moment {
        self.until
    }

    /// Milliseconds until it may be tried again; none: now.
    pub(crate) fn pause_ms(&self, now: Moment) -> Option<u64> {
        Some(self.until.since(now)).filter(|left| *left > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_doubles_up_to_its_most() {
        let backoff = Backoff { first_ms: 1_000, most_ms: 60_000 };
        let waits = [0, 1, 2, 3, 6, 7, 8, 40, u32::MAX].map(|failures| backoff.wait_ms(failures));
        assert_eq!(waits, [1_000, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000, 60_000]);
    }

    #[test]
    fn loads_back_off_and_latch_after_six() {
        let mut faults = Faults::default();
        let now = Moment::from_millis(5);
        assert!(!faults.any() && faults.pause_ms(now).is_none());
        let pauses: Vec<_> = (0..7)
            .map(|_| {
                faults.count(now);
                faults.pause_ms(now).expect("it has just failed")
            })
            .collect();
        assert_eq!(pauses, [2_000, 4_000, 8_000, 16_000, 32_000, 600_000, 600_000]);
        assert!(faults.any() && faults.pause_ms(now.plus(600_000)).is_none());
    }
}
