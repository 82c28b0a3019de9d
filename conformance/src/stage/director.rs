//! How does a case direct the engines that it cannot script, because they are processes of their own ([`crate::engine`])?
//!
//! Each engine keeps a line open to the director, tells what it does, and asks before each step; the case holds steps at gates, or ends the
//! engine there. Engines end when the director is dropped.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::gate::Gate;
use super::patience::within;
use crate::expect::{Finding, Verdict, same};

/// What happens at a step.
#[derive(Clone, Debug)]
enum Cue {
    Hold(Gate),
    Exit(u8),
}

#[derive(Debug, Default)]
struct Board {
    cues: Mutex<HashMap<String, Cue>>,
    told: watch::Sender<Vec<String>>,
}

/// The director of one stage.
#[derive(Debug)]
pub struct Director {
    path: PathBuf,
    board: Arc<Board>,
    listening: JoinHandle<()>,
}

impl Director {
    /// A director at this path.
    ///
    /// # Errors
    /// What the bind says.
    pub fn new(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let board = Arc::<Board>::default();
        let listening = tokio::spawn(listen(listener, Arc::clone(&board)));
        Ok(Self { path: path.to_owned(), board, listening })
    }

    /// Where engines find it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// From now on, engines wait at this step until the gate is open.
    pub fn hold(&self, step: &str) -> Gate {
        let gate = Gate::new();
        self.board.cues.lock().insert(step.to_owned(), Cue::Hold(gate.clone()));
        gate
    }

    /// From now on, an engine that comes to this step ends there with this code.
    pub fn exit(&self, step: &str, code: u8) {
        self.board.cues.lock().insert(step.to_owned(), Cue::Exit(code));
    }

    /// From now on, engines take this step at once, as they do every step that nobody named.
    pub fn go(&self, step: &str) {
        self.board.cues.lock().remove(step);
    }

    /// What engines told so far, in order.
    pub fn told(&self) -> Vec<String> {
        self.board.told.borrow().clone()
    }

    /// How often a line with this beginning was told.
    pub fn count(&self, beginning: &str) -> usize {
        count(&self.board.told.borrow(), beginning)
    }

    /// Waits until a line with this beginning was told so many times.
    ///
    /// # Errors
    /// A finding with everything that was told.
    pub async fn until(&self, beginning: &str, times: usize) -> Verdict {
        let mut told = self.board.told.subscribe();
        let wanted = |told: &Vec<String>| count(told, beginning) >= times;
        let seen = within(&format!("an engine to tell `{beginning}` {times} times"), told.wait_for(wanted)).await;
        let told = |finding: Finding| Finding::new(format!("{finding}; it told {:?}", self.told()));
        seen.map(|_| ()).map_err(told)
    }

    /// The process of the engine that was started last.
    ///
    /// # Errors
    /// A finding when there was none.
    pub fn engine(&self) -> Verdict<u32> {
        let told = self.board.told.borrow();
        let started = told.iter().rev().find_map(|line| line.strip_prefix("started ")?.parse().ok());
        started.ok_or_else(|| Finding::new("no engine was started"))
    }

    /// Fails unless exactly so many calls were executed.
    ///
    /// # Errors
    /// A finding with everything that was told.
    pub async fn executed(&self, times: usize) -> Verdict {
        // An answer may be here before the engine's word of it.
        self.until("executed ", times).await?;
        same("calls that the engine executed", &self.count("executed "), &times)
            .map_err(|finding| Finding::new(format!("{finding}\n  it told {:?}", self.told())))
    }
}

impl Director {
    /// Cuts every line, which ends the engines, as the end of the stage does.
    pub fn leave(&self) {
        self.listening.abort();
        self.board.told.send_modify(|told| told.push(CURTAIN.to_owned()));
    }
}

impl Drop for Director {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What ends every line.
const CURTAIN: &str = "the stage is gone";

fn count(told: &[String], beginning: &str) -> usize {
    told.iter().filter(|line| line.starts_with(beginning)).count()
}

async fn listen(listener: UnixListener, board: Arc<Board>) {
    while let Ok((stream, _)) = listener.accept().await {
        let board = Arc::clone(&board);
        tokio::spawn(async move {
            let mut told = board.told.subscribe();
            tokio::select! {
                () = attend(stream, &board) => {}
                _ = told.wait_for(|told| told.last().is_some_and(|last| last == CURTAIN)) => {}
            }
        });
    }
}

/// Hears one engine until it ends.
async fn attend(stream: UnixStream, board: &Arc<Board>) {
    let (read, mut write) = stream.into_split();
    let (sender, mut cues) = tokio::sync::mpsc::unbounded_channel::<String>();
    let mut lines = BufReader::new(read).lines();
    let mut engine = String::new();
    loop {
        tokio::select! {
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { break };
                match line.split_once(' ') {
                    Some(("tell", what)) => {
                        if let Some(id) = what.strip_prefix("started ") {
                            id.clone_into(&mut engine);
                        }
                        board.told.send_modify(|told| told.push(what.to_owned()));
                    }
                    Some(("ask", step)) => answer(step, board, sender.clone()),
                    _ => {}
                }
            }
            Some(cue) = cues.recv() => {
                // An engine that has ended needs no cue.
                write.write_all(cue.as_bytes()).await.ok();
            }
        }
    }
    board.told.send_modify(|told| told.push(format!("gone {engine}")));
}

/// Answers `N STEP`, now or when its gate opens.
fn answer(asked: &str, board: &Arc<Board>, sender: tokio::sync::mpsc::UnboundedSender<String>) {
    let (number, step) = asked.split_once(' ').unwrap_or((asked, ""));
    let go = format!("go {number}\n");
    // The receiver lives as long as the engine's line.
    match board.cues.lock().get(step).cloned() {
        None => drop(sender.send(go)),
        Some(Cue::Exit(code)) => drop(sender.send(format!("exit {code}\n"))),
        Some(Cue::Hold(gate)) => {
            tokio::spawn(async move {
                gate.pass().await;
                sender.send(go).ok();
            });
        }
    }
}
