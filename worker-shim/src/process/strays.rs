//! Which children of ours are outside the engine's group?

use super::reaper::is_there;
use nix::sys::wait::Id;
use nix::unistd::{Pid, getpid};
use std::fs;

/// Their ids, each asked back from the kernel: like a group's, a number that is told is a child of ours until we reap it.
pub(super) fn outside(group: Pid) -> Vec<Pid> {
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let strays = ids.filter(|id: &i32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let place = parent_and_group(&stat).is_some_and(|(parent, its)| parent == getpid() && its != group);
        place && is_there(Id::Pid(Pid::from_raw(*id)))
    });
    strays.map(Pid::from_raw).collect()
}

/// `id (name) state parent group …`; the name may have spaces and brackets.
fn parent_and_group(stat: &str) -> Option<(Pid, Pid)> {
    let mut rest = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(1);
    let mut id = || rest.next()?.parse().ok().map(Pid::from_raw);
    Some((id()?, id()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_the_parent_and_the_group_whatever_the_name() {
        let ids = |parent, group| Some((Pid::from_raw(parent), Pid::from_raw(group)));
        assert_eq!(parent_and_group("12 (a) 1 2) S 7 9 9 0 -1"), ids(7, 9));
        assert_eq!(parent_and_group("12 (sh) S 7"), None);
        assert_eq!(parent_and_group(""), None);
    }
}
