//! The engine's line to its director: it tells what it does, and asks before each step.
//!
//! The line is also a leash. When it is cut, the stage is gone and the engine ends at once, whoever was its parent.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// How an engine ends whose stage is gone.
const ABANDONED: i32 = 86;
/// How long every step but a load takes without a director.
const PAUSE: Duration = Duration::from_millis(100);

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<()>>>>;

/// What the engine says and hears beside its port.
pub(super) struct Cues {
    line: Option<Mutex<UnixStream>>,
    waiting: Waiting,
    asked: AtomicU64,
    load: Duration,
}

impl Cues {
    /// The line to the director at `path`. Without one, loads take `load`.
    pub(super) fn new(path: Option<&Path>, load: Duration) -> io::Result<Self> {
        let waiting = Waiting::default();
        let line = path.map(UnixStream::connect).transpose()?;
        if let Some(line) = &line {
            let (heard, waiting) = (line.try_clone()?, Arc::clone(&waiting));
            std::thread::spawn(move || obey(heard, &waiting));
        }
        Ok(Self { line: line.map(Mutex::new), waiting, asked: AtomicU64::new(0), load })
    }

    /// Says what happens, to whoever listens.
    pub(super) fn tell(&self, what: &str) {
        // A reader that has left is no reason to stop.
        writeln!(io::stdout().lock(), "{what}").ok();
        self.write(&format!("tell {what}\n"));
    }

    /// Waits until this step may be taken. The director may end the program here.
    pub(super) async fn step(&self, name: &str) {
        if self.line.is_none() {
            let takes = if name.starts_with("load") || name == "wake" { self.load } else { PAUSE };
            return tokio::time::sleep(takes).await;
        }
        let (go, wait) = oneshot::channel();
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().insert(number, go);
        self.write(&format!("ask {number} {name}\n"));
        // The other end is dropped only with the program.
        wait.await.ok();
    }

    fn write(&self, line: &str) {
        if let Some(stream) = &self.line {
            // A line that is cut ends the program elsewhere.
            stream.lock().write_all(line.as_bytes()).ok();
        }
    }
}

/// Does what the director says: `go N` or `exit CODE`.
fn obey(line: UnixStream, waiting: &Waiting) {
    for word in BufReader::new(line).lines().map_while(Result::ok) {
        match word.split_once(' ') {
            Some(("go", number)) => {
                let go = number.parse().ok().and_then(|number: u64| waiting.lock().remove(&number));
                // A step that nobody waits for any more was cancelled with its request.
                go.map(|go| go.send(()));
            }
            Some(("exit", code)) => std::process::exit(code.parse().unwrap_or(ABANDONED)),
            _ => break,
        }
    }
    std::process::exit(ABANDONED);
}
