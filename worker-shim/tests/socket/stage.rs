//! A served socket, whose state and wishes the test holds, and a caller that speaks HTTP/1.1 by hand.

use spillway_filters::feed::{Snapshot, State};
use spillway_shim::asked::Asked;
use spillway_shim::config::Address;
use spillway_shim::output::Output;
use spillway_shim::serve::{Socket, Told};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How long a test waits for what must come: only a broken build waits this long.
const NET: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) address: Address,
    pub(crate) state: watch::Sender<Arc<Told>>,
    pub(crate) asked: mpsc::Receiver<Asked>,
    /// Whoever waits for a line with `two` is told of it.
    pub(crate) output: Arc<Output>,
    pub(crate) served: JoinHandle<()>,
    _folder: Option<TempDir>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with_room_for(16)
    }

    /// A stage whose loop lets so many things wait.
    pub(crate) fn with_room_for(waiting: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run/shim.sock");
        let socket = Socket::bind(&Address::Unix(path), 0o600).expect("it binds");
        Self { _folder: Some(folder), ..Self::at(socket, waiting) }
    }

    pub(crate) fn at(socket: Socket, waiting: usize) -> Self {
        let address = socket.address();
        let (state, states) = watch::channel(Arc::new(Told::new(snapshot(1, State::Ready))));
        let (asking, asked) = mpsc::channel(waiting);
        let output = Output::new(&["two"]);
        let served = tokio::spawn(socket.serve(states, output.clone(), asking));
        Self { address, state, asked, output, served, _folder: None }
    }

    pub(crate) fn publish(&self, seq: u64, state: State) {
        self.tell(snapshot(seq, state));
    }

    pub(crate) fn tell(&self, snapshot: Snapshot) {
        self.state.send(Arc::new(Told::new(snapshot))).expect("somebody listens");
    }

    /// The next thing that the loop is told.
    pub(crate) async fn asked(&mut self) -> Asked {
        soon(self.asked.recv()).await.expect("the server lives")
    }

    pub(crate) async fn open(&self) -> Caller {
        let stream: Box<dyn Stream> = match &self.address {
            Address::Tcp(address) => Box::new(soon(TcpStream::connect(address)).await.expect("it connects")),
            Address::Unix(path) => Box::new(soon(UnixStream::connect(path)).await.expect("it connects")),
        };
        Caller { stream, read: Vec::new() }
    }

    /// The socket's file.
    pub(crate) fn path(&self) -> &Path {
        let Address::Unix(path) = &self.address else { panic!("a Unix socket") };
        path
    }

    /// A whole exchange on a connection of its own.
    pub(crate) async fn exchange(&self, request: &str) -> Answer {
        let mut caller = self.open().await;
        caller.send(request).await;
        caller.answer().await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.exchange(&format!("GET {path} HTTP/1.1\r\nHost: shim\r\n\r\n")).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.exchange(&post(path, body)).await
    }
}

pub(crate) fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: shim\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

pub(crate) fn snapshot(seq: u64, state: State) -> Snapshot {
    Snapshot { seq, ..Snapshot::of("vllm", state) }
}

pub(crate) async fn soon<T>(coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(NET, coming).await.expect("it comes")
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(crate) struct Caller {
    stream: Box<dyn Stream>,
    read: Vec<u8>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = |line: &str| line.split_once(": ").is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        self.head.lines().find(|found| line(found)).and_then(|line| line.split_once(": ")).map(|(_, value)| value)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        serde_json::from_str(&self.body).expect("a snapshot")
    }

    /// The code and the message of an error.
    pub(crate) fn error(&self) -> (String, String) {
        let body: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        let text = |field: &str| body["error"][field].as_str().expect("a text").to_owned();
        (text("code"), text("message"))
    }
}

impl Caller {
    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.expect("it is read");
    }

    /// The rest up to and with an ending.
    async fn until(&mut self, ending: &[u8]) -> String {
        loop {
            if let Some(at) = self.read.windows(ending.len()).position(|window| window == ending) {
                let text = self.read.drain(..at + ending.len()).collect();
                return String::from_utf8(text).expect("text");
            }
            assert_ne!(soon(self.stream.read_buf(&mut self.read)).await.expect("it can be read"), 0, "it ended early");
        }
    }

    pub(crate) async fn head(&mut self) -> String {
        self.until(b"\r\n\r\n").await
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.head().await;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut answer = Answer { status, head, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().expect("a length"));
        while self.read.len() < length {
            assert_ne!(soon(self.stream.read_buf(&mut self.read)).await.expect("it can be read"), 0, "it ended early");
        }
        answer.body = String::from_utf8(self.read.drain(..length).collect()).expect("text");
        answer
    }

    /// Opens a stream.
    pub(crate) async fn subscribe(&mut self, target: &str) {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: shim\r\n\r\n")).await;
        let head = self.head().await;
        assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("content-type: text/event-stream\r\n"), "{head}");
    }

    /// The next block of a stream, out of its one chunk.
    pub(crate) async fn block(&mut self) -> String {
        let size = self.until(b"\r\n").await;
        let chunk = self.until(b"\n\n\r\n").await;
        assert_eq!(usize::from_str_radix(size.trim(), 16).expect("a size") + 2, chunk.len(), "one block, one chunk");
        chunk.trim_end().to_owned()
    }

    pub(crate) async fn event(&mut self) -> Snapshot {
        let block = self.block().await;
        serde_json::from_str(block.strip_prefix("data: ").expect("data")).expect("a snapshot")
    }

    /// Waits until the other side closes.
    pub(crate) async fn end(&mut self) -> String {
        soon(self.stream.read_to_end(&mut self.read)).await.expect("it ends");
        String::from_utf8(std::mem::take(&mut self.read)).expect("text")
    }
}
