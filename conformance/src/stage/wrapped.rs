//! The real shim around a played engine, and the sidecar beside them: who is started when is the case's business.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;
use tokio::net::TcpSocket;

use super::client::{Client, Received, Request};
use super::director::Director;
use super::patience::eventually;
use super::pipe::Address;
use super::program::Program;
use super::setup::Setup;
use super::{Binaries, Room};
use crate::expect::{Finding, Verdict};

/// Which engine, and how it and the shim are started.
#[derive(Clone, Debug)]
pub struct Wrap {
    like: &'static str,
    preset: &'static str,
    engine: Vec<String>,
    shim: Vec<String>,
    env: Vec<(String, String)>,
}

impl Wrap {
    /// vLLM in developer mode, so that it can sleep.
    pub fn vllm() -> Self {
        Self::new("vllm", "vllm").env("VLLM_SERVER_DEV_MODE", "1")
    }

    /// Text Embeddings Inference.
    pub fn tei() -> Self {
        Self::new("tei", "tei")
    }

    /// Ollama.
    pub fn ollama() -> Self {
        Self::new("ollama", "ollama")
    }

    /// llama-swap.
    pub fn llama_swap() -> Self {
        Self::new("llama-swap", "llama_swap")
    }

    fn new(like: &'static str, preset: &'static str) -> Self {
        Self { like, preset, engine: Vec::new(), shim: Vec::new(), env: Vec::new() }
    }

    /// With these words for the engine.
    pub fn engine(mut self, words: &[&str]) -> Self {
        self.engine.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// With these words for the shim.
    pub fn shim(mut self, words: &[&str]) -> Self {
        self.shim.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// With this environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// An engine's place with its director; nothing runs there until it is started. Everything ends when it is dropped.
#[derive(Debug)]
pub struct Wrapped {
    wrap: Wrap,
    binaries: Binaries,
    engine: SocketAddr,
    socket: PathBuf,
    shim: Option<Program>,
    /// An engine that was started without a shim.
    loose: Option<Program>,
    /// What the engine does.
    pub director: Director,
    /// Keeps the port from becoming somebody else's while no engine has it.
    _held: TcpSocket,
    _room: Room,
}

impl Wrapped {
    pub(super) fn new(wrap: Wrap, binaries: &Binaries) -> Verdict<Self> {
        let room = Room::new()?;
        let held = TcpSocket::new_v4()?;
        held.set_reuseaddr(true)?;
        held.set_reuseport(true)?;
        held.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        Ok(Self {
            wrap,
            binaries: binaries.clone(),
            engine: held.local_addr()?,
            socket: room.path.join("shim.sock"),
            shim: None,
            loose: None,
            director: Director::new(&room.path.join("director.sock"))?,
            _held: held,
            _room: room,
        })
    }

    /// Where the engine listens when it does.
    pub fn engine(&self) -> Address {
        Address::Tcp(self.engine)
    }

    /// A deployment whose engine and shim these are.
    pub fn beside(&self, setup: Setup) -> Setup {
        self.beside_engine(setup).engine(&format!("shim = \"unix:{}\"", self.socket.display()))
    }

    /// A deployment whose engine this is, and that knows of no shim.
    pub fn beside_engine(&self, setup: Setup) -> Setup {
        setup.preset(self.wrap.preset).engine_at(&self.engine())
    }

    /// Starts the shim, which starts the engine.
    ///
    /// # Errors
    /// A finding when there is no such program.
    pub fn start(&mut self) -> Verdict {
        let mut words = self.shim_words();
        words.push("--".into());
        words.push(self.binaries.engine.clone().into());
        words.extend(self.engine_words());
        self.shim = Some(Program::start("shim", &self.binaries.shim, &words, &self.wrap.env)?);
        Ok(())
    }

    /// Starts a shim that only watches: the engine is somebody else's.
    ///
    /// # Errors
    /// A finding when there is no such program.
    pub fn watch(&mut self) -> Verdict {
        let words = self.shim_words();
        self.shim = Some(Program::start("shim", &self.binaries.shim, &words, &self.wrap.env)?);
        Ok(())
    }

    /// Starts the engine without a shim.
    ///
    /// # Errors
    /// A finding when there is no such program.
    pub fn start_engine(&mut self) -> Verdict {
        let words = self.engine_words();
        self.loose = Some(Program::start("engine", &self.binaries.engine, &words, &self.wrap.env)?);
        Ok(())
    }

    fn shim_words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["--preset", self.wrap.preset, "--engine"].map(OsString::from).to_vec();
        words.push(format!("http://{}", self.engine).into());
        words.push("--socket".into());
        words.push(format!("unix:{}", self.socket.display()).into());
        words.extend(self.wrap.shim.iter().map(OsString::from));
        words
    }

    fn engine_words(&self) -> Vec<OsString> {
        let port = self.engine.port().to_string();
        let mut words: Vec<OsString> =
            ["engine", "--like", self.wrap.like, "--port", &port, "--director"].map(OsString::from).to_vec();
        words.push(self.director.path().into());
        words.extend(self.wrap.engine.iter().map(OsString::from));
        words
    }

    /// The shim.
    ///
    /// # Errors
    /// A finding when none was started.
    pub fn shim(&mut self) -> Verdict<&mut Program> {
        self.shim.as_mut().ok_or_else(|| Finding::new("no shim was started"))
    }

    /// The engine that was started without a shim.
    ///
    /// # Errors
    /// A finding when there is none.
    pub fn loose(&mut self) -> Verdict<&mut Program> {
        self.loose.as_mut().ok_or_else(|| Finding::new("no engine was started without a shim"))
    }

    /// One request to the shim's socket.
    ///
    /// # Errors
    /// A finding when no answer comes.
    pub async fn ask(&self, request: Request) -> Verdict<Received> {
        let mut client = Client::connect(&Address::Unix(self.socket.clone())).await?;
        client.ask(&request.field("Connection", "close")).await
    }

    /// What the shim says now.
    ///
    /// # Errors
    /// A finding when it says nothing.
    pub async fn told(&self) -> Verdict<Value> {
        self.ask(Request::get("/state")).await?.is(200)?.json()
    }

    /// Waits until the shim says this of the engine, and returns all that it says then.
    ///
    /// # Errors
    /// A finding with what it said instead.
    pub async fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Verdict<Value> {
        let last = parking_lot::Mutex::new(Value::Null);
        let what = format!("the shim to say: {what}");
        let asked = eventually(&what, || async {
            // Until it listens it says nothing.
            if let Ok(told) = self.told().await {
                *last.lock() = told;
            }
            Ok(wanted(&last.lock()))
        });
        asked.await.map_err(|finding| self.complaint(&finding, &last.lock()))?;
        Ok(last.into_inner())
    }

    /// Waits until the engine is in this state.
    ///
    /// # Errors
    /// A finding with the state that it was in instead.
    pub async fn until_state(&self, state: &str) -> Verdict<Value> {
        self.until(state, |told| told["engine"]["state"] == state).await
    }

    fn complaint(&self, finding: &Finding, told: &Value) -> Finding {
        let stderr = self.shim.as_ref().map(Program::stderr).unwrap_or_default();
        let engine = self.director.told();
        Finding::new(format!("{finding}\n  last     {told}\n  engine   {engine:?}\n  stderr   {stderr}"))
    }
}
