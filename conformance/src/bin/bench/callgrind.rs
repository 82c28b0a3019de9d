//! How many instructions and allocations does one request take?
//!
//! Two runs that differ only in the number of requests; what start-up and connections cost is in both and falls out.
//! Mind when reading: callgrind counts a large copy (above 8 KB or so) as one instruction per byte.

use std::{collections::BTreeMap, fs, io, path::Path};

use crate::{
    load::{self, Until},
    peers::{Peer, Yard},
    plan::{CONNECTIONS, Plan},
    wire::Shape,
};

/// Of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counts {
    /// User-space instructions.
    pub(crate) instructions: f64,
    /// Calls of malloc, calloc, realloc and their kin.
    pub(crate) allocations: f64,
}

pub(crate) type CountsByPeer = BTreeMap<(Peer, &'static str), Counts>;

/// # Errors
/// valgrind or a peer does not start, or an answer is not a 200.
pub(crate) fn measure(yard: &Yard, plan: &Plan, valgrind: &Path) -> io::Result<CountsByPeer> {
    let mut counts = CountsByPeer::new();
    for peer in yard.present() {
        for shape in Shape::ALL {
            let [few, many] = plan.callgrind;
            let (less, more) = (once(yard, valgrind, peer, shape, few)?, once(yard, valgrind, peer, shape, many)?);
            let requests = (many - few) as f64;
            let slope = Counts {
                instructions: (more.instructions - less.instructions) / requests,
                allocations: (more.allocations - less.allocations) / requests,
            };
            counts.insert((peer, shape.key()), slope);
        }
    }
    Ok(counts)
}

fn once(yard: &Yard, valgrind: &Path, peer: Peer, shape: Shape, requests: u64) -> io::Result<Counts> {
    let profile = yard.file("callgrind.out");
    let mut place = std::ffi::OsString::from("--callgrind-out-file=");
    place.push(&profile);
    let under = [valgrind.into(), "--tool=callgrind".into(), place];
    let running = yard.start(peer, &under)?;
    load::run(running.port, &shape.request(), CONNECTIONS, Until::Requests(requests))?;
    running.stop()?;
    read(&fs::read_to_string(&profile)?)
}

/// Reads the totals of a profile.
fn read(profile: &str) -> io::Result<Counts> {
    let mut instructions = None;
    let mut allocations = 0.0;
    // Names are spelled out at their first mention and numbered afterwards.
    let mut allocators: Vec<&str> = Vec::new();
    let mut callee_allocates = false;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
            let (number, spelled) = name.split_once(' ').map_or((name, None), |(number, name)| (number, Some(name)));
            if spelled.is_some_and(allocates) {
                allocators.push(number);
            }
            callee_allocates = allocators.contains(&number);
        } else if let Some(calls) = line.strip_prefix("calls=") {
            if callee_allocates {
                allocations += calls.split(' ').next().and_then(|count| count.parse::<f64>().ok()).unwrap_or(0.0);
            }
        } else if let Some(total) = line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")) {
            instructions = total.trim().parse().ok();
        }
    }
    let instructions = instructions.ok_or_else(|| io::Error::other("callgrind left no totals"))?;
    Ok(Counts { instructions, allocations })
}

/// Whether a function hands out memory, in glibc's names and in jemalloc's.
fn allocates(name: &str) -> bool {
    let name = name.split(['@', '\'']).next().unwrap_or(name);
    let name = name.strip_prefix("_rjem_").unwrap_or(name);
    matches!(
        name,
        "malloc" | "calloc" | "realloc" | "memalign" | "posix_memalign" | "aligned_alloc" | "mallocx" | "rallocx"
    )
}

#[cfg(test)]
mod tests {
    use super::{Counts, allocates, read};

    #[test]
    fn calls_of_allocators_are_summed_and_others_are_not() {
        let profile = "fn=(1) main\n1 10\ncfn=(2) malloc\ncalls=3 0\n1 90\ncfn=(3) write\ncalls=7 0\n1 5\n\
            fn=(4) serve\ncfn=(2)\ncalls=4 0\n1 60\ncfn=(5) _rjem_mallocx\ncalls=1 0\n\nsummary: 170\n\ntotals: 171\n";
        assert_eq!(read(profile).expect("totals"), Counts { instructions: 171.0, allocations: 8.0 });
        assert!(read("fn=(1) main\n").is_err());
    }

    #[test]
    fn allocators_are_known_by_either_name() {
        assert!(allocates("malloc") && allocates("_rjem_realloc") && allocates("calloc'2"));
        assert!(!allocates("_rjem_je_malloc_default") && !allocates("free") && !allocates("malloc_consolidate"));
    }
}
