//! What does an answer show instead of what the upstream wrote?

use crate::writer::json_text;

/// What an answer shows instead of what the upstream wrote.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The model's name as the caller wrote it.
    pub model: String,
    /// A fresh id with the surface's prefix (`chatcmpl-`, `cmpl-`, `resp_`); on generate the `request_id` of a stream.
    pub id: String,
    /// When the answer was made, in seconds since 1970.
    pub created_s: u64,
    /// The caller asked for reasoning.
    pub include_reasoning: bool,
    /// The caller asked for usage in its stream.
    pub include_usage: bool,
}

impl Shown {
    /// Appends the start of a chat or completions object, up to where `choices` follows.
    pub(crate) fn open(&self, object: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        out.extend_from_slice(&json_text(&self.id));
        out.extend_from_slice(b",\"object\":");
        out.extend_from_slice(&json_text(object));
        out.extend_from_slice(format!(",\"created\":{},\"model\":", self.created_s).as_bytes());
        out.extend_from_slice(&json_text(&self.model));
    }
}
