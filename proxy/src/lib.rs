//! Spillway, the sidecar: when, over which socket?
//!
//! Read [`exchange`](self) first: the request path, top to bottom. `lane` reads requests from connections and runs it; `local` and
//! `upstream` are the two attempts; `client` is the only one who answers. ARCHITECTURE.md has the whole plan.

mod admin;
mod budget;
mod client;
mod clock;
pub mod config;
mod connection;
mod control;
pub mod demo;
mod engine;
mod exchange;
mod foreseen;
mod full_lane;
pub mod handover;
mod held;
mod house;
mod intake;
mod lane;
mod local;
mod local_body;
mod local_models;
mod local_state;
mod local_stream;
mod models;
mod relay;
pub mod run;
mod shim;
pub mod signals;
mod slots;
mod stream_io;
mod stream_through;
pub mod telemetry;
mod tunnel;
mod upstream;
mod warmup;
