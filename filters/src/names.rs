//! Header names and media types, one constant each.

/// Request: exactly `forbid`, or absent.
pub const REMOTE: &str = "X-SIE-Remote";
/// Answer: `local` or `remote`.
pub const SERVED_BY: &str = "X-SIE-Served-By";
/// Answer: the upstream's name, when remote.
pub const UPSTREAM: &str = "X-SIE-Upstream";
/// Answer: the trigger that caused remote serving.
pub const FALLBACK_REASON: &str = "X-SIE-Fallback-Reason";
/// Answer: one of SIE's codes for the failed upstream attempt.
pub const FALLBACK_ERROR: &str = "X-SIE-Fallback-Error";
/// Answer: what the code cannot tell apart.
pub const CAUSE: &str = "Spillway-Cause";

/// Answer: what a bridged vector or score is known to equal.
pub const EQUIVALENCE: &str = "Spillway-Equivalence";

/// JSON bodies.
pub const JSON: &str = "application/json";
/// Server-sent events.
pub const EVENT_STREAM: &str = "text/event-stream";
/// msgpack bodies, as SIE writes them.
pub const MSGPACK: &str = "application/msgpack";
