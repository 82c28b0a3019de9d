//! The engine's process as the loop has it: started, signalled, ended, cleared away.

use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::output::Output;
use crate::process::{End, Process, Reaper};
use crate::state::{Event, SpawnFault};

/// What the leader leaves behind has at most this long to end after SIGTERM: nobody waits for its answers any more.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the last words of an engine that has ended may take to be passed on.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The engine's process, and all children.
pub(super) struct Engine {
    reaper: Reaper,
    process: Option<Process>,
    /// What `process` is or was.
    stage: Stage,
    end: Option<End>,
    output: Arc<Output>,
    patience: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// The leader has ended; its group is being cleared away.
    Clearing,
    /// Something of the group does not end, even killed.
    Stuck,
    Gone,
}

impl Engine {
    pub(super) fn new(config: &Config, output: Arc<Output>) -> io::Result<Self> {
        let patience = config.stop.min(PATIENCE);
        Ok(Self { reaper: Reaper::new()?, process: None, stage: Stage::Gone, end: None, output, patience })
    }

    /// Starts it. Only when nothing of an earlier one is left.
    pub(super) fn start(&mut self, command: &[OsString]) -> Event {
        match Process::start(command, &self.output) {
            Ok(process) => {
                tracing::info!(process = process.id(), "the engine was started");
                (self.process, self.stage) = (Some(process), Stage::Running);
                Event::Spawned
            }
            Err(error) => {
                tracing::error!(%error, "the engine cannot be started");
                Event::NotSpawned(match error.kind() {
                    io::ErrorKind::NotFound => SpawnFault::NotFound,
                    _ => SpawnFault::NotRun,
                })
            }
        }
    }

    /// The id of the process that runs.
    pub(super) fn id(&self) -> Option<i32> {
        self.process.as_ref().filter(|_| self.stage == Stage::Running).map(Process::id)
    }

    /// How the last process ended.
    pub(super) const fn end(&self) -> Option<End> {
        self.end
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.signal(signal);
        }
    }

    /// What becomes of it. `ending`: nothing is started after it, so that what does not end is left behind. Cancel-safe.
    pub(super) async fn next(&mut self, ending: bool) -> Event {
        let Some(process) = &mut self.process else { self.reaper.reap().await };
        loop {
            match self.stage {
                Stage::Running => {
                    let end = self.reaper.ended(process.id()).await;
                    (self.end, self.stage) = (Some(end), Stage::Clearing);
                    return Event::Ended(end.exit_code());
                }
                Stage::Clearing | Stage::Stuck => {
                    if process.clear(&mut self.reaper, self.patience).await || ending {
                        self.stage = Stage::Gone;
                        return Event::Cleared;
                    }
                    if self.stage == Stage::Clearing {
                        tracing::warn!(
                            "what the engine left behind cannot be killed: nothing is started before it is gone"
                        );
                    }
                    self.stage = Stage::Stuck;
                    sleep(self.patience).await;
                }
                Stage::Gone => self.reaper.reap().await,
            }
        }
    }

    /// Waits until what it wrote last has been passed on.
    pub(super) async fn drained(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = timeout(LAST_WORDS, process.drained()).await;
        }
    }
}
