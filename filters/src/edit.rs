//! How does a held body become the upstream's? The model's name is replaced and the operator's parameters are set or stripped, in
//! pieces that point into the held body, so that nothing large is copied.

mod outgoing;

pub(crate) use outgoing::Outgoing;

use crate::answer::Content;
use crate::answer::members::Members;
use crate::call::Format;
use crate::writer::json_text;
use std::fmt;
use std::ops::Range;

/// One piece of an outgoing body.
#[derive(Clone, PartialEq, Eq)]
pub enum Piece {
    /// A range of the held body.
    Held(Range<usize>),
    /// New bytes.
    New(Vec<u8>),
}

impl fmt::Debug for Piece {
    /// Without the bytes: they are the caller's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(range) => f.debug_tuple("Held").field(range).finish(),
            Self::New(bytes) => f.debug_tuple("New").field(&bytes.len()).finish(),
        }
    }
}

impl Piece {
    /// Its bytes; a range is copied from the held body.
    #[must_use]
    pub fn into_bytes(self, held: &[u8]) -> Vec<u8> {
        match self {
            Self::Held(range) => held[range].to_vec(),
            Self::New(bytes) => bytes,
        }
    }
}

/// Up to this many bytes a held value is copied: one write on the socket costs more.
pub(crate) const SMALL: usize = 512;

/// Where a value stands in the held body; none when it stands elsewhere.
pub(crate) fn place(held: &[u8], value: &[u8]) -> Option<Range<usize>> {
    let start = value.as_ptr().addr().wrapping_sub(held.as_ptr().addr());
    let range = start..start.wrapping_add(value.len());
    held.get(range.clone()).filter(|held| std::ptr::eq(*held, value)).map(|_| range)
}

/// The outgoing body: the caller's with `model` in place of the value at `span`.
#[must_use]
pub fn renamed(format: Format, body_len: usize, span: Range<usize>, model: &str) -> Vec<Piece> {
    let name = match format {
        Format::Multipart => model.as_bytes().to_vec(),
        Format::Json | Format::Msgpack => json_text(model),
    };
    vec![Piece::Held(0..span.start), Piece::New(name), Piece::Held(span.end..body_len)]
}

/// `options` without its `profile`; none when it cannot be taken apart.
pub(crate) fn unprofiled(content: Content, options: &[u8]) -> Option<Vec<u8>> {
    let mut options = Members::read(content, options)?;
    options.retain(|name| name != "profile");
    Some(options.to_bytes())
}

/// Drops the profile from a call's `options`: the name of one of ours means another one at an upstream, or nothing. What is left is the
/// upstream's to judge. None when they cannot be taken apart.
pub(crate) fn drop_profile(call: &mut Outgoing<'_>) -> Option<()> {
    let Some(options) = call.value("options") else { return Some(()) };
    match unprofiled(Content::Json, options)? {
        options if options == b"{}" => call.retain(|name| name != "options"),
        options => call.put("options", options),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(body: &[u8], pieces: Vec<Piece>) -> serde_json::Value {
        let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.into_bytes(body)).collect();
        serde_json::from_slice(&bytes).expect("JSON")
    }

    #[test]
    fn only_the_model_changes() {
        let body = br#"{"a":1,"model":"org/chat","b":[2]}"#;
        let pieces = renamed(Format::Json, body.len(), 15..25, "vendor/chat-8b");
        assert_eq!(joined(body, pieces), serde_json::json!({"a":1,"model":"vendor/chat-8b","b":[2]}));
    }
}
