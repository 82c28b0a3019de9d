//! When is a wait over? One coarse sweeper for the deadlines of every connection, and the clock that `policies` is told.
//!
//! A deadline costs one atomic store to arm. The sweeper wakes the tasks whose deadline has passed every [`TICK_MS`] milliseconds, so a
//! wait ends at most two ticks late and never early.

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use slab::Slab;
use spillway_policies::Moment;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::Context;
use std::time::{Duration, Instant};

const TICK_MS: u64 = 250;

/// The process's clock and the deadlines of its connections, in as many shards as there are workers.
pub(crate) struct Clock {
    started: Instant,
    tick: AtomicU32,
    shards: Box<[Mutex<Slab<Arc<Watch>>>]>,
    next_shard: AtomicUsize,
}

struct Watch {
    /// The tick at which the wait is over; zero means no deadline.
    due: AtomicU32,
    waker: AtomicWaker,
}

impl Clock {
    pub(crate) fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            tick: AtomicU32::new(1),
            shards: (0..workers.max(1)).map(|_| Mutex::default()).collect(),
            next_shard: AtomicUsize::new(0),
        })
    }

    /// The exact time, for breakers, caps and the access line.
    pub(crate) fn now(&self) -> Moment {
        Moment::from_millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Ticks since the start: coarse time that costs one load.
    pub(crate) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Sweeps until the process ends; `each_tick` does what else is due.
    pub(crate) async fn run(self: Arc<Self>, each_tick: impl Fn(u32)) {
        let mut interval = tokio::time::interval(Duration::from_millis(TICK_MS));
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let tick = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
            self.wake(|watch| {
                let due = watch.due.load(Ordering::Relaxed);
                due != 0 && due <= tick
            });
            each_tick(tick);
        }
    }

    /// Wakes every connection, so that idle ones see that the process is draining.
    pub(crate) fn wake_all(&self) {
        self.wake(|_| true);
    }

    fn wake(&self, due: impl Fn(&Watch) -> bool) {
        for shard in &self.shards {
            for (_, watch) in shard.lock().iter().filter(|(_, watch)| due(watch)) {
                watch.waker.wake();
            }
        }
    }

    /// A deadline for one connection.
    pub(crate) fn deadline(self: &Arc<Self>) -> Deadline {
        let shard = self.next_shard.fetch_add(1, Ordering::Relaxed) % self.shards.len();
        let watch = Arc::new(Watch { due: AtomicU32::new(0), waker: AtomicWaker::new() });
        let key = self.shards[shard].lock().insert(watch.clone());
        Deadline { clock: self.clone(), watch, shard, key }
    }
}

/// The number of whole ticks that cover `millis`.
pub(crate) fn ticks(millis: u64) -> u32 {
    u32::try_from(millis.div_ceil(TICK_MS)).unwrap_or(u32::MAX / 2)
}

/// One connection's deadline: armed once per phase, looked at in every wait.
pub(crate) struct Deadline {
    clock: Arc<Clock>,
    watch: Arc<Watch>,
    shard: usize,
    key: usize,
}

impl Deadline {
    /// The wait is over `millis` from now; zero takes the deadline away.
    pub(crate) fn arm(&self, millis: u64) {
        let due = match millis {
            0 => 0,
            // One tick more: the running one is partly over.
            _ => self.clock.tick().saturating_add(ticks(millis)).saturating_add(1),
        };
        self.watch.due.store(due, Ordering::Relaxed);
    }

    /// Whether the wait is over; if not, the task is woken when it is.
    ///
    /// A sweep between the two steps wakes nobody, and the next one does: due deadlines stay due.
    pub(crate) fn is_over(&self, cx: &Context<'_>) -> bool {
        let due = self.watch.due.load(Ordering::Relaxed);
        if due != 0 && due <= self.clock.tick() {
            return true;
        }
        self.watch.waker.register(cx.waker());
        false
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.clock.shards[self.shard].lock().remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_ends_a_wait_late_at_most_and_never_early() {
        let clock = Clock::new(2);
        tokio::spawn(clock.clone().run(|_| ()));
        let deadline = clock.deadline();
        let started = tokio::time::Instant::now();
        deadline.arm(1_000);
        std::future::poll_fn(
            |cx| if deadline.is_over(cx) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending },
        )
        .await;
        let waited = started.elapsed().as_millis();
        assert!((1_000..=1_500).contains(&waited), "{waited}");
    }

    #[test]
    fn a_dropped_deadline_leaves_nothing_behind() {
        let clock = Clock::new(1);
        let deadline = clock.deadline();
        assert_eq!(clock.shards[0].lock().len(), 1);
        drop(deadline);
        assert_eq!(clock.shards[0].lock().len(), 0);
    }
}
