//! A machine of files on which one engine runs, and answers over a real socket.

use spillway_filters::feed::Identity;
use spillway_filters::presets::{Launch, Preset, preset};
use spillway_shim::client::Client;
use spillway_shim::config::{Address, Config};
use spillway_shim::identity::{Machine, observe_on};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

pub(crate) const SHIM: i32 = 7;
pub(crate) const ENGINE: i32 = 100;
pub(crate) const CPUINFO: &str = "processor\t: 0\nvendor_id\t: V\ncpu family\t: 6\nmodel\t\t: 167\nmodel name\t: A CPU\nflags\t\t: sse avx\n\nprocessor\t: 1\nvendor_id\t: V\ncpu family\t: 6\nmodel\t\t: 167\nmodel name\t: A CPU\nflags\t\t: sse avx\n\n";

pub(crate) struct Stage {
    folder: TempDir,
    port: u16,
}

impl Stage {
    /// One process of the engine, which listens and computes on the CPU.
    pub(crate) async fn new(answers: &[(&str, &str)]) -> Self {
        let stage = Self { folder: TempDir::new().expect("a folder for a test"), port: engine(answers).await };
        let line = format!("  0: 0100007F:{:04X} 00000000:0000 0A 0:0 0:0 0 0 0 4711 1", stage.port);
        stage.write("proc/7/net/tcp", &format!("head\n{line}\n"));
        stage.write("proc/cpuinfo", CPUINFO);
        // Nothing that a test writes is younger than its engine.
        stage.start(1 << 40);
        stage.link("proc/7/ns/mnt", "mnt:[1]");
        stage.link("proc/7/root", "/");
        stage.process(ENGINE, SHIM, ENGINE, &["engine"]);
        stage.link("proc/100/fd/3", "socket:[4711]");
        stage
    }

    pub(crate) fn process(&self, id: i32, parent: i32, group: i32, command: &[&str]) {
        self.write(
            &format!("proc/{id}/stat"),
            &format!("{id} (a ) b) S {parent} {group} {group}{} 250", " 0".repeat(15)),
        );
        self.write(&format!("proc/{id}/cmdline"), &command.join("\0"));
        self.write(&format!("proc/{id}/environ"), "HOME=/\0");
        self.write(&format!("proc/{id}/maps"), "");
        self.link(&format!("proc/{id}/ns/mnt"), "mnt:[1]");
        self.link(&format!("proc/{id}/root"), "/");
        self.link(&format!("proc/{id}/cwd"), "/srv");
        self.link(&format!("proc/{id}/fd/0"), "/dev/null");
    }

    /// The engine was started at this second since 1970.
    pub(crate) fn start(&self, at_s: i64) {
        self.write("proc/stat", &format!("cpu 1 2\nbtime {}\nprocesses 3\n", at_s - 2));
    }

    /// The second since 1970 in which a file, or a link itself, was changed last.
    pub(crate) fn changed_s(&self, path: &str) -> i64 {
        self.path(path).symlink_metadata().expect("it was written").ctime()
    }

    fn path(&self, path: &str) -> PathBuf {
        let path = self.folder.path().join(path);
        let folder = path.parent().expect("it is below the folder of the test");
        std::fs::create_dir_all(folder).expect("the folder is ours");
        path
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).expect("the folder is ours");
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        let _ = std::fs::remove_file(&path);
        symlink(target, path).expect("the folder is ours");
    }

    /// A folder that cannot be read, whoever runs the test.
    pub(crate) fn deny(&self, path: &str) {
        std::fs::remove_dir_all(self.path(path)).expect("the folder is ours");
        self.write(path, "no folder");
    }

    /// The engine holds the second of two GPUs.
    pub(crate) fn nvidia(&self) {
        self.link("proc/100/fd/4", "/dev/nvidiactl");
        self.link("proc/100/fd/5", "/dev/nvidia-uvm");
        self.link("proc/100/fd/6", "/dev/nvidia1");
        for (bus, minor) in [("0000:01:00.0", 0), ("0000:02:00.0", 1)] {
            let text = format!("Model: \t\t NVIDIA L{minor}\nIRQ:   \t\t 11\nDevice Minor: \t {minor}\n");
            self.write(&format!("proc/driver/nvidia/gpus/{bus}/information"), &text);
        }
        let text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (a@b)\nGCC version: 12.3\n";
        self.write("proc/driver/nvidia/version", text);
    }

    pub(crate) async fn see(&self, name: &'static str) -> Identity {
        self.see_process(name, Some(ENGINE)).await
    }

    pub(crate) async fn see_process(&self, name: &'static str, process: Option<i32>) -> Identity {
        let machine = Arc::new(Machine::at(self.folder.path().to_owned(), SHIM));
        let config = config(name, Address::Tcp(format!("127.0.0.1:{}", self.port)));
        observe_on(&machine, &config, &Client::new(config.engine.clone(), None), process).await
    }
}

/// A configuration whose preset has this name, and the flags that most engines have.
pub(crate) fn config(name: &'static str, engine: Address) -> Config {
    let launch = Launch {
        model_flags: &["--model", "--model-id"],
        revision_flags: &["--revision"],
        dtype_flags: &["--dtype"],
        ..Launch::UNKNOWN
    };
    let preset: &'static Preset =
        Box::leak(Box::new(Preset { name, launch, ..preset("vllm").expect("it is listed").clone() }));
    Config {
        preset,
        engine,
        socket: Address::Unix("/nowhere".into()),
        socket_mode: 0o660,
        command: Vec::new(),
        idle_sleep: None,
        max_waiting: None,
        drain: Duration::ZERO,
        stop: Duration::ZERO,
        api_key: None,
    }
}

/// Answers GETs of these paths with 200 and the rest with 404, on the port that it returns.
pub(crate) async fn engine(answers: &[(&str, &str)]) -> u16 {
    let owned = |(path, body): &(&str, &str)| ((*path).to_owned(), (*body).to_owned());
    let answers: BTreeMap<String, String> = answers.iter().map(owned).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback binds");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("the client sends a head"));
            }
            let head = String::from_utf8(head).expect("a head is text");
            let (status, body) = match answers.get(head.split(' ').nth(1).expect("it has a path")) {
                Some(body) => (200, body.as_str()),
                None => (404, "{}"),
            };
            let length = body.len();
            let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    port
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[track_caller]
pub(crate) fn assert_part(identity: &Identity, name: &str, wanted: Option<&str>) {
    assert_eq!(identity.parts[name].as_deref(), wanted, "{name} in {:?}", identity.parts);
}
