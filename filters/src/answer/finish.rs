//! Which ends of a generation are ends?
//!
//! An unknown reason, `error`, `abort` or `cancelled` means that the upstream did not finish (contract section 5, finish_reason
//! allow-list). The empty reason of some servers is no reason at all (engines section 4 item 15).

use spillway_policies::Surface;

/// The reason of this name, when it ends a choice of `surface`, chat or completions.
pub(crate) fn of_choice(surface: Surface, reason: &str) -> Option<&'static str> {
    let calls = surface != Surface::Completions;
    let mut ends = ["content_filter", "length", "stop"].into_iter().chain(calls.then_some("tool_calls"));
    ends.find(|end| *end == reason)
}

/// The reason of this name, when it ends a text of the model's own: generate and responses have a word for it.
pub(crate) fn of_text(reason: &str) -> Option<&'static str> {
    ["length", "stop"].into_iter().find(|end| *end == reason)
}

/// A reason that ends a generate answer with success.
pub(crate) fn is_generated(reason: &str) -> bool {
    matches!(reason, "stop" | "length" | "tool_calls")
}

/// The same, and one that ends a stream which has begun.
pub(crate) fn is_generated_or_cancelled(reason: &str) -> bool {
    is_generated(reason) || reason == "cancelled"
}
