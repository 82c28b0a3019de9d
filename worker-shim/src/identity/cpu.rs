//! Which processor is this, as far as it decides how numbers come out?

use super::device::field;
use super::hash::hex;
use super::machine::Machine;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// Lines that name a processor: of x86, then of ARM.
const NAMES: &[&str] = &[
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
];

/// Lines that list what it can do: x86, ARM.
const FLAGS: &[&str] = &["flags", "Features"];

/// Its name with a digest of its sorted instruction sets; none when there are different ones, for any of them may compute.
pub(super) fn of(machine: &Machine) -> Option<String> {
    let text = machine.text("/proc/cpuinfo").ok()?;
    let kinds: BTreeSet<_> = text.split("\n\n").filter(|one| field(one, "processor").is_some()).map(one).collect();
    let mut kinds = kinds.into_iter();
    kinds.next().flatten().filter(|_| kinds.next().is_none())
}

fn one(text: &str) -> Option<String> {
    let names: Vec<_> = NAMES.iter().filter_map(|name| field(text, name)).collect();
    let flags: BTreeSet<_> = FLAGS.iter().find_map(|name| field(text, name))?.split_ascii_whitespace().collect();
    if names.is_empty() || flags.is_empty() {
        return None;
    }
    let flags: Vec<_> = flags.into_iter().collect();
    Some(format!("cpu:{} flags:sha256:{}", names.join(" "), hex(&Sha256::digest(flags.join(" ")))))
}
