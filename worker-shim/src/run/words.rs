//! What is the operator told about the shim's own begin and end, and about its engine's state?

use spillway_filters::feed::Condition;
use std::io::ErrorKind;

use crate::config::{Address, Config};
use crate::state::Exit;

/// What helps when the shim cannot begin.
pub(super) fn mend(socket: &Address, error: ErrorKind) -> String {
    match (socket, error) {
        (Address::Unix(path), ErrorKind::PermissionDenied) => format!(
            ": this user may not write there: make the folder for it (install -d -o USER {}), or choose another with \
             --socket unix:/path/shim.sock and the same under engine.shim",
            path.parent().unwrap_or(path).display()
        ),
        (_, ErrorKind::AddrInUse | ErrorKind::AlreadyExists) => ": give it a socket of its own with --socket".into(),
        _ => String::new(),
    }
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
         end that, or give the engine another port"
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
        let unix = Address::Unix("/run/spillway/shim.sock".into());
        let tcp = Address::Tcp("127.0.0.1:9903".into());
        assert_eq!(
            mend(&unix, ErrorKind::PermissionDenied),
            ": this user may not write there: make the folder for it (install -d -o USER /run/spillway), or choose another \
             with --socket unix:/path/shim.sock and the same under engine.shim"
        );
        for socket in [&unix, &tcp] {
            assert_eq!(mend(socket, ErrorKind::AddrInUse), ": give it a socket of its own with --socket");
        }
        assert_eq!(mend(&tcp, ErrorKind::PermissionDenied), "");
        assert_eq!(mend(&unix, ErrorKind::OutOfMemory), "");
    }
}
