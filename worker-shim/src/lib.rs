//! Speaks for one engine: starts it, watches it, tells the sidecar its true state, and loads, sleeps and wakes it on request.
//!
//! Read [`state`] first: the pure machine that decides. Everything else brings it events or does what it says.
#![warn(missing_docs)]

pub mod asked;
mod backoff;
mod bounded;
pub mod client;
pub mod command;
pub mod config;
pub mod identity;
mod load_times;
pub mod output;
pub mod probe;
pub mod process;
pub mod run;
pub mod serve;
pub mod state;
