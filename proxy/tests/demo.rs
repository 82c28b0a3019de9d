//! What `spillway demo` tells, and that its last lines can be believed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A demo that has not ended by then is stuck.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A demo that runs. Killed when the test is over, however it ends, and when the watchdog bites.
struct Demo {
    child: Child,
    lines: BufReader<ChildStdout>,
    told: Vec<String>,
    _watchdog: Sender<()>,
}

impl Demo {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_spillway"))
            .arg("demo")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the demo starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (over, end) = channel::<()>();
        let pid = child.id();
        std::thread::spawn(move || {
            if end.recv_timeout(WATCHDOG) == Err(RecvTimeoutError::Timeout) {
                let _ = writeln!(std::io::stderr(), "the demo is stuck and is killed");
                signal(pid, "KILL");
            }
        });
        Self { child, lines, told: Vec::new(), _watchdog: over }
    }

    /// Reads lines until one contains `text`, and gives its number.
    fn until(&mut self, text: &str) -> usize {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).expect("a line of text");
            assert_ne!(read, 0, "the demo ended before it said {text:?}:\n{}", self.told.join("\n"));
            self.told.push(line.trim_end().to_owned());
            if line.contains(text) {
                return self.told.len() - 1;
            }
        }
    }

    /// The line that contains both texts.
    fn line(&self, one: &str, other: &str) -> usize {
        let found = self.told.iter().position(|line| line.contains(one) && line.contains(other));
        found.unwrap_or_else(|| panic!("no line with {one:?} and {other:?}:\n{}", self.told.join("\n")))
    }

    /// The printed commands that contain `text`, each in one line.
    fn command(&self, text: &str) -> String {
        let all = self.told.join("\n").replace("\\\n", " ");
        let found = all.lines().map(str::trim).find(|line| line.starts_with("curl ") && line.contains(text));
        found.unwrap_or_else(|| panic!("no command with {text:?}:\n{all}")).to_owned()
    }

    fn ended_by(self, name: &str) -> (Option<i32>, String) {
        signal(self.child.id(), name);
        self.ended()
    }

    /// The exit code, and what it complained about.
    fn ended(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("the demo can be waited for").code();
        let mut complaints = String::new();
        let stderr = self.child.stderr.as_mut().expect("stderr is piped");
        stderr.read_to_string(&mut complaints).expect("complaints are text");
        (code, complaints)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: u32, name: &str) {
    let done = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill runs");
    assert!(done.success(), "cannot signal the demo");
}

/// Does what a printed curl command says, and gives the whole answer as text.
fn curl(command: &str) -> String {
    let words = words(command);
    let after = |flag: &str| words.iter().position(|word| word == flag).map(|at| words[at + 1].as_str());
    let url = words.iter().find_map(|word| word.strip_prefix("http://")).expect("a URL");
    let (address, path) = url.split_once('/').expect("a path");
    let body = after("-d").unwrap_or_default();
    let method = after("-X").unwrap_or(if body.is_empty() { "GET" } else { "POST" });
    let header = after("-H").map_or_else(String::new, |header| format!("{header}\r\n"));
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\nConnection: close\r\n{header}\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("the demo serves");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer of text");
    answer
}

/// Splits as a shell does, as far as the printed commands need it.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in command.chars().chain([' ']) {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            letter => word.push(letter),
        }
    }
    words
}

#[test]
fn the_story_is_told_and_the_commands_work() {
    let mut demo = Demo::start();
    demo.until("demo/configuration");
    let loaded = demo.line("the model is loaded", "");
    let bridged = demo.line("  chat ", "upstream answered 200");
    let stream = demo.line("  stream ", "The upstream says hello, one word at a time.");
    let kept = demo.line("  forbid ", "engine's own 503 MODEL_LOADING");
    let down = demo.line("  upstream down ", "engine's own 503 MODEL_LOADING");
    assert!(demo.told[bridged + 1].contains("the engine said 503 MODEL_LOADING; the caller never saw it"));
    assert!(demo.told[kept].contains("Retry-After: 5"));
    assert!(demo.told[kept + 1].contains("nothing was sent upstream"));
    assert!(demo.told[down + 1].contains("restored byte for byte"));
    assert!(demo.told[down + 2].contains("X-SIE-Fallback-Error: QUEUE_FULL, Spillway-Cause: status"));
    assert!(bridged < stream && stream < kept && kept < down && down < loaded, "the story is out of order");
    assert!(loaded < demo.line("  chat ", "local engine answered 200"), "the engine answered before it could");
    demo.line("2 answered by the upstream, 1 by the local engine, 2 by the", "");
    demo.line("Unwanted errors: 0.", "");
    demo.line("engine 5 times and the upstream 0 times", "");
    assert!(demo.told.iter().all(|line| !line.contains("expected:")), "{}", demo.told.join("\n"));
    assert!(demo.told.iter().all(|line| line.chars().count() <= 100 && !line.contains('\x1b')), "too wide or coloured");

    let warm = curl(&demo.command("-i http"));
    assert!(warm.contains("X-SIE-Served-By: local") && warm.contains("The local engine says hello."), "{warm}");
    assert!(curl(&demo.command("engine/cold")).contains("cold for 30 s"));
    let stream = curl(&demo.command("-iN"));
    assert!(stream.contains("X-SIE-Served-By: remote") && stream.contains("data: [DONE]"), "{stream}");
    let forbidden = curl(&demo.command("forbid"));
    assert!(forbidden.starts_with("HTTP/1.1 503 ") && forbidden.contains("Retry-After: 5"), "{forbidden}");
    assert!(curl(&demo.command("upstream/down")).contains("the upstream is down"));
    let restored = curl(&demo.command("-i http"));
    assert!(restored.starts_with("HTTP/1.1 503 ") && restored.contains("X-SIE-Fallback-Error:"), "{restored}");
    assert!(curl(&demo.command("/v1/models")).contains(r#""policy":"fallback""#));
    assert!(curl(&demo.command("/readyz")).contains("ready"));
    assert!(curl(&demo.command("/demo/configuration")).contains("[upstreams.hosted]"));
    assert!(curl(&demo.command("engine/warm")).contains("the engine has its model"));
    demo.until("the model is loaded");
    demo.line("engine ", "said 200");
    demo.line("upstream ", "said 503 overloaded");
    assert_eq!(demo.ended_by("INT"), (Some(0), String::new()));
}

#[test]
fn a_signal_ends_the_demo_at_any_time() {
    for name in ["INT", "TERM"] {
        let mut demo = Demo::start();
        demo.until("the engine starts to load");
        assert_eq!(demo.ended_by(name), (Some(0), String::new()), "{name}");
    }
}

#[test]
fn a_closed_stdout_ends_the_demo() {
    let mut demo = Demo::start();
    demo.until("the engine starts to load");
    // Nobody reads on: the pipe is closed.
    demo.lines = BufReader::new(closed_pipe());
    assert_eq!(demo.ended(), (Some(0), String::new()));
}

/// The stdout of a process that has said nothing and is gone.
fn closed_pipe() -> ChildStdout {
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().expect("true runs");
    child.wait().expect("true ends");
    child.stdout.take().expect("stdout is piped")
}
