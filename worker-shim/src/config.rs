//! As meant: which engine, where, and what is to be done with it. The command line becomes this, and nothing else knows flags.

use spillway_filters::presets::Preset;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What the shim does.
#[derive(Debug)]
pub struct Config {
    /// Which engine it is.
    pub preset: &'static Preset,
    /// Where the engine listens.
    pub engine: Address,
    /// Where the shim listens.
    pub socket: Address,
    /// The mode of a Unix socket.
    pub socket_mode: u32,
    /// The engine's program and arguments. Empty: it was started by somebody else and is only watched, never ended.
    pub command: Vec<OsString>,
    /// After how long without a request it sleeps; none: never by itself.
    pub idle_sleep: Option<Duration>,
    /// How many waiting requests make it saturated; none: it never is.
    pub max_waiting: Option<u64>,
    /// How long requests in flight may take when it is to end or to sleep.
    pub drain: Duration,
    /// How long the engine may take to end after its signal, before it is killed.
    pub stop: Duration,
    /// What the engine wants to see before it talks.
    pub api_key: Option<ApiKey>,
}

/// Where something listens: `http://host:port` or `unix:/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host and a port.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "http://{address}"),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// A key that does not print.
#[derive(Clone)]
pub struct ApiKey(pub String);

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(..)")
    }
}
