//! Idle connections to the engine, fresh enough to trust.

use crate::stream_io;
use parking_lot::Mutex;
use pingora_core::protocols::Stream;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most idle connections of one shard; more are closed when they come back.
const MOST_IDLE: usize = 512;

thread_local! {
    static SHARD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Idle connections, newest first, one list per worker. A connection older than the engine's own keep-alive is not used: the engine may be
/// closing it at this moment (engines section 0 item 7).
pub(crate) struct Slots {
    shards: Box<[Mutex<Vec<Idle>>]>,
    next_shard: AtomicUsize,
    most_ticks: u32,
}

struct Idle {
    stream: Stream,
    since: u32,
}

impl Slots {
    pub(crate) fn new(workers: usize, most_ticks: u32) -> Self {
        let shards = (0..workers.max(1)).map(|_| Mutex::default()).collect();
        Self { shards, next_shard: AtomicUsize::new(0), most_ticks }
    }

    /// The newest idle connection that is still open.
    pub(crate) fn take(&self, tick: u32) -> Option<Stream> {
        loop {
            let mut idle = self.shard().lock().pop()?;
            let young = tick.wrapping_sub(idle.since) <= self.most_ticks;
            if young && stream_io::is_quiet(&mut idle.stream) {
                return Some(idle.stream);
            }
        }
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(crate) fn put(&self, stream: Stream, tick: u32) {
        let mut shard = self.shard().lock();
        if shard.len() < MOST_IDLE {
            shard.push(Idle { stream, since: tick });
        }
    }

    /// Closes what has become too old.
    pub(crate) fn sweep(&self, tick: u32) {
        for shard in &self.shards {
            shard.lock().retain(|idle| tick.wrapping_sub(idle.since) <= self.most_ticks);
        }
    }

    fn shard(&self) -> &Mutex<Vec<Idle>> {
        let index = SHARD.with(|shard| {
            shard.get().unwrap_or_else(|| {
                let index = self.next_shard.fetch_add(1, Ordering::Relaxed);
                shard.set(Some(index));
                index
            })
        });
        &self.shards[index % self.shards.len()]
    }
}
