//! How is the real binary started, watched and ended?

use crate::certificates::Authority;
use crate::pipe::{Conn, Place, get, within};
use parking_lot::Mutex;
use rustls::pki_types::ServerName;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::watch;

/// What the front listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Plain,
    Tls,
    Unix,
}

pub(crate) const FRONTS: [Front; 3] = [Front::Plain, Front::Tls, Front::Unix];

/// A deployment file in the making, and the folder of its files.
pub(crate) struct Setup {
    pub(crate) folder: TempDir,
    pub(crate) authority: Authority,
    front: Front,
    listen: String,
    engine: String,
    tail: String,
    env: Vec<(String, String)>,
    asks_clients: bool,
}

impl Setup {
    pub(crate) fn new(front: Front, engine: &Place) -> Self {
        let folder = tempfile::Builder::new().prefix("spw").tempdir().expect("a folder");
        let mut setup = Self::in_folder(front, "", folder);
        setup.engine = engine.url();
        setup
    }

    /// With a folder that holds things already.
    pub(crate) fn in_folder(front: Front, engine: &str, folder: TempDir) -> Self {
        Self {
            folder,
            authority: Authority::new(),
            front,
            listen: String::new(),
            engine: engine.to_owned(),
            tail: String::new(),
            env: Vec::new(),
            asks_clients: false,
        }
    }

    pub(crate) fn fast_lane(self, fast: bool) -> Self {
        self.listen(&format!("fast_lane = {fast}"))
    }

    pub(crate) fn listen(mut self, line: &str) -> Self {
        writeln!(self.listen, "{line}").expect("a string");
        self
    }

    pub(crate) fn tail(mut self, text: &str) -> Self {
        writeln!(self.tail, "{text}").expect("a string");
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Callers must show a certificate of the authority.
    pub(crate) fn asks_clients(mut self) -> Self {
        self.asks_clients = true;
        self
    }

    /// An openai upstream `hosted`, and a chat model of each kind: `org/hybrid`, `org/remote`, `org/local`.
    pub(crate) fn models(self, base_url: &str, more: &str) -> Self {
        self.tail(&format!(
            r#"
[upstreams.hosted]
kind = "openai"
base_url = "{base_url}"
endpoints = ["chat"]
rate_cap = {{ requests_per_minute = 60000, max_concurrency = 64 }}
{more}
[models."org/hybrid"]
tasks = {{ generate = {{ context_length = 8192, max_output_tokens = 1024 }} }}
profiles.remote = {{ upstream = "hosted", upstream_model = "vendor/chat" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}
[models."org/remote"]
remote_backed = true
tasks = {{ generate = {{ context_length = 8192, max_output_tokens = 1024 }} }}
profiles.default = {{ upstream = "hosted", upstream_model = "vendor/chat" }}
routing = {{ policy = "remote_only" }}
[models."org/local"]
tasks = {{ generate = {{ context_length = 8192, max_output_tokens = 1024 }} }}"#
        ))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the deployment file.
    pub(crate) fn write(&self) -> PathBuf {
        let folder = self.folder.path();
        let address = match self.front {
            Front::Plain | Front::Tls => "127.0.0.1:0".to_owned(),
            Front::Unix => format!("unix:{}", folder.join("front.sock").display()),
        };
        let address = if self.listen.contains("address") { String::new() } else { format!("address = \"{address}\"") };
        let mut text = format!("[listen]\n{address}\n{}", self.listen);
        if self.front == Front::Tls {
            let (cert, key) = self.authority.pair("localhost").write(folder, "front");
            writeln!(text, "[listen.tls]\ncert_file = {cert:?}\nkey_file = {key:?}").expect("a string");
            if self.asks_clients {
                let ca = self.authority.write(folder, "callers");
                writeln!(text, "client_ca_file = {ca:?}").expect("a string");
            }
        }
        // A crowded machine is no unreachable engine.
        let patient = if self.tail.contains("timeouts =") { "" } else { "timeouts = { connect_ms = 20000 }\n" };
        let admin = folder.join("admin.sock");
        write!(
            text,
            "[admin]\naddress = \"unix:{}\"\n[log]\nformat = \"json\"\naccess = \"none\"\n[engine]\npreset = \"sie\"\nbase_url = \"{}\"\n{patient}{}",
            admin.display(),
            self.engine,
            self.tail
        )
        .expect("a string");
        let path = folder.join("spillway.toml");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) async fn start(self) -> Sidecar {
        let config = self.write();
        Sidecar::start(self, &config).await
    }
}

pub(crate) fn command(config: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spillway"));
    command.arg("-c").arg(config).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A running sidecar. Dropping it ends the process.
pub(crate) struct Sidecar {
    child: Child,
    pub(crate) setup: Setup,
    pub(crate) front: Place,
    pub(crate) admin: Place,
    said: Arc<Mutex<String>>,
    ended: watch::Receiver<Option<bool>>,
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sidecar {
    async fn start(setup: Setup, config: &Path) -> Self {
        let mut child = command(config).envs(setup.env.iter().cloned()).spawn().expect("the binary starts");
        let said = Arc::new(Mutex::new(String::new()));
        let (state, mut ended) = watch::channel(None);
        let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let log = said.clone();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut said = log.lock();
                said.push_str(&line);
                said.push('\n');
                if said.matches("\"listening\"").count() == 2 {
                    state.send_replace(Some(false));
                }
            }
            state.send_replace(Some(true));
        });
        within("the listeners", ended.wait_for(Option::is_some)).await.expect("stderr is read");
        let text = said.lock().clone();
        let place = |listener: &str| place(&text, listener).unwrap_or_else(|| panic!("no {listener}: {text}"));
        Self { front: place("front"), admin: place("admin"), child, setup, said, ended }
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().clone()
    }

    /// A connection of a caller, over TLS where the front speaks it.
    pub(crate) async fn connect(&self) -> Conn {
        self.connect_as(&["http/1.1"]).await
    }

    pub(crate) async fn connect_as(&self, alpn: &[&str]) -> Conn {
        let wire = within("a connection", self.front.connect()).await.expect("the front accepts");
        if self.setup.front != Front::Tls {
            return Conn::new(wire);
        }
        let name = ServerName::try_from("localhost").expect("a name");
        let tls = self.setup.authority.client(alpn, None).connect(name, wire);
        Conn::new(Box::new(within("a handshake", tls).await.expect("a handshake")))
    }

    pub(crate) async fn ready(&self) -> u16 {
        let wire = within("the admin listener", self.admin.connect()).await.expect("the admin listener accepts");
        Conn::new(wire).ask(get("/readyz")).await.0.status()
    }

    pub(crate) fn terminate(&self) {
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for the end of the process; its exit code.
    pub(crate) async fn exit(&mut self) -> Option<i32> {
        within("the process to end", self.ended.wait_for(|ended| *ended == Some(true))).await.expect("stderr is read");
        self.child.wait().expect("the process ends").code()
    }

    /// What the process holds in memory, in bytes.
    pub(crate) fn resident(&self) -> usize {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("the process runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
    }
}

fn place(log: &str, listener: &str) -> Option<Place> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let address = lines
        .filter(|line| line["message"] == "listening" && line["listener"] == listener)
        .find_map(|line| Some(line["address"].as_str()?.to_owned()))?;
    Some(address.parse().map_or_else(|_| Place::Unix(address.trim_start_matches("unix:").into()), Place::Tcp))
}
