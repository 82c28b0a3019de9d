//! An engine that does what its test says, line by line, over a control socket. It is this test binary, run again.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Where it is controlled from.
pub(crate) const CONTROL: &str = "TEST_ENGINE_CONTROL";

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

struct Engine {
    health: AtomicU16,
    asleep: AtomicBool,
    can_sleep: AtomicBool,
    naps: mpsc::Sender<()>,
}

impl Engine {
    fn new(health: u16) -> (Arc<Self>, mpsc::Receiver<()>) {
        let (naps, napped) = mpsc::channel();
        let (health, asleep, can_sleep) = (AtomicU16::new(health), AtomicBool::new(false), AtomicBool::new(false));
        (Arc::new(Self { health, asleep, can_sleep, naps }), napped)
    }
}

/// A well engine in this process.
pub(crate) fn beside(path: &Path) {
    let (engine, _) = Engine::new(200);
    serve(&engine, path.to_str().expect("a path"));
}

/// Lives as an engine for as long as its test does.
pub(crate) fn live(control: &str) -> ! {
    let mut control = UnixStream::connect(control).expect("its test listens");
    let (engine, napped) = Engine::new(503);
    writeln!(control, "{}", process::id()).expect("its test reads");
    for line in BufReader::new(control.try_clone().expect("a socket")).lines() {
        let line = line.expect("a line");
        let (word, value) = line.split_once(' ').unwrap_or((&line, ""));
        let number = || value.parse::<u64>().expect("a number");
        match word {
            "listen" => serve(&engine, value),
            "health" => engine.health.store(u16::try_from(number()).expect("a status"), SeqCst),
            "can_sleep" => engine.can_sleep.store(true, SeqCst),
            "until_asleep" => napped.recv_timeout(LONG).expect("it is put to sleep"),
            "exit" => process::exit(i32::try_from(number()).expect("a code")),
            other => panic!("an engine does not know {other}"),
        }
        writeln!(control, "done").expect("its test reads");
    }
    process::exit(99)
}

fn serve(engine: &Arc<Engine>, path: &str) {
    // What an engine before this one has left.
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).expect("a free path");
    let engine = engine.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&engine, stream.expect("a connection"));
        }
    });
}

fn answer(engine: &Engine, mut stream: UnixStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read_exact(&mut byte).is_err() {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("a head");
    let ask = head.split(" HTTP").next().expect("a request line");
    let (status, body) = match ask {
        "GET /health" => (engine.health.load(SeqCst), String::new()),
        "GET /metrics" => (200, "vllm:num_requests_running 0\n".to_owned()),
        "GET /is_sleeping" => (200, format!("{{\"is_sleeping\":{}}}", engine.asleep.load(SeqCst))),
        _ if !engine.can_sleep.load(SeqCst) => (404, String::new()),
        "POST /sleep?level=1&mode=wait" => (sleeps(engine, true), String::new()),
        "POST /wake_up" => (sleeps(engine, false), String::new()),
        _ => (404, String::new()),
    };
    let length = body.len();
    // Who asked may have gone.
    let _ = write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
}

fn sleeps(engine: &Engine, asleep: bool) -> u16 {
    engine.asleep.store(asleep, SeqCst);
    if asleep {
        // Nobody may be waiting for it.
        let _ = engine.naps.send(());
    }
    200
}

/// The test's end of an engine.
pub(crate) struct Control {
    pub(crate) pid: i32,
    stream: BufReader<UnixStream>,
}

/// Where engines report.
pub(crate) struct Engines(mpsc::Receiver<UnixStream>);

impl Engines {
    pub(crate) fn at(path: &Path) -> Self {
        // Of a shim before this one.
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).expect("a free path");
        let (come, came) = mpsc::channel();
        thread::spawn(move || listener.incoming().flatten().all(|stream| come.send(stream).is_ok()));
        Self(came)
    }

    /// The next engine that starts.
    pub(crate) fn next(&self) -> Control {
        let stream = self.0.recv_timeout(LONG).expect("an engine starts");
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).expect("it says who it is");
        Control { pid: line.trim().parse().expect("an id"), stream }
    }

    pub(crate) fn none_came(&self) -> bool {
        self.0.try_recv().is_err()
    }
}

impl Control {
    /// Tells it something, and waits until it has done that.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.stream.get_mut(), "{line}").expect("it listens");
        let mut done = String::new();
        self.stream.read_line(&mut done).expect("it answers");
        assert_eq!(done, "done\n");
    }

    /// Tells it to end, which nobody can answer.
    pub(crate) fn exit(mut self, code: u8) {
        writeln!(self.stream.get_mut(), "exit {code}").expect("it listens");
    }

    /// Waits until it has ended.
    pub(crate) fn gone(mut self) {
        let ended = self.stream.read_to_end(&mut Vec::new());
        // A killed process may take the socket with it in either way, but it takes it.
        let hangs = ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(!hangs, "the engine goes on");
    }
}
