//! A real shim around a scripted engine, and somebody who follows what it says.

use crate::engine::{CONTROL, Control, Engines, LONG};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spillway_filters::feed::{Activity, Snapshot, State};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use tempfile::TempDir;

const SHIM: &str = env!("CARGO_BIN_EXE_spillway-shim");

pub(crate) struct Shim {
    pub(crate) folder: TempDir,
    pub(crate) engines: Engines,
    child: Child,
    /// Whom signals go to.
    id: Pid,
    /// `child` holds its namespace.
    is_first: bool,
    log: Option<JoinHandle<String>>,
}

impl Shim {
    /// Around the scripted engine.
    pub(crate) fn start(flags: &[&str]) -> Self {
        Self::around(flags, &["--", &this(), "an_engine", "--exact", "--nocapture"])
    }

    /// Around any command.
    pub(crate) fn around(flags: &[&str], command: &[&str]) -> Self {
        Self::inside(TempDir::new().expect("a folder"), flags, command)
    }

    /// In this folder, where the engine listens under `engine`.
    pub(crate) fn inside(folder: TempDir, flags: &[&str], command: &[&str]) -> Self {
        Self::of(Command::new(SHIM), Stdio::piped(), folder, flags, command)
    }

    /// What a line of the shim's status in `/proc` says.
    pub(crate) fn status(&self, field: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("there is such a line");
        line.trim_start_matches(':').trim().to_owned()
    }

    /// As [`Shim::around`], by somebody who ignores SIGHUP.
    pub(crate) fn without_hangups(command: &[&str]) -> Self {
        let mut deaf = Command::new("sh");
        deaf.args(["-c", "trap '' HUP; exec \"$@\"", "sh", SHIM]);
        Self::of(deaf, Stdio::piped(), TempDir::new().expect("a folder"), &[], command)
    }

    /// Around the scripted engine; its log goes there, and is nobody's to read here.
    pub(crate) fn logging_to(stderr: OwnedFd) -> Self {
        let command = ["--", &this(), "an_engine", "--exact", "--nocapture"];
        Self::of(Command::new(SHIM), stderr.into(), TempDir::new().expect("a folder"), &[], &command)
    }

    /// As the first process of a namespace of its own, which ends with it.
    pub(crate) fn first(command: &[&str]) -> Self {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        if std::fs::metadata("/proc/self").expect("it is there").uid() != 0 {
            unshare.args(["--user", "--map-root-user"]);
        }
        unshare.arg(SHIM);
        let mut shim = Self::of(unshare, Stdio::piped(), TempDir::new().expect("a folder"), &[], command);
        shim.is_first = true;
        drop(shim.connect());
        let children = format!("/proc/{0}/task/{0}/children", shim.id);
        let children = std::fs::read_to_string(children).expect("the system tells children");
        shim.id = Pid::from_raw(children.trim().parse().expect("it has one child, the shim"));
        shim
    }

    fn of(mut program: Command, stderr: Stdio, folder: TempDir, flags: &[&str], command: &[&str]) -> Self {
        let path = |name: &str| folder.path().join(name);
        let engines = Engines::at(&path("control"));
        let mut child = program
            .args(["--preset", "vllm", "--engine", &format!("unix:{}", path("engine").display())])
            .args(["--socket", &format!("unix:{}", path("shim").display())])
            .args(flags)
            .args(command)
            .env(CONTROL, path("control"))
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap_or_else(|error| panic!("{program:?} does not start: {error}"));
        let id = Pid::from_raw(i32::try_from(child.id()).expect("an id"));
        let stderr = child.stderr.take();
        let log = thread::spawn(move || {
            let mut log = String::new();
            if let Some(mut stderr) = stderr {
                stderr.read_to_string(&mut log).expect("text");
            }
            log
        });
        Self { folder, engines, child, id, is_first: false, log: Some(log) }
    }

    /// An engine that is ready, and who follows it.
    pub(crate) fn ready(flags: &[&str]) -> (Self, Control, Follower) {
        let shim = Self::start(flags);
        let mut engine = shim.engines.next();
        let mut follower = shim.follow("a");
        shim.make_ready(&mut engine, &mut follower);
        (shim, engine, follower)
    }

    pub(crate) fn make_ready(&self, engine: &mut Control, follower: &mut Follower) {
        engine.tell("health 200");
        self.listen(engine);
        follower.until(State::Ready);
    }

    pub(crate) fn listen(&self, engine: &mut Control) {
        engine.tell(&format!("listen {}", self.folder.path().join("engine").display()));
    }

    /// Waits until the engine has written this.
    pub(crate) fn until_log(&self, text: &str) {
        self.until(|shim| shim.ask("GET", "/log", "").1.contains(text));
    }

    /// Asks again and again.
    pub(crate) fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < LONG, "it does not come");
        }
    }

    pub(crate) fn follow(&self, name: &str) -> Follower {
        let mut stream = self.connect();
        write!(stream, "GET /state/stream?as={name} HTTP/1.1\r\nHost: x\r\n\r\n").expect("it listens");
        Follower { name: name.to_owned(), lines: BufReader::new(stream) }
    }

    /// The shim listens some time after it was started.
    fn connect(&self) -> UnixStream {
        let path = self.folder.path().join("shim");
        let start = Instant::now();
        let stream = loop {
            match UnixStream::connect(&path) {
                Ok(stream) => break stream,
                Err(error) => assert!(start.elapsed() < LONG, "the shim does not listen: {error}"),
            }
            thread::yield_now();
        };
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        stream
    }

    /// The status of the answer.
    pub(crate) fn post(&self, path: &str, body: &str) -> u16 {
        self.ask("POST", path, body).0
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect();
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        write!(stream, "{head}{body}").expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head[9..12].parse().expect("a status"), body.to_owned())
    }

    pub(crate) fn say(&self, follower: &Follower, seq: u64, in_flight: u64) {
        let activity = Activity { r#as: follower.name.clone(), seq, in_flight, started: 1 };
        let body = serde_json::to_string(&activity).expect("it renders");
        assert_eq!(self.post("/activity", &body), 204);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.id, signal).expect("it lives");
    }

    /// Its exit code and its log, when it has ended.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("it is our child").code();
        let log = self.log.take().expect("it is read once").join().expect("it is text");
        assert!(!self.folder.path().join("shim").exists(), "its socket is left");
        (code, log)
    }

    /// Kills it, and leaves what it can no longer clear away.
    pub(crate) fn killed(mut self) -> TempDir {
        self.signal(Signal::SIGKILL);
        self.child.wait().expect("it is our child");
        std::mem::replace(&mut self.folder, TempDir::new().expect("a folder"))
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if self.is_first {
                // Its namespace goes with it.
                let _ = self.child.kill();
            } else {
                // Two signals, so that it waits for no request; it takes its engine with it.
                self.signal(Signal::SIGTERM);
                self.signal(Signal::SIGINT);
            }
            let _ = self.child.wait();
        }
    }
}

/// This binary.
fn this() -> String {
    std::env::current_exe().expect("this binary").to_str().expect("a path").to_owned()
}

/// Somebody who subscribes.
pub(crate) struct Follower {
    name: String,
    lines: BufReader<UnixStream>,
}

impl Follower {
    /// The next snapshot; none: the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Snapshot> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).expect("the stream goes on or ends") == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).expect("a snapshot"));
            }
        }
    }

    /// Reads on until the engine is in this state.
    pub(crate) fn until(&mut self, state: State) -> Snapshot {
        loop {
            let snapshot = self.next().expect("the stream goes on");
            if snapshot.engine.state == state {
                return snapshot;
            }
        }
    }
}
