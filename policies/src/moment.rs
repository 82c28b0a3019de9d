//! What is now, without a clock: monotonic time that somebody else read.

/// A point on a monotonic clock, in milliseconds since an arbitrary start. `proxy` reads the clock and passes it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(u64);

impl Moment {
    /// The moment that lies `millis` milliseconds after the start of the clock.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds from `earlier` to this moment; zero when `earlier` lies later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `millis` milliseconds after this one.
    #[must_use]
    pub const fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// A wait in whole seconds as a Retry-After states it: rounded up, and between 1 and 60 (contract section 5).
#[must_use]
pub const fn retry_after_s(millis: u64) -> u64 {
    let seconds = millis.div_ceil(1000);
    if seconds < 1 {
        1
    } else if seconds > 60 {
        60
    } else {
        seconds
    }
}
