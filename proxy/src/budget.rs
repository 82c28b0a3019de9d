//! How much may be held or running at once? Counters that refuse instead of queueing, and guards that give back what they took.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A quantity with a limit: bytes of held bodies, or requests at the engine.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    limit: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), limit })
    }

    /// How much is taken.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes `amount`, or nothing when that would pass the limit.
    pub(crate) fn take(self: &Arc<Self>, amount: usize) -> Option<Share> {
        let mut share = Share { budget: self.clone(), amount: 0 };
        share.grow(amount).then_some(share)
    }
}

/// A part of a budget, given back on drop.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    amount: usize,
}

impl Share {
    /// Takes `more`, or nothing when that would pass the limit.
    pub(crate) fn grow(&mut self, more: usize) -> bool {
        let used = self.budget.used.fetch_add(more, Ordering::Relaxed);
        if used.saturating_add(more) > self.budget.limit {
            self.budget.used.fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.amount += more;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_back_and_the_limit_holds() {
        let budget = Budget::new(10);
        let mut share = budget.take(6).expect("within the limit");
        assert!(budget.take(5).is_none());
        assert!(share.grow(4));
        assert!(!share.grow(1));
        drop(share);
        assert!(budget.take(10).is_some());
    }
}
