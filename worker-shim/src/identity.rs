//! What can be observed of the local side, so that two machines can be told to give the same vectors?
//!
//! Every part is seen or stated by the engine itself. What would have to be assumed is none, for a wrong part is worse than a missing one:
//! the digest exists only when all of them are known.

mod cpu;
mod device;
mod files;
mod hash;
mod hub;
mod local;
mod machine;
mod parts;
mod place;
mod sockets;
mod started;
mod stated;
mod table;

pub use machine::Machine;

use crate::client::Client;
use crate::config::Config;
use local::Local;
use parts::Parts;
use spillway_filters::feed::Identity;
use spillway_filters::presets::Launch;
use std::sync::Arc;
use table::{Known, Weights};

/// What can be told of this engine on this machine. `process` is the engine's own, when the shim started it.
///
/// It reads the weights once per file, which may take minutes. A call that is dropped soon stops reading.
pub async fn observe(config: &Config, client: &Client, process: Option<i32>) -> Identity {
    observe_on(&Arc::new(Machine::this()), config, client, process).await
}

/// As [`observe`], on another machine than this one.
pub async fn observe_on(machine: &Arc<Machine>, config: &Config, client: &Client, process: Option<i32>) -> Identity {
    let known = table::of(config.preset.name);
    let stated = stated::ask(client, known.asks).await;
    let mut parts =
        Parts { engine: Some(config.preset.name.to_owned()), version: stated.version(), ..Parts::default() };
    let local = match process {
        Some(process) => look(machine, config, process, known).await,
        None => None,
    };
    if let Some((local, device)) = local {
        let kind = &config.preset.launch;
        (parts.device, parts.driver) = device;
        parts.weights = match known.weights {
            Weights::Gguf => files::of(machine, &local, known, &stated).await,
            Weights::Hub { .. } => hub::of(machine, &local, known, kind, &stated),
            Weights::Many => None,
        };
        parts.tokenizer = parts.weights.clone().filter(|_| !local.has_any(known.tokenizer_not_with));
        parts.dtype = dtype(&parts, &local, known, kind, stated.dtype);
    }
    parts.identity()
}

/// What the processes of the engine show, with their device and its driver. Read aside: there may be many, and they map a lot.
async fn look(
    machine: &Arc<Machine>,
    config: &Config,
    process: i32,
    known: &'static Known,
) -> Option<(Local, (Option<String>, Option<String>))> {
    let (machine, address) = (Arc::clone(machine), config.engine.clone());
    let looked = tokio::task::spawn_blocking(move || {
        let local = Local::of(&machine, &address, process)?;
        let device = device::of(&machine, &local, known);
        Some((local, device))
    });
    looked.await.ok().flatten()
}

/// The number format that it computes in. The weights of a GGUF file say it.
fn dtype(parts: &Parts, local: &Local, known: &Known, launch: &Launch, stated: Option<String>) -> Option<String> {
    if local.has_any(known.dtype_not_with) {
        return None;
    }
    match known.weights {
        Weights::Gguf => parts.weights.clone(),
        Weights::Hub { .. } => table::dtype(&stated.or_else(|| local.flag(launch.dtype_flags))?),
        Weights::Many => None,
    }
}
