//! How is the engine's process started, signalled, and got rid of with everything that it started?
//!
//! Invariant: a signal goes to no process but the engine's own. Its group has the id of its first process, the leader. While the leader
//! is a child of ours, ended or not, that number is taken. When it has been reaped, the number stays taken for as long as the group has a
//! member; with the last member's end it may become anybody's. So before each signal the kernel is asked whether a *child of ours* is in
//! the group. What the leader leaves behind becomes a child of ours (we are a child subreaper, or PID 1), and a child of ours, also one
//! that has ended, leaves its group in one way only: when we reap it. Starting, signalling and reaping happen on one thread, the thread of
//! the loop that owns both [`Process`] and [`Reaper`]; so nothing is reaped between the question and the signal, and a "yes" still holds
//! when the signal is sent. A group in which no child of ours is left is never signalled, whoever has its number now. A descendant
//! that has left the group (`setsid`) is a child of ours too once its parents are gone, and is signalled by its own number: by the same rule.

mod reaper;
mod strays;

pub use reaper::{End, Reaper};

use crate::output::{Output, Stream};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::Id;
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// The engine's process, and the group that it leads.
#[derive(Debug)]
pub struct Process {
    leader: Pid,
    /// Ends with the two threads that pass its output through.
    output: mpsc::Receiver<Infallible>,
    /// When what is left of the group is killed; set when [`Process::clear`] begins.
    kill_at: Option<Instant>,
    /// What has left the group, and the signals that it was given.
    told: BTreeSet<(Pid, i32)>,
}

impl Process {
    /// Starts the command as the leader of a new process group; stdin is null, stdout and stderr go through `output`.
    ///
    /// # Errors
    /// `NotFound`: there is no such program. `PermissionDenied`: it is not executable. `InvalidInput`: the command is empty. Others as the
    /// system has them.
    pub fn start(command: &[OsString], output: &Arc<Output>) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let (open, ended) = mpsc::channel(1);
        let stdout = output.passing(Stream::Stdout, open.clone())?;
        let stderr = output.passing(Stream::Stderr, open)?;
        output.begin();
        // Our ends of the pipes are closed with the command: then the engine's are the last.
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .spawn()?;
        let id = i32::try_from(child.id()).expect("the system's process ids are positive i32");
        Ok(Self { leader: Pid::from_raw(id), output: ended, kill_at: None, told: BTreeSet::new() })
    }

    /// The id of the leader, and of its group.
    pub const fn id(&self) -> i32 {
        self.leader.as_raw()
    }

    /// Signals the whole group. A group that is gone is no error.
    pub fn signal(&self, signal: Signal) {
        if !reaper::is_there(Id::PGid(self.leader)) {
            return;
        }
        if let Err(error) = killpg(self.leader, signal) {
            tracing::warn!(%error, %signal, "the engine's process group cannot be signalled");
        }
    }

    /// Gets rid of what the leader has left behind, after [`Reaper::ended`] has told its end: SIGTERM, and after `patience` SIGKILL. That
    /// is its group, and whoever left that, unless children of ours may be somebody else's: some were there before, or we are PID 1.
    /// Orphaned workers hold memory of the device and ports, so the next process starts after this. True: nothing is left. False: something
    /// is there even `patience` after SIGKILL, which happens to a process that is stuck in a driver. Cancel-safe: asked again it goes on.
    pub async fn clear(&mut self, reaper: &mut Reaper, patience: Duration) -> bool {
        let kill_at = match self.kill_at {
            Some(at) => at,
            None => {
                self.signal(Signal::SIGTERM);
                *self.kill_at.insert(Instant::now() + patience)
            }
        };
        if timeout_at(kill_at, reaper.emptied(self.leader, Signal::SIGTERM, &mut self.told)).await.is_ok() {
            return true;
        }
        self.signal(Signal::SIGKILL);
        timeout_at(kill_at + patience, reaper.emptied(self.leader, Signal::SIGKILL, &mut self.told)).await.is_ok()
    }

    /// Waits until all that it wrote has been passed on. Give it a limit: who left the group and still holds the pipe, or a reader of ours
    /// that stands still, can make it wait for ever. Cancel-safe.
    pub async fn drained(&mut self) {
        // Nothing is ever sent: it is over when both senders have been dropped.
        self.output.recv().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    // Children are waited for by id, and no reaper runs in this binary: nothing is stolen.
    #[test]
    fn a_group_without_a_child_of_ours_is_not_signalled() {
        let mut shell = Command::new("sh")
            .args(["-c", "setsid sh -c 'echo $$; exec sleep 600' & wait $!; echo $?"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut lines = BufReader::new(shell.stdout.take().expect("it is piped")).lines();
        let mut line = || lines.next().expect("the shell writes").expect("text");
        let stranger = Pid::from_raw(line().parse().expect("an id"));
        let (_, output) = mpsc::channel(1);
        let process = Process { leader: stranger, output, kill_at: None, told: BTreeSet::new() };
        process.signal(Signal::SIGKILL);
        killpg(stranger, Signal::SIGTERM).expect("it is alive and a group of its own");
        assert_eq!(line(), (128 + Signal::SIGTERM as i32).to_string(), "it ended by the first signal that reached it");
        shell.wait().expect("it is our child");
    }
}
