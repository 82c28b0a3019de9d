//! How is the binary under test started, watched and stopped?

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::client::{Client, Request};
use super::patience::{eventually, within};
use super::pipe::Address;
use super::program::signal;
use crate::expect::{Finding, Verdict, contains};

/// What the process has said on stderr.
#[derive(Clone, Debug, Default)]
struct Said {
    text: Vec<u8>,
    ended: bool,
}

impl Said {
    /// The address on the line `listening` of this listener.
    fn address_of(&self, listener: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.text);
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let line = lines.find(|line| line["message"] == "listening" && line["listener"] == listener)?;
        Some(line["address"].as_str()?.to_owned())
    }
}

/// How a sidecar is started, the first time and again.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) bin: PathBuf,
    pub(crate) config: PathBuf,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) front: Address,
    pub(crate) admin: Address,
}

/// A running sidecar. Dropping it kills the process, by its id.
#[derive(Debug)]
pub struct Sidecar {
    child: Child,
    front: Address,
    admin: Address,
    said: Arc<watch::Sender<Said>>,
}

impl Sidecar {
    /// Starts the binary, reads where it listens from what it says, and waits until `/readyz` on its admin address is 200.
    pub(crate) async fn start(launch: &Launch) -> Verdict<Self> {
        let mut sidecar = Self::spawn(launch, &[])?;
        sidecar.up().await?;
        Ok(sidecar)
    }

    /// Starts the binary with these further arguments of `run`, and waits for nothing.
    pub(crate) fn spawn(launch: &Launch, arguments: &[&str]) -> Verdict<Self> {
        let mut child = Command::new(&launch.bin)
            .args(["run", "-c"])
            .arg(&launch.config)
            .args(arguments)
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Finding::new(format!("cannot start {}: {error}", launch.bin.display())))?;
        let said = Arc::new(watch::Sender::new(Said::default()));
        if let Some(stderr) = child.stderr.take() {
            let said = Arc::clone(&said);
            std::thread::spawn(move || listen(stderr, &said));
        }
        Ok(Self { child, front: launch.front.clone(), admin: launch.admin.clone(), said })
    }

    /// Waits until it serves. A Unix socket is where it was told to be.
    pub(crate) async fn up(&mut self) -> Verdict {
        self.find("front").await?.into_iter().for_each(|address| self.front = address);
        self.find("admin").await?.into_iter().for_each(|address| self.admin = address);
        eventually("the sidecar to be ready", || self.is_ready()).await
    }

    /// Waits for the line that says where this listener is; nothing when that is no TCP address.
    async fn find(&self, listener: &str) -> Verdict<Option<Address>> {
        let mut said = self.said.subscribe();
        let spoken = |said: &Said| said.ended || said.address_of(listener).is_some();
        let address = match within("the sidecar to listen", said.wait_for(spoken)).await {
            Ok(Ok(said)) => said.address_of(listener),
            Ok(Err(_)) | Err(_) => None,
        };
        let address =
            address.ok_or_else(|| Finding::new(format!("no {listener} listener; it said:\n{}", self.stderr())))?;
        Ok(address.parse().map(Address::Tcp).ok())
    }

    async fn is_ready(&self) -> Verdict<bool> {
        Ok(self.admin_get("/readyz").await?.head.status() == 200)
    }

    /// A GET to the admin address.
    ///
    /// # Errors
    /// A finding when no answer comes.
    pub async fn admin_get(&self, path: &str) -> Verdict<super::client::Received> {
        let mut client = Client::connect(&self.admin).await?;
        client.ask(&Request::get(path).field("Connection", "close")).await
    }

    /// Where callers connect.
    pub fn front(&self) -> &Address {
        &self.front
    }

    /// Where its admin pages are.
    pub fn admin(&self) -> &Address {
        &self.admin
    }

    /// Everything on stderr so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.said.borrow().text).into_owned()
    }

    /// The access lines on stderr so far.
    pub fn access_lines(&self) -> Vec<Value> {
        let lines = self.stderr();
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == "exchange").collect()
    }

    /// Waits until it has said this on stderr.
    ///
    /// # Errors
    /// A finding when it does not.
    pub async fn says(&self, text: &str) -> Verdict {
        let mut said = self.said.subscribe();
        let spoken = |said: &Said| said.ended || String::from_utf8_lossy(&said.text).contains(text);
        within(&format!("the sidecar to say {text:?}"), said.wait_for(spoken)).await?.ok();
        contains("stderr", &self.stderr(), text)
    }

    /// Asks the process to end, as an orchestrator does.
    ///
    /// # Errors
    /// A finding when the signal cannot be sent.
    pub fn terminate(&self) -> Verdict {
        self.signal("TERM")
    }

    /// Sends a signal by its name.
    ///
    /// # Errors
    /// A finding when it cannot be sent.
    pub fn signal(&self, name: &str) -> Verdict {
        signal(self.child.id(), name)
    }

    /// Waits until the process has ended.
    ///
    /// # Errors
    /// A finding when it goes on.
    pub async fn exit(&mut self) -> Verdict<ExitStatus> {
        let mut said = self.said.subscribe();
        within("the sidecar to end", said.wait_for(|said| said.ended)).await?.ok();
        let child = &mut self.child;
        // Stderr has ended, so the process is ending; what is left is the kernel's work.
        let gone = async {
            loop {
                match child.try_wait() {
                    Ok(None) => tokio::task::yield_now().await,
                    Ok(Some(status)) => return Ok(status),
                    Err(error) => return Err(error),
                }
            }
        };
        Ok(within("the sidecar to be gone", gone).await??)
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // An error means that it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn listen(mut stderr: impl Read, said: &watch::Sender<Said>) {
    let mut part = [0; 4096];
    while let Ok(count) = stderr.read(&mut part) {
        if count == 0 {
            break;
        }
        said.send_modify(|said| said.text.extend_from_slice(&part[..count]));
    }
    said.send_modify(|said| said.ended = true);
}
