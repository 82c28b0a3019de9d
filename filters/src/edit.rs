//! How does a held body become the upstream's? The model's name is replaced and the operator's parameters are set or stripped, in
//! pieces that point into the held body, so that nothing large is copied.

mod outgoing;

pub(crate) use outgoing::Outgoing;

use crate::answer::Content;
use crate::answer::members::Members;
use crate::call::Format;
use crate::scan::NotAnObject;
use spillway_policies::Surface;
use spillway_policies::upstream::Params;
use std::ops::Range;

/// One piece of an outgoing body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A range of the held body.
    Held(Range<usize>),
    /// New bytes.
    New(Vec<u8>),
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

/// The outgoing body: the caller's with `model` in place of the value at `span`.
#[must_use]
pub fn renamed(format: Format, body_len: usize, span: Range<usize>, model: &str) -> Vec<Piece> {
    let name = match format {
        Format::Multipart => model.as_bytes().to_vec(),
        Format::Json | Format::Msgpack => quoted(model),
    };
    vec![Piece::Held(0..span.start), Piece::New(name), Piece::Held(span.end..body_len)]
}

/// The outgoing body of an OpenAI call: renamed, with the operator's parameters set and stripped.
///
/// # Errors
/// The body is not a JSON object.
pub fn with_params(body: &[u8], model: &str, params: &Params) -> Result<Vec<Piece>, NotAnObject> {
    let mut outgoing = Outgoing::read(body)?;
    if outgoing.value("model").is_some() {
        outgoing.put_text("model", model);
    }
    outgoing.apply(params);
    Ok(outgoing.into_pieces())
}

/// The body without the `options.profile` that named one of our profiles: at an upstream the name would mean another one. An OpenAI host
/// has no `options` at all. None when the body cannot be taken apart (contract section 6).
#[must_use]
pub fn without_profile(surface: Surface, format: Format, openai: bool, body: &[u8]) -> Option<Vec<u8>> {
    let content = if format == Format::Msgpack { Content::Msgpack } else { Content::Json };
    let mut call = Members::read(content, body)?;
    if matches!(surface, Surface::Encode | Surface::Extract) {
        let params = call.raw_cow("params")?;
        let mut params = Members::read(content, &params)?;
        let options = params.raw_cow("options")?;
        params.set("options", unprofiled(content, &options)?);
        call.set("params", params.to_bytes());
    } else if openai {
        call.retain(|name| name != "options");
    } else {
        let options = call.raw_cow("options")?;
        call.set("options", unprofiled(content, &options)?);
    }
    Some(call.to_bytes())
}

/// `options` without its `profile`; none when it cannot be taken apart.
pub(crate) fn unprofiled(content: Content, options: &[u8]) -> Option<Vec<u8>> {
    let mut options = Members::read(content, options)?;
    options.retain(|name| name != "profile");
    Some(options.to_bytes())
}

fn quoted(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("a string always renders as JSON")
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

    #[test]
    fn a_profile_of_ours_means_nothing_to_an_upstream() {
        let encode = br#"{"items":[{"text":"a"}],"params":{"options":{"profile":"remote","is_query":true}}}"#;
        let body = without_profile(Surface::Encode, Format::Json, false, encode).expect("an object");
        let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(body, serde_json::json!({"items":[{"text":"a"}],"params":{"options":{"is_query":true}}}));
        let rerank = br#"{"model":"m","options":{"profile":"remote"},"query":"q"}"#;
        let body = without_profile(Surface::Rerank, Format::Json, true, rerank).expect("an object");
        assert_eq!(body, br#"{"model":"m","query":"q"}"#);
        let packed =
            rmp_serde::to_vec_named(&serde_json::json!({"items": [1], "params": {"options": {"profile": "r"}}}));
        let body =
            without_profile(Surface::Encode, Format::Msgpack, false, &packed.expect("it renders")).expect("a map");
        let body: serde_json::Value = rmp_serde::from_slice(&body).expect("msgpack");
        assert_eq!(body, serde_json::json!({"items": [1], "params": {"options": {}}}));
    }

    #[test]
    fn the_operator_sets_and_strips() {
        let params = Params {
            set: vec![("store".into(), "false".into()), ("max_tokens".into(), "100".into())],
            strip: vec!["user".into()],
        };
        let body = br#"{"user":"u","model":"m","store":true,"x":{"user":1}}"#;
        let pieces = with_params(body, "v", &params).expect("an object");
        let wanted = serde_json::json!({"model":"v","x":{"user":1},"store":false,"max_tokens":100});
        assert_eq!(joined(body, pieces), wanted);
        let only = Params { set: vec![], strip: vec!["model".into(), "a".into()] };
        assert_eq!(joined(b"", with_params(br#"{"a":1}"#, "v", &only).expect("an object")), serde_json::json!({}));
    }
}
