//! How is the end of a process seen, when every process that nobody else waits for is ours to reap?

use super::strays;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid};
use std::collections::BTreeSet;
use std::io;
use tokio::signal::unix::{Signal as Ended, SignalKind, signal};

/// Waits for all children, the engine and the orphans that it leaves, of which this program may be PID 1. There is one per program, it lives
/// on the thread that starts the engine, and nothing else in the program may wait for a child.
#[derive(Debug)]
pub struct Reaper {
    children: Ended,
    /// Every child is the engine's: there was none before it, and no orphans come to us but its own.
    knows_all: bool,
}

/// How a process ended. Neither code nor signal: how is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its exit code, when it exited.
    pub code: Option<i32>,
    /// The signal's number, when a signal ended it.
    pub signal: Option<i32>,
}

impl End {
    const UNKNOWN: Self = Self { code: None, signal: None };

    /// The exit code of a shim whose engine ended so, as a shell has it: the engine's own, 128 and the signal's number, or 1.
    pub fn exit_code(self) -> u8 {
        let code = self.code.or_else(|| self.signal.map(|number| 128 + number));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
    }

    /// Whether it exited with code 0.
    pub fn is_fine(self) -> bool {
        self.code == Some(0)
    }
}

impl Reaper {
    /// Begins to listen for ended children, and makes this program the parent of what the engine leaves behind. Must be called within a
    /// tokio runtime.
    ///
    /// # Errors
    /// When SIGCHLD cannot be listened for.
    pub fn new() -> io::Result<Self> {
        if let Err(error) = prctl::set_child_subreaper(true) {
            tracing::warn!(%error, "what the engine leaves behind cannot be adopted, and will not be ended");
        }
        // PID 1 gets the orphans of whatever is started beside it; with its own end everything ends.
        let knows_all = getpid() != Pid::from_raw(1) && !is_there(Id::All);
        Ok(Self { children: signal(SignalKind::child())?, knows_all })
    }

    /// Waits until the process with this id has ended, reaping every other child on the way. Cancel-safe: the kernel keeps an end until this
    /// takes it, and it is told at once when it is taken. It can be taken once; the end of a process that is no child of ours any more is
    /// not known. So one engine is waited for at a time.
    pub async fn ended(&mut self, id: i32) -> End {
        let leader = Pid::from_raw(id);
        loop {
            while let Some(status) = reap() {
                match status {
                    WaitStatus::Exited(pid, code) if pid == leader => return End { code: Some(code), signal: None },
                    WaitStatus::Signaled(pid, signal, _) if pid == leader => {
                        return End { code: None, signal: Some(signal as i32) };
                    }
                    _ => {}
                }
            }
            if !is_there(Id::Pid(leader)) {
                return End::UNKNOWN;
            }
            self.children.recv().await;
        }
    }

    /// Reaps while there is no engine: orphans that left its group may still end. Never returns; cancel-safe.
    pub async fn reap(&mut self) -> ! {
        loop {
            while reap().is_some() {}
            self.children.recv().await;
        }
    }

    /// Waits until no child of ours is left in the group, nor outside it where every child is the engine's, reaping those that end. A
    /// child's own children become ours before its end can be seen, so a group with none of ours in it is empty, but for those whose
    /// parent left the group and lives. Each stray is given `signal` once, when it comes to light; `told` keeps who has it, and the group has it already.
    pub(super) async fn emptied(&mut self, group: Pid, signal: Signal, told: &mut BTreeSet<(Pid, i32)>) {
        loop {
            while reap().is_some() {}
            let is_anybody_left = is_there(Id::PGid(group)) || (self.knows_all && is_there(Id::All));
            if !is_anybody_left {
                return;
            }
            let strays = if self.knows_all { strays::outside(group) } else { Vec::new() };
            for stray in strays.into_iter().filter(|stray| told.insert((*stray, signal as i32))) {
                tracing::info!(process = stray.as_raw(), %signal, "the engine has left a process outside its group");
                // It has ended, or it is another user's: then it is waited for as the others are.
                let _ = kill(stray, signal);
            }
            self.children.recv().await;
        }
    }
}

/// Whether there is such a child of ours, ended or not. Nothing is reaped.
pub(super) fn is_there(which: Id<'_>) -> bool {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(which, look) != Err(Errno::ECHILD)
}

/// Reaps one child that has ended; none when none has.
fn reap() -> Option<WaitStatus> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return None,
            Ok(status) => return Some(status),
            // Interrupted; or a child was reaped that a real-time signal ended, for which there is no name.
            Err(_) => {}
        }
    }
}
