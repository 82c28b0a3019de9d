//! Speaks for one engine: starts it, watches it, tells the sidecar its true state, and loads, sleeps and wakes it on request.
//!
//! Empty for now: the crate holds its place in the house and its imports. `spillway-shim` comes with the engine state feed.
