//! What was found, as a table for people and as JSON for machines?

use serde_json::{Map, Value, json};

use crate::{
    bridge::Bridge,
    callgrind::CountsByPeer,
    foreseen::Foreseen,
    machine::Machine,
    peers::Peer,
    rounds::{Rounds, Series},
    shim::Shim,
    stats::{differences, least, median, quantile, ratios},
    streams::MemoryByPeer,
    syscalls::SyscallsByPeer,
    targets::{Target, targets},
    wire::Shape,
};

/// Columns of the table: the engine asked directly, then the peers.
const COLUMNS: [(&str, Option<Peer>); 4] =
    [("direct", None), ("spillway", Some(Peer::Spillway)), ("nginx", Some(Peer::Nginx)), ("stock", Some(Peer::Stock))];

pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) quick: bool,
    pub(crate) rounds: Rounds,
    pub(crate) counts: CountsByPeer,
    pub(crate) syscalls: SyscallsByPeer,
    pub(crate) memory: MemoryByPeer,
    pub(crate) bridge: Option<Bridge>,
    pub(crate) foreseen: Option<Foreseen>,
    pub(crate) shim: Option<Shim>,
    targets: Vec<Target>,
}

/// One measure, for whoever was measured.
struct Row {
    key: &'static str,
    name: &'static str,
    digits: usize,
    values: [Option<f64>; 4],
}

impl Report {
    pub(crate) fn new(machine: Machine, quick: bool) -> Self {
        Self {
            machine,
            quick,
            rounds: Rounds::new(),
            counts: CountsByPeer::new(),
            syscalls: SyscallsByPeer::new(),
            memory: MemoryByPeer::new(),
            bridge: None,
            foreseen: None,
            shim: None,
            targets: Vec::new(),
        }
    }

    /// Holds what was measured against the targets.
    pub(crate) fn judge(&mut self) {
        self.targets = targets(self);
    }

    /// Whether a target is missed that holds on any machine.
    pub(crate) fn short(&self) -> bool {
        self.targets.iter().any(|target| target.steady && target.met() == Some(false))
    }

    pub(crate) fn series(&self, peer: Option<Peer>, shape: Shape) -> Option<&Series> {
        self.rounds.get(&(peer, shape.key()))
    }

    /// CPU time of `peer` over that of `other`, round by round.
    pub(crate) fn cpu_ratios(&self, peer: Peer, other: Peer, shape: Shape) -> Option<Vec<f64>> {
        Some(ratios(&self.series(Some(peer), shape)?.cpu, &self.series(Some(other), shape)?.cpu))
    }

    /// Microseconds that `peer` adds to an answer on one connection, round by round.
    pub(crate) fn added(&self, peer: Peer, shape: Shape) -> Option<Vec<f64>> {
        Some(differences(&self.series(Some(peer), shape)?.single, &self.series(None, shape)?.single))
    }

    fn sections(&self) -> Vec<(&'static str, &'static str, Vec<Row>)> {
        let mut sections: Vec<_> =
            Shape::ALL.into_iter().map(|shape| (shape.key(), shape.name(), self.pass_through(shape))).collect();
        sections.push(("memory", "memory", self.memory_rows()));
        sections.push(("bridge", "refused, then re-issued", self.bridge_rows()));
        sections.push(("foreseen", "refused from the engine's state", self.foreseen_rows()));
        sections.push(("shim", "the shim beside an idle engine", self.shim_rows()));
        sections
    }

    fn pass_through(&self, shape: Shape) -> Vec<Row> {
        let counts = |peer: Option<Peer>| self.counts.get(&(peer?, shape.key()));
        let calls = |peer: Option<Peer>| self.syscalls.get(&(peer?, shape.key())).copied();
        let series = |peer| self.series(peer, shape);
        let cpu = |peer: Option<Peer>| peer.and_then(|peer| series(Some(peer)));
        let ratio = |part| move |peer: Option<Peer>| Some(quantile(&self.cpu_ratios(peer?, Peer::Nginx, shape)?, part));
        vec![
            row("instructions", "instructions per request", 0, |peer| counts(peer).map(|c| c.instructions)),
            row("allocations", "allocations per request", 1, |peer| counts(peer).map(|c| c.allocations)),
            row("syscalls", "system calls per request", 2, calls),
            row("cpu_us", "CPU us per request, median", 1, |peer| cpu(peer).map(|s| median(&s.cpu))),
            row("cpu_us_least", "CPU us per request, least", 1, |peer| cpu(peer).map(|s| least(&s.cpu))),
            row("cpu_x_nginx", "CPU, times nginx, median", 2, ratio(0.5)),
            row("cpu_x_nginx_low", "CPU, times nginx, lower quartile", 2, ratio(0.25)),
            row("cpu_x_nginx_high", "CPU, times nginx, upper quartile", 2, ratio(0.75)),
            row("rate", "answers per second, 16 connections", 0, |peer| series(peer).map(|s| median(&s.rate))),
            row("p50_us", "p50 us, one connection", 0, |peer| series(peer).map(|s| median(&s.single))),
            row("added_p50_us", "added p50 us, one connection", 1, |peer| Some(median(&self.added(peer?, shape)?))),
        ]
    }

    fn memory_rows(&self) -> Vec<Row> {
        let memory = |peer: Option<Peer>| self.memory.get(&peer?);
        vec![
            row("idle_mb", "RSS idle, MB", 1, |peer| memory(peer).map(|m| megabytes(m.idle))),
            row("stream_kib", "RSS per idle stream, KiB", 2, |peer| memory(peer).map(|m| m.per_stream)),
            row("after_close", "RSS after their close, times idle", 2, |peer| memory(peer).map(|m| m.after / m.idle)),
        ]
    }

    fn bridge_rows(&self) -> Vec<Row> {
        let only = |value: fn(&Bridge) -> f64| {
            move |peer| if peer == Some(Peer::Spillway) { self.bridge.as_ref().map(value) } else { None }
        };
        vec![
            row("reissue_us", "refusal to re-issue, p50 us", 0, only(|b| b.reissue)),
            row("buffered_us", "buffered answer, p50 us", 0, only(|b| b.buffered)),
            row("buffered_added_us", "  more than both asked directly, us", 0, only(|b| b.buffered_added)),
            row("first_event_us", "first event of a stream, p50 us", 0, only(|b| b.first_event)),
            row("first_event_added_us", "  more than both asked directly, us", 0, only(|b| b.first_event_added)),
            row("together_us", "64 embeddings in one request, p50 us", 0, only(|b| b.together)),
            row("apart_us", "  in one request per input, us", 0, only(|b| b.apart)),
        ]
    }

    fn foreseen_rows(&self) -> Vec<Row> {
        let only = |value: fn(&Foreseen) -> f64| {
            move |peer| if peer == Some(Peer::Spillway) { self.foreseen.as_ref().map(value) } else { None }
        };
        vec![
            row("refused_us", "whole refusal, p50 us", 0, only(|f| f.refused)),
            row("seen_us", "change of state to acting on it, us", 0, only(|f| f.seen)),
            row("seen_most_us", "  the longest, us", 0, only(|f| f.seen_most)),
        ]
    }

    fn shim_rows(&self) -> Vec<Row> {
        let only = |value: fn(&Shim) -> f64| {
            move |peer| if peer == Some(Peer::Spillway) { self.shim.as_ref().map(value) } else { None }
        };
        vec![
            row("resident_mb", "RSS, MB", 1, only(|shim| megabytes(shim.resident))),
            row("cpu_us", "CPU us per second", 0, only(|shim| shim.cpu)),
        ]
    }

    pub(crate) fn print(&self) {
        let machine = &self.machine;
        println!("{} cores, {}, Linux {}", machine.cores, machine.processor, machine.kernel);
        println!("load average {} before, {} after", machine.load_before, machine.load_after);
        for (name, version) in &machine.versions {
            println!("{name:<9} {version}");
        }
        if self.quick {
            println!("quick run: few and short rounds; times are rough");
        }
        for (_, title, rows) in self.sections() {
            println!("\n{title:<36}{}", COLUMNS.map(|(name, _)| format!("{name:>11}")).concat());
            for row in rows {
                println!("  {:<34}{}", row.name, row.values.map(|value| cell(value, row.digits)).concat());
            }
        }
        println!("\n{:<48}{:>9}{:>9}", "targets", "value", "limit");
        for target in &self.targets {
            println!("  {target}");
        }
        println!(
            "callgrind counts a copy above about 8 KB as one instruction per byte; times mean something only as ratios"
        );
    }

    pub(crate) fn json(&self) -> Value {
        let machine = &self.machine;
        let versions: Map<String, Value> = machine.versions.iter().map(|(n, v)| ((*n).to_owned(), json!(v))).collect();
        let sections: Map<String, Value> = self
            .sections()
            .into_iter()
            .map(|(key, _, rows)| (key.to_owned(), rows.iter().map(|row| (row.key.to_owned(), row.json())).collect()))
            .collect();
        json!({
            "quick": self.quick,
            "machine": {
                "cores": machine.cores,
                "processor": machine.processor,
                "kernel": machine.kernel,
                "load_before": machine.load_before,
                "load_after": machine.load_after,
            },
            "versions": versions,
            "measured": sections,
            "targets": self.targets.iter().map(Target::json).collect::<Vec<_>>(),
        })
    }
}

impl Row {
    fn json(&self) -> Value {
        COLUMNS.iter().zip(self.values).map(|((name, _), value)| ((*name).to_owned(), json!(value))).collect()
    }
}

fn row(key: &'static str, name: &'static str, digits: usize, value: impl Fn(Option<Peer>) -> Option<f64>) -> Row {
    Row { key, name, digits, values: COLUMNS.map(|(_, peer)| value(peer).filter(|value| value.is_finite())) }
}

fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| format!("{:>11}", "-"), |value| format!("{value:>11.digits$}"))
}

/// KiB in millions of bytes.
pub(crate) fn megabytes(kib: f64) -> f64 {
    kib * 1024.0 / 1e6
}
