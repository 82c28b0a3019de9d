//! What does the command line ask for?

mod address;
mod arguments;
mod ask;
mod caller;
mod engine;
mod screen;
mod slip;
mod wrap;

use crate::config::Config;
use arguments::Arguments;
pub use ask::Ask;
use std::ffi::OsString;

/// It could not be done.
pub const FAILED: u8 = 1;
/// The command line must be mended.
pub const OPERATORS_MISTAKE: u8 = 2;

/// What is to be done.
#[derive(Debug)]
pub enum Command {
    /// Ask a shim that runs.
    Ask(Ask),
    /// Be a shim.
    Wrap(Box<Config>),
}

/// Why nothing is done, or no more: a text for a person, and the exit code. Code 0 is help that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What is said, with its line end.
    pub text: String,
    /// The exit code.
    pub code: u8,
}

impl Stop {
    fn mistake(text: impl std::fmt::Display) -> Self {
        Self { text: format!("error: {text}\n"), code: OPERATORS_MISTAKE }
    }

    fn failed(text: impl std::fmt::Display) -> Self {
        Self { text: format!("error: {text}\n"), code: FAILED }
    }
}

/// Reads the command line, the program's own name first. `environment` gives the value of a variable.
///
/// # Errors
/// Nothing can be done with it, or help was asked for.
pub fn read<I>(arguments: I, environment: &dyn Fn(&str) -> Option<String>) -> Result<Command, Stop>
where
    I: IntoIterator<Item = OsString>,
{
    let Arguments { question, socket, wrap } = Arguments::read(arguments)?;
    match question {
        Some(question) => Ok(Command::Ask(Ask { socket, question })),
        None => wrap::config(wrap, socket, environment).map(|config| Command::Wrap(Box::new(config))),
    }
}
