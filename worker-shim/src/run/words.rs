//! What is the operator told about the shim's own begin and end, and about its engine's state?

use spillway_filters::feed::Condition;
use std::io::ErrorKind;
use std::path::Path;

use crate::config::{Address, Config};
use crate::state::Exit;

/// A socket in a folder that is for nothing else.
const OWN_FOLDER: &str = "/run/spillway/shim.sock";

/// What helps when the shim cannot begin.
pub(super) fn mend(socket: &Address, error: ErrorKind) -> String {
    match (socket, error) {
        (Address::Unix(path), ErrorKind::PermissionDenied) => not_writable(path),
        (_, ErrorKind::AddrInUse | ErrorKind::AlreadyExists) => ": give it a socket of its own with --socket".into(),
        _ => String::new(),
    }
}

/// What it is about to do.
pub(super) fn begun(config: &Config) {
    let (preset, engine, socket) = (config.preset.name, &config.engine, &config.socket);
    let what = if config.command.is_empty() { "watching" } else { "wrapping" };
    tracing::info!(preset, %engine, %socket, "{what} an engine");
}

/// A folder that is there belongs to somebody, who may not want it given away.
fn not_writable(socket: &Path) -> String {
    let folder = socket.parent().unwrap_or(socket);
    let shown = folder.display();
    if !folder.exists() {
        return format!(
            ": this user may not make the folder {shown}: make it (install -d -o USER {shown}, as root), or choose another with \
             --socket unix:/path/shim.sock and the same under engine.shim"
        );
    }
    let another = if socket == Path::new(OWN_FOLDER) { "/path/shim.sock" } else { OWN_FOLDER };
    format!(
        ": this user may not write in {shown}: choose a folder of its own, such as --socket unix:{another}, and the same under \
         engine.shim"
    )
}

/// Why the shim ends. `engine_ended`: the end of its engine's process was waited for.
pub(super) fn farewell(exit: Exit, engine_ended: bool, config: &Config) {
    let program = config.command.first().map(|program| program.display().to_string()).unwrap_or_default();
    match exit {
        Exit::Engine(code) if engine_ended => tracing::info!(code, "the engine has ended, and the shim with it"),
        Exit::Engine(_) if config.command.is_empty() => {
            tracing::info!("the shim was told to end; the engine that it watched is left alone");
        }
        Exit::Engine(_) => tracing::info!("the shim was told to end, and its engine was not running"),
        // It was said when it was seen.
        Exit::Taken => {}
        Exit::NotFound => tracing::error!(program, "there is no such program: check its name and PATH"),
        Exit::NotRun => tracing::error!(program, "the program cannot be run: check its mode and its format"),
    }
}

/// Why the engine is not started now.
pub(super) fn taken(engine: &Address) {
    tracing::error!(
        %engine,
        "somebody else listens where the engine is to listen (perhaps the engine of a shim that was killed): \
         end that, give the engine another port, or say with --engine where it really listens"
    );
}

/// The engine's state, when it is another, with the feed's own word for why.
pub(super) fn note(before: &Condition, now: &Condition) {
    if (before.state, before.why) != (now.state, now.why) {
        let why = now.why.and_then(|why| serde_json::to_value(why).ok());
        tracing::info!(
            state = now.state.token(),
            why = why.as_ref().and_then(|why| why.as_str()),
            "the engine's state"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helps_is_said_where_something_does() {
        let unix = Address::Unix("/nowhere/shim.sock".into());
        let tcp = Address::Tcp("127.0.0.1:9903".into());
        assert_eq!(
            mend(&unix, ErrorKind::PermissionDenied),
            ": this user may not make the folder /nowhere: make it (install -d -o USER /nowhere, as root), or choose another with \
             --socket unix:/path/shim.sock and the same under engine.shim"
        );
        // Whoever would make this one anew would take it from the system.
        assert_eq!(
            mend(&Address::Unix("/shim.sock".into()), ErrorKind::PermissionDenied),
            ": this user may not write in /: choose a folder of its own, such as --socket unix:/run/spillway/shim.sock, and the \
             same under engine.shim"
        );
        for socket in [&unix, &tcp] {
            assert_eq!(mend(socket, ErrorKind::AddrInUse), ": give it a socket of its own with --socket");
        }
        assert_eq!(mend(&tcp, ErrorKind::PermissionDenied), "");
        assert_eq!(mend(&unix, ErrorKind::OutOfMemory), "");
    }
}
