//! Which ends of a generation are ends?
//!
//! An unknown reason, `error`, `abort` or `cancelled` means that the upstream did not finish (contract section 5, finish_reason
//! allow-list). The empty reason of some servers is no reason at all (engines section 4 item 15).

/// A reason that ends a chat choice.
pub(crate) fn is_chat(reason: &str) -> bool {
    matches!(reason, "stop" | "length" | "tool_calls" | "content_filter")
}

/// A reason that ends a completions choice.
pub(crate) fn is_completion(reason: &str) -> bool {
    matches!(reason, "stop" | "length" | "content_filter")
}

/// A reason that ends a generate answer with success.
pub(crate) fn is_generated(reason: &str) -> bool {
    matches!(reason, "stop" | "length" | "tool_calls")
}
