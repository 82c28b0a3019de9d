//! Since when does a process run?

use super::machine::Machine;

/// Of a second of the kernel's times, whatever its own clock does.
const TICKS: i64 = 100;

/// When a process was started, in whole seconds since 1970. It may have been up to a second later.
pub(super) fn at_s(machine: &Machine, process: i32) -> Option<i64> {
    let system = machine.text("/proc/stat").ok()?;
    let up_since: i64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let stat = machine.text(format!("/proc/{process}/stat")).ok()?;
    // `id (name) state …`: of the words after the name the 20th, which the manual counts as the 22nd field.
    let ticks: i64 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some(up_since + ticks / TICKS)
}
