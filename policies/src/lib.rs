//! Should we? The pure decisions of Spillway and the vocabulary they are made in.
//!
//! Nothing here can touch a socket, a clock, a file or the environment: the crate is `no_std`, so the compiler says so.
//! Time comes in as a [`Moment`]; secrets never come in at all, only their names. Every decision is a value that carries its reason.
//!
//! Read [`verdict`] first: it is *the* decision. [`routing`] says what a model name resolves to, [`consent`] whether a request may
//! leave, [`trigger`] which refusals may bridge, [`gate`] whether an upstream may be asked right now, [`failure`] what a failed
//! attempt is called towards the caller.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod breaker;
pub mod consent;
pub mod engine_state;
pub mod failure;
pub mod gate;
pub mod model;
pub mod moment;
pub mod rate_cap;
pub mod refusal;
pub mod routing;
pub mod surface;
pub mod trigger;
pub mod upstream;
pub mod url;
pub mod verdict;

pub use consent::Consent;
pub use engine_state::State;
pub use failure::{Cause, Class, Failure};
pub use moment::Moment;
pub use refusal::Refusal;
pub use routing::{Model, Remote, Route, Routes};
pub use surface::Surface;
pub use trigger::{Trigger, TriggerSet};
pub use upstream::Upstream;
pub use verdict::{Verdict, decide};
