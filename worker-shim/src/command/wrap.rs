//! What does the command line say that a shim is to do?

use super::arguments::Wrap;
use super::engine::{Launched, Unclear};
use super::{Stop, address};
use crate::config::{Address, ApiKey, Config};
use spillway_filters::presets::{NAMES, Preset, preset};

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The command line as meant.
pub(super) fn config(wrap: Wrap, socket: Address, environment: Environment<'_>) -> Result<Config, Stop> {
    let launched = Launched::new(&wrap.command, environment);
    let preset = match wrap.preset {
        Some(preset) => preset,
        None => known(&launched, wrap.command.is_empty())?,
    };
    let engine = match &wrap.engine {
        // What was written may hold a password, so it is not repeated.
        Some(engine) => address::engine(engine).map_err(|what| Stop::mistake(format!("--engine: {what}")))?,
        None => by_command(preset, &launched)?,
    };
    if engine == socket {
        return Err(Stop::mistake(format!("--socket and --engine are the same address, {socket}: change one of them")));
    }
    possible(&wrap, preset)?;
    let api_key = wrap.api_key_secret.as_deref().map(|name| api_key(name, environment)).transpose()?;
    Ok(Config {
        preset,
        engine,
        socket,
        socket_mode: wrap.socket_mode,
        command: wrap.command,
        idle_sleep: wrap.idle_sleep_s,
        max_waiting: wrap.max_waiting,
        drain: wrap.drain_s,
        stop: wrap.stop_s,
        api_key,
    })
}

/// Whether the engine can do what the flags ask of it.
fn possible(wrap: &Wrap, preset: &Preset) -> Result<(), Stop> {
    if wrap.idle_sleep_s.is_some() && wrap.command.is_empty() && preset.sleep.is_none() {
        return Err(Stop::mistake(format!(
            "--idle-sleep-s: an engine of the preset {} sleeps only by ending, and what the shim did not start it does not end; \
             leave the flag out, or let the shim start it:\n  spillway-shim --idle-sleep-s 900 -- ENGINE ARGS",
            preset.name
        )));
    }
    if wrap.max_waiting.is_some() && preset.watch.queue.is_none_or(|queue| queue.waiting.is_empty()) {
        return Err(Stop::mistake(format!(
            "--max-waiting: an engine of the preset {} does not say how many requests wait; leave the flag out, and bound them \
             with max_in_flight under [engine] in spillway.toml",
            preset.name
        )));
    }
    Ok(())
}

/// The preset that a command tells.
fn known(launched: &Launched<'_>, is_watch_only: bool) -> Result<&'static Preset, Stop> {
    if is_watch_only {
        return Err(Stop::mistake(
            "which engine is it? Name the command that starts it behind `--`, or the preset of one that runs already:\n  \
             spillway-shim -- vllm serve org/model\n  spillway-shim --preset vllm --engine http://127.0.0.1:8000",
        ));
    }
    launched.preset(NAMES.iter().filter_map(|name| preset(name))).ok_or_else(|| {
        Stop::mistake(format!(
            "no engine is known by the command `{}` (shells, containers and other wrappers are not seen through): say with --preset \
             which one it is, out of {}, and with --engine where it listens:\n  spillway-shim --preset NAME --engine URL -- …",
            launched.name().escape_debug(),
            NAMES.join(", "),
        ))
    })
}

/// Where an engine listens that nobody gave an address for.
fn by_command(preset: &Preset, launched: &Launched<'_>) -> Result<Address, Stop> {
    launched.listens(&preset.launch, preset.port).map_err(|Unclear { name, wanted }| {
        Stop::mistake(format!(
            "the engine's {name} is no {wanted}, so the shim cannot find it: give it one, or say with --engine where it listens:\n  \
             spillway-shim --engine http://127.0.0.1:{} -- …",
            preset.port
        ))
    })
}

/// The key in the variable of this name. A name may be the key itself by mistake, so it is not repeated.
fn api_key(name: &str, environment: Environment<'_>) -> Result<ApiKey, Stop> {
    let mistake = |what| Err(Stop::mistake(format!("--api-key-secret names an environment variable that {what}")));
    match environment(name) {
        None => mistake(
            "is not set: export the engine's key in one, and write the variable's name here, not the key:\n  \
             ENGINE_KEY=… spillway-shim --api-key-secret ENGINE_KEY -- …",
        ),
        Some(key) if key.is_empty() => mistake("is empty: set it to the engine's key"),
        Some(key) if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            mistake("holds a blank, a line end or another character that no key has: set it to the bare key")
        }
        Some(key) => Ok(ApiKey(key)),
    }
}
