//! A shim whose loop is the test: it publishes what it likes and answers wishes.

use spillway_filters::feed::{Condition, Snapshot, State};
use spillway_shim::asked::Asked;
use spillway_shim::command::{self, Command, Stop};
use spillway_shim::config::Address;
use spillway_shim::output::Output;
use spillway_shim::serve::{Socket, Told};
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How long a test waits for what must come: only a broken build waits this long.
const NET: Duration = Duration::from_secs(60);

pub(crate) struct Shim {
    pub(crate) address: Address,
    pub(crate) asked: mpsc::Receiver<Asked>,
    state: Option<watch::Sender<Arc<Told>>>,
    served: JoinHandle<()>,
    _folder: TempDir,
}

impl Shim {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let address = Address::Unix(folder.path().join("shim.sock"));
        let socket = Socket::bind(&address, 0o600).expect("it binds");
        let (state, states) = watch::channel(Arc::new(Told::new(snapshot(1, State::Ready))));
        let (asking, asked) = mpsc::channel(16);
        let served = tokio::spawn(socket.serve(states, Output::new(&[]), asking));
        Self { address, asked, state: Some(state), served, _folder: folder }
    }

    pub(crate) fn publish(&self, snapshot: Snapshot) {
        self.state.as_ref().expect("it runs").send(Arc::new(Told::new(snapshot))).expect("somebody listens");
    }

    /// Asks it what a person would type.
    pub(crate) fn begin(&self, line: &[&str]) -> (JoinHandle<Result<(), Stop>>, Shown) {
        let socket = self.address.to_string();
        let flag = ["--socket", &socket];
        let line = ["spillway-shim"].iter().chain(line).chain(&flag).map(OsString::from);
        let Ok(Command::Ask(ask)) = command::read(line, &|_| None) else { panic!("a question") };
        let (lines, shown) = mpsc::unbounded_channel();
        (tokio::spawn(async move { ask.run(&mut Lines(lines)).await }), Shown(shown))
    }

    /// Asks to the end.
    pub(crate) async fn ask(&self, line: &[&str]) -> (Result<(), Stop>, String) {
        let (done, mut shown) = self.begin(line);
        let mut text = String::new();
        while let Some(more) = soon(shown.0.recv()).await {
            text.push_str(&more);
        }
        (done.await.expect("it runs"), text)
    }

    pub(crate) fn end(&mut self) {
        self.state = None;
        self.served.abort();
    }
}

/// The next thing that the loop is told.
pub(crate) async fn asked(asked: &mut mpsc::Receiver<Asked>) -> Asked {
    soon(asked.recv()).await.expect("the server lives")
}

async fn soon<T>(coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(NET, coming).await.expect("it comes")
}

/// What was written, piece by piece.
pub(crate) struct Shown(mpsc::UnboundedReceiver<String>);

impl Shown {
    pub(crate) async fn line(&mut self) -> String {
        soon(self.0.recv()).await.expect("a line")
    }
}

struct Lines(mpsc::UnboundedSender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(String::from_utf8(bytes.to_vec()).expect("text"));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn loading() -> Condition {
    Condition::of(State::Loading)
}

pub(crate) fn snapshot(seq: u64, state: State) -> Snapshot {
    Snapshot { seq, ..Snapshot::of("vllm", state) }
}
