//! What did the operator configure? One deployment file, its model files, and everything that is wrong with them.
//!
//! [`load`] walks the parsed files and collects, so that one run reports every mistake: where it stands, which key, what is wrong and
//! how to mend it. What it returns is as meant: names are resolved, times are milliseconds, defaults are filled in. Keys never enter:
//! [`secret`] reads them at use.

mod address;
mod convert;
mod error;
mod file;
mod repeated;
pub mod secret;
mod suggest;
mod switch;
mod table;
mod unseen;

pub use address::Address;
pub use error::{Diagnostic, Format, Severity, report};

use convert::{Deployment, Models, Surroundings};
use file::File;
use spillway_filters::presets::Preset;
use spillway_filters::refusal::Rule;
use spillway_policies::{Routes, Upstream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A whole configuration, as meant (product section 3).
#[derive(Clone, Debug)]
pub struct Config {
    /// Whether anything may be served remotely at all; the environment has been asked.
    pub remote_serving: bool,
    /// Where callers come in.
    pub listen: Listen,
    /// Where health and administration are.
    pub admin: Address,
    /// The engine beside us.
    pub engine: Engine,
    /// How we stop.
    pub drain: Drain,
    /// What is logged.
    pub log: Log,
    /// Every upstream, in the order of its name, whether a model names it or not.
    pub upstreams: Vec<Arc<Upstream>>,
    /// Every configured model.
    pub routes: Routes,
    /// What the operator should know although the configuration can be used.
    pub warnings: Vec<Diagnostic>,
}

/// `[listen]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Where callers connect.
    pub address: Address,
    /// TLS towards callers.
    pub tls: Option<ListenTls>,
    /// Largest request body that is held.
    pub max_body_bytes: usize,
    /// All held bodies together; at least one largest body.
    pub max_held_bytes: usize,
    /// Time until the first byte of an answer, local and upstream together.
    pub first_byte_budget_ms: u64,
    /// Whether HTTP/1.1 takes the fast lane.
    pub fast_lane: bool,
    /// Worker threads; 0 means one for each core.
    pub workers: usize,
    /// Time for a caller's head.
    pub head_timeout_ms: u64,
    /// Time for each 64 KiB of a caller's body.
    pub body_timeout_ms: u64,
    /// Time that a caller's connection may be idle between exchanges.
    pub idle_timeout_ms: u64,
}

/// `[listen.tls]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenTls {
    /// Our certificate chain.
    pub cert_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
    /// Authorities whose certificate every caller must show.
    pub client_ca_file: Option<PathBuf>,
}

/// `[engine]`
#[derive(Clone, Debug)]
pub struct Engine {
    /// What is known of this kind of engine.
    pub preset: &'static Preset,
    /// Where it listens.
    pub address: Address,
    /// The path in front of its API: empty, or starting with a slash and not ending in one.
    pub path_prefix: String,
    /// The socket of the shim that knows the engine's state.
    pub shim: Option<Address>,
    /// Time to connect.
    pub connect_ms: u64,
    /// Time until its first byte; 0: the engine decides, within the budget.
    pub first_byte_ms: u64,
    /// Time between two pieces of its answer.
    pub idle_ms: u64,
    /// Most requests that it is given at once.
    pub max_in_flight: Option<usize>,
    /// The operator's own recognisers, asked before the preset's.
    pub rules: Vec<Rule>,
}

/// `[drain]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// How long we still accept after we have said that we are leaving.
    pub lame_duck_ms: u64,
    /// How long exchanges may still run after that.
    pub max_ms: u64,
}

/// `[log]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// Its form.
    pub format: LogFormat,
    /// Which exchanges have a line.
    pub access: AccessLog,
}

/// `log.format`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// JSON.
    Json,
    /// Text.
    Text,
}

/// `log.access`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLog {
    /// Every exchange.
    All,
    /// Those that were bridged, or tried to be.
    Bridged,
    /// Those that failed.
    Errors,
    /// None.
    None,
}

/// Reads a deployment file and its model files. `env` reads an environment variable.
///
/// # Errors
/// Every mistake in every file, and every warning beside them, in the order of files and lines.
pub fn load(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Config, Vec<Diagnostic>> {
    let file = File::read(path).map_err(|diagnostic| vec![*diagnostic])?;
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    assemble(&file, &Surroundings { env, folder, looks_for_files: true })
}

/// Judges a deployment file apart from any machine: no other file is read or looked for, so a `models_dir` is not followed.
///
/// # Errors
/// As for [`load`].
pub fn parse(name: &str, text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Config, Vec<Diagnostic>> {
    assemble(&File::new(name, text), &Surroundings { env, folder: PathBuf::new(), looks_for_files: false })
}

fn assemble(file: &File, surroundings: &Surroundings<'_>) -> Result<Config, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let allowed = switch::environment_allows(surroundings.env, &mut found);
    let (tree, notes) = file.parse();
    let deployment = convert::deployment(notes.root(&tree), surroundings);
    let (routes, later) = read_models(&deployment, notes.is_broken(), surroundings);
    let remote_serving = deployment.remote_serving && allowed;
    let config = deployment.with_routes(routes);
    found.extend(notes.into_found());
    found.extend(later);
    match config {
        Some(config) if !found.iter().any(Diagnostic::is_error) => {
            Ok(Config { remote_serving, warnings: found, ..config })
        }
        _ => Err(found),
    }
}

/// The models of the deployment file, then those of the model files in the order of their names.
fn read_models(
    deployment: &Deployment<'_>,
    uncertain: bool,
    surroundings: &Surroundings<'_>,
) -> (Routes, Vec<Diagnostic>) {
    let mut models = Models::new(&deployment.upstreams, uncertain);
    let mut found = Vec::new();
    if let Some(node) = &deployment.models {
        models.read(node, surroundings);
    }
    let files = deployment.models_dir.as_ref().filter(|_| surroundings.looks_for_files);
    for file in files.map_or_else(Vec::new, |(folder, place)| file::model_files(folder, place)) {
        match file {
            Ok(file) => {
                let (tree, notes) = file.parse();
                convert::model_file(notes.root(&tree), &mut models, surroundings);
                found.extend(notes.into_found());
            }
            Err(diagnostic) => found.push(*diagnostic),
        }
    }
    (models.into_routes(), found)
}
