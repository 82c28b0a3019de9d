//! How much an upstream may be asked: a token bucket over requests per minute (contract section 5).

use crate::moment::{Moment, retry_after_s};

/// What the operator set. Required for every upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Requests per minute, at least one. The bucket holds as many.
    pub requests_per_minute: u32,
    /// Requests at the same time, at least one.
    pub max_concurrency: u32,
}

/// One token in bucket units: a bucket of `rpm` tokens refills `rpm` units per millisecond, so no fraction is ever lost.
const TOKEN: i64 = 60_000;

/// A token bucket that starts full and may be overdrawn once by a batch larger than itself.
#[derive(Clone, Debug)]
pub struct Bucket {
    rpm: i64,
    level: i64,
    filled_at: Moment,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn new(settings: &Settings, now: Moment) -> Self {
        let rpm = i64::from(settings.requests_per_minute);
        Self { rpm, level: rpm * TOKEN, filled_at: now }
    }

    /// Takes `requests` tokens, all or none.
    ///
    /// # Errors
    /// Not enough tokens: the seconds to wait, as a Retry-After states them.
    pub fn take(&mut self, requests: u32, now: Moment) -> Result<(), u64> {
        self.refill(now);
        let full = self.rpm * TOKEN;
        let wanted = i64::from(requests) * TOKEN;
        // A batch larger than the whole bucket could never pass; it does when the bucket is full, and the debt is waited for.
        let needed = wanted.min(full);
        if self.level < needed {
            let missing = needed - self.level;
            return Err(retry_after_s(
                missing.div_euclid(self.rpm).unsigned_abs() + u64::from(missing % self.rpm != 0),
            ));
        }
        self.level -= wanted;
        Ok(())
    }

    fn refill(&mut self, now: Moment) {
        let elapsed = i64::try_from(now.since(self.filled_at)).unwrap_or(i64::MAX);
        self.level = self.level.saturating_add(elapsed.saturating_mul(self.rpm)).min(self.rpm * TOKEN);
        // Two callers may have read the clock in the other order than they got here.
        self.filled_at = self.filled_at.max(now);
    }
}
