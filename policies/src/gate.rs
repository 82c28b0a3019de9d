//! Is the upstream allowed right now? Breaker, then concurrency, then budget: a concurrency refusal takes no token (contract section 5).

use crate::breaker::{self, Breaker, Outcome, Pass};
use crate::failure::Cause;
use crate::moment::Moment;
use crate::rate_cap::{self, Bucket};

/// The gate of one upstream, shared by every model that names it.
#[derive(Clone, Debug)]
pub struct Gate {
    breaker: Breaker,
    bucket: Bucket,
    in_flight: u32,
    max_concurrency: u32,
}

/// Leave to make one attempt. Give it back with [`Gate::settle`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Permit(Pass);

/// Why the gate is shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shut {
    /// Which of the three.
    pub cause: Cause,
    /// Seconds to wait, 1 to 60.
    pub retry_after_s: u64,
}

impl Gate {
    /// An open gate with a full budget.
    #[must_use]
    pub fn new(cap: &rate_cap::Settings, breaker: breaker::Settings, now: Moment) -> Self {
        Self {
            breaker: Breaker::new(breaker),
            bucket: Bucket::new(cap, now),
            in_flight: 0,
            max_concurrency: cap.max_concurrency,
        }
    }

    /// Lets an attempt of `requests` upstream requests pass.
    ///
    /// # Errors
    /// The breaker is open, the concurrency cap is reached or the budget is used up.
    pub fn admit(&mut self, requests: u32, now: Moment) -> Result<Permit, Shut> {
        let shut = |cause| move |retry_after_s| Shut { cause, retry_after_s };
        let pass = self.breaker.check(requests, now).map_err(shut(Cause::BreakerOpen))?;
        if self.in_flight >= self.max_concurrency {
            return Err(Shut { cause: Cause::ConcurrencyCap, retry_after_s: 1 });
        }
        self.bucket.take(requests, now).map_err(shut(Cause::RateCap))?;
        self.breaker.entered(pass);
        self.in_flight += 1;
        Ok(Permit(pass))
    }

    /// Takes a permit back with what became of the attempt.
    pub fn settle(&mut self, permit: Permit, outcome: Outcome, now: Moment) {
        let Permit(pass) = permit;
        self.in_flight = self.in_flight.saturating_sub(1);
        self.breaker.settle(pass, outcome, now);
    }
}
