//! Is it good enough? The figures that the sidecar is held to.

use std::fmt;

use serde_json::{Value, json};

use crate::{
    peers::Peer::{Nginx, Spillway, Stock},
    report::{Report, megabytes},
    stats::median,
    wire::Shape::{Rich, Small},
};

/// An upper limit and what was measured against it.
pub(crate) struct Target {
    name: &'static str,
    /// `None` where it was not measured, or what it is compared with was not.
    value: Option<f64>,
    limit: f64,
    /// Comes out the same on a busy machine, so a run may be failed for it.
    pub(crate) steady: bool,
}

impl Target {
    /// Whether the limit is kept; `None` where nothing was measured.
    pub(crate) fn met(&self) -> Option<bool> {
        self.value.filter(|value| value.is_finite()).map(|value| value <= self.limit)
    }

    fn verdict(&self) -> &'static str {
        match self.met() {
            None => "-",
            Some(false) => "short",
            Some(true) => "pass",
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "value": self.value,
            "limit": self.limit,
            "steady": self.steady,
            "met": self.met(),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        write!(f, "{:<46}{value:>9}{:>9}  {}", self.name, self.limit, self.verdict())
    }
}

/// Every target, in the order of the table.
pub(crate) fn targets(report: &Report) -> Vec<Target> {
    let counts = |peer, shape: crate::wire::Shape| report.counts.get(&(peer, shape.key()));
    let instructions = |other, shape| Some(counts(Spillway, shape)?.instructions / counts(other, shape)?.instructions);
    let cpu = |other, shape| report.cpu_ratios(Spillway, other, shape).map(|ratios| median(&ratios));
    let memory = report.memory.get(&Spillway);
    let added = |peer| report.added(peer, Small).map(|added| median(&added));
    let steady = |name, value, limit| Target { name, value, limit, steady: true };
    let moody = |name, value, limit| Target { name, value, limit, steady: false };
    vec![
        steady("instructions, times nginx, 75 B", instructions(Nginx, Small), 0.75),
        steady("instructions, times nginx, 1 KB", instructions(Nginx, Rich), 0.75),
        steady("instructions, times stock, 75 B", instructions(Stock, Small), 0.20),
        steady("instructions, times stock, 1 KB", instructions(Stock, Rich), 0.20),
        steady("allocations per request, 75 B", counts(Spillway, Small).map(|counts| counts.allocations), 10.0),
        steady("system calls per request, 75 B", report.syscalls.get(&(Spillway, Small.key())).copied(), 4.4),
        moody("CPU, times nginx, 75 B", cpu(Nginx, Small), 1.05),
        moody("CPU, times nginx, 1 KB", cpu(Nginx, Rich), 0.9),
        moody("CPU, times stock, 75 B", cpu(Stock, Small), 0.4),
        moody(
            "added p50 at one connection, times nginx",
            Option::zip(added(Spillway), added(Nginx)).map(|(s, n)| s / n),
            1.15,
        ),
        steady("RSS idle, MB", memory.map(|memory| megabytes(memory.idle)), 15.0),
        steady("RSS per idle stream, KiB", memory.map(|memory| memory.per_stream), 6.0),
        steady("RSS after streams closed, times idle", memory.map(|memory| memory.after / memory.idle), 1.15),
        steady("RSS of the shim, MB", report.shim.map(|shim| megabytes(shim.resident)), 8.0),
        moody("refusal from the engine's state, p50 us", report.foreseen.map(|foreseen| foreseen.refused), 50.0),
        moody(
            "change of state to acting on it, longest us",
            report.foreseen.map(|foreseen| foreseen.seen_most),
            5000.0,
        ),
        moody("refusal to re-issue, p50 us", report.bridge.map(|bridge| bridge.reissue), 300.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::Target;

    fn target(value: Option<f64>) -> Target {
        Target { name: "x", value, limit: 1.0, steady: true }
    }

    #[test]
    fn a_limit_is_kept_up_to_and_including_itself() {
        assert_eq!(target(Some(1.0)).met(), Some(true));
        assert_eq!(target(Some(1.01)).met(), Some(false));
        assert_eq!(target(None).met(), None);
        assert_eq!(target(Some(f64::NAN)).met(), None);
    }
}
