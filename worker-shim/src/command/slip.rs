//! What was meant by a command line that cannot be read?

use super::{OPERATORS_MISTAKE, Stop};
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Says how to mend it. `asks`: it names a question to a shim that runs.
pub(super) fn explain(error: &clap::Error, asks: bool) -> Stop {
    match word(error) {
        Some(word @ ("-o" | "--output")) if asks => Stop::mistake(format!(
            "`{word}` is an option of `status`, and stands behind it:\n  spillway-shim status -o json"
        )),
        Some(word) if !asks && word.starts_with('-') => Stop::mistake(unknown_flag(error, word)),
        Some(word @ ("wake" | "start" | "unload" | "stop")) if !asks => Stop::mistake(format!(
            "`{word}` is none of status, load and sleep: load wakes too, sleep unloads, and SIGTERM ends the shim and the engine \
             that it started"
        )),
        Some(word) if !asks => Stop::mistake(format!(
            "`{word}` is none of status, load and sleep; an engine's command stands behind `--`:\n  spillway-shim -- {word} …"
        )),
        _ => read(error),
    }
}

/// What clap says of it.
pub(super) fn read(error: &clap::Error) -> Stop {
    let code = u8::try_from(error.exit_code()).unwrap_or(OPERATORS_MISTAKE);
    Stop { text: error.render().to_string(), code }
}

/// A word that is nothing at all. What clap proposes for one, `-- -m`, would start it as the engine.
fn word(error: &clap::Error) -> Option<&str> {
    let context = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        _ => return None,
    };
    text(error, context)
}

fn unknown_flag(error: &clap::Error, flag: &str) -> String {
    let similar = text(error, ContextKind::SuggestedArg)
        .map(|similar| format!(" (the nearest is `{similar}`)"))
        .unwrap_or_default();
    format!(
        "`{flag}` is no option of the shim{similar}; the engine's own flags stand behind `--` and the engine's program:\n  \
         spillway-shim -- ENGINE {flag} …"
    )
}

fn text(error: &clap::Error, context: ContextKind) -> Option<&str> {
    match error.get(context) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
