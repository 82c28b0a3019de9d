//! How many system calls does one request take? Counted by strace, as the slope between two loads.

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    load::{self, Until},
    machine::{pause, traced},
    peers::{Peer, Running, Yard, signal},
    plan::{CONNECTIONS, Plan},
    wire::Shape,
};

pub(crate) type SyscallsByPeer = BTreeMap<(Peer, &'static str), f64>;

/// # Errors
/// strace cannot attach, or an answer is not a 200.
pub(crate) fn measure(yard: &Yard, plan: &Plan, strace: &Path) -> io::Result<SyscallsByPeer> {
    let mut found = SyscallsByPeer::new();
    for peer in yard.present() {
        let running = yard.start(peer, &[])?;
        for shape in Shape::ALL {
            let [few, many] = plan.strace;
            let less = count(yard, strace, &running, shape, few)?;
            let more = count(yard, strace, &running, shape, many)?;
            found.insert((peer, shape.key()), (more - less) / (many - few) as f64);
        }
        running.stop()?;
    }
    Ok(found)
}

fn count(yard: &Yard, strace: &Path, running: &Running, shape: Shape, requests: u64) -> io::Result<f64> {
    let table = yard.file("strace.out");
    let mut tracer = Command::new(strace)
        .args(["-f", "-c", "-q", "-o"])
        .arg(&table)
        .arg("-p")
        .arg(running.pid().to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let end = Instant::now() + Duration::from_secs(10);
    while !traced(running.pid()) {
        if tracer.try_wait()?.is_some() || Instant::now() > end {
            return Err(io::Error::other("strace could not attach; it needs the right to trace"));
        }
        pause(Duration::from_millis(10));
    }
    let loaded = load::run(running.port, &shape.request(), CONNECTIONS, Until::Requests(requests));
    signal("INT", tracer.id())?;
    tracer.wait()?;
    loaded?;
    total(&fs::read_to_string(&table)?).ok_or_else(|| io::Error::other("strace left no total"))
}

/// The number of calls in strace's summary.
fn total(summary: &str) -> Option<f64> {
    let line = summary.lines().rev().find(|line| line.ends_with(" total"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_total_is_the_fourth_column() {
        let summary = "% time     seconds  usecs/call     calls    errors syscall\n\
            ------ ----------- ----------- --------- --------- ----------------\n \
            60.00    0.010000           2      4000           write\n\
            ------ ----------- ----------- --------- --------- ----------------\n\
            100.00    0.017000           2      8123        12 total\n";
        assert_eq!(super::total(summary), Some(8123.0));
    }
}
