//! How is a latency measured that does not depend on where the scheduler puts whom?
//!
//! With everybody on one core, an answer takes the work of all who take part and the switches between them. Spread over
//! cores, the same answer also takes the waking of idle ones, five times as much or nothing at all, as it happens.

use std::{
    fs, io,
    path::PathBuf,
    process::{Command, Stdio},
};

/// Processes held on one core until dropped.
pub(crate) struct Pinned {
    taskset: Option<PathBuf>,
    pids: Vec<u32>,
    /// The cores that this program was given.
    given: String,
}

impl Pinned {
    /// Holds this program and `others` on one core. Without `taskset` nothing is held.
    ///
    /// # Errors
    /// A process that is gone, or may not be moved.
    pub(crate) fn with(taskset: Option<&PathBuf>, others: impl IntoIterator<Item = u32>) -> io::Result<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        let given = cores(&status).ok_or_else(|| io::Error::other("the kernel names no cores"))?.to_owned();
        let pids = others.into_iter().chain([std::process::id()]).collect();
        let pinned = Self { taskset: taskset.cloned(), pids, given };
        pinned.hold(last(&pinned.given))?;
        Ok(pinned)
    }

    fn hold(&self, cores: &str) -> io::Result<()> {
        let Some(taskset) = &self.taskset else { return Ok(()) };
        for pid in &self.pids {
            let status = Command::new(taskset)
                .args(["-a", "-c", "-p", cores, &pid.to_string()])
                .stdout(Stdio::null())
                .status()?;
            if !status.success() {
                return Err(io::Error::other(format!("taskset on {pid}: {status}")));
            }
        }
        Ok(())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = self.hold(&self.given) {
            eprintln!("bench: still on one core: {error}");
        }
    }
}

fn cores(status: &str) -> Option<&str> {
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim)
}

/// The last core of a list such as `0-3,8`.
fn last(list: &str) -> &str {
    list.rsplit(['-', ',']).next().unwrap_or(list)
}

#[cfg(test)]
mod tests {
    use super::{cores, last};

    #[test]
    fn the_last_core_of_a_list_is_found() {
        assert_eq!(cores("Name:\tx\nCpus_allowed_list:\t0-3,8\n"), Some("0-3,8"));
        assert_eq!((last("0-3,8"), last("0-1"), last("5")), ("8", "1", "5"));
    }
}
