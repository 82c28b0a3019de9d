//! How much of everything is measured?

use std::time::Duration;

pub(crate) struct Plan {
    /// Paired rounds of CPU time and latency.
    pub(crate) rounds: usize,
    /// How long each peer is loaded in a round.
    pub(crate) round: Duration,
    /// Requests on one connection, per peer and round, for the added latency.
    pub(crate) singles: u64,
    /// Requests at the two points of a slope under callgrind.
    pub(crate) callgrind: [u64; 2],
    /// Requests at the two points of a slope under strace.
    pub(crate) strace: [u64; 2],
    /// Idle streams held at once.
    pub(crate) streams: usize,
    /// How long after their close memory is read again.
    pub(crate) settle: Duration,
    /// Refused and re-issued calls, of each kind.
    pub(crate) bridged: usize,
}

/// Connections under load; callgrind and strace use as many.
pub(crate) const CONNECTIONS: usize = 16;
/// Requests that bring a peer to its working state before memory is first read.
pub(crate) const WARM_UP: u64 = 300;

pub(crate) const FULL: Plan = Plan {
    rounds: 11,
    round: Duration::from_millis(1500),
    singles: 2000,
    callgrind: [500, 1500],
    strace: [1000, 5000],
    streams: 1000,
    settle: Duration::from_secs(5),
    bridged: 1000,
};

pub(crate) const QUICK: Plan = Plan {
    rounds: 3,
    round: Duration::from_millis(300),
    singles: 300,
    callgrind: [200, 600],
    strace: [300, 900],
    streams: 1000,
    settle: Duration::from_secs(3),
    bridged: 200,
};
