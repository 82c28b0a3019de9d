//! How does a held body become the upstream's? The model's name is replaced and the operator's parameters are set or stripped, in
//! pieces that point into the held body, so that nothing large is copied.

use crate::answer::Content;
use crate::answer::members::Members;
use crate::call::Format;
use crate::scan::{self, NotAnObject};
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

/// The outgoing body: the caller's with `model` in place of the value at `span`.
#[must_use]
pub fn renamed(format: Format, body_len: usize, span: Range<usize>, model: &str) -> Vec<Piece> {
    let name = match format {
        Format::Multipart => model.as_bytes().to_vec(),
        Format::Json | Format::Msgpack => quoted(model),
    };
    vec![Piece::Held(0..span.start), Piece::New(name), Piece::Held(span.end..body_len)]
}

/// The outgoing body of an OpenAI call: renamed, with the operator's parameters set and stripped. A cap on output tokens that the
/// operator sets never raises the caller's own (contract section 6).
///
/// # Errors
/// The body is not a JSON object.
pub fn with_params(body: &[u8], model: &str, params: &Params) -> Result<Vec<Piece>, NotAnObject> {
    let mut pieces = vec![Piece::New(b"{".to_vec())];
    let mut open = true;
    let mut separate = move |pieces: &mut Vec<Piece>| {
        if !std::mem::take(&mut open) {
            pieces.push(Piece::New(b",".to_vec()));
        }
    };
    // The caller's own cap, under whichever name.
    let mut capped: Option<u64> = None;
    for member in scan::members(body) {
        let member = member?;
        let key = scan::text(&body[member.key.clone()]).ok_or(NotAnObject)?;
        if is_output_cap(&key) {
            capped = capped.into_iter().chain(whole_number(&body[member.value.clone()])).min();
        }
        let replaced = params.set.iter().any(|(name, _)| *name == key);
        if replaced || params.strip.iter().any(|name| *name == key) {
            continue;
        }
        separate(&mut pieces);
        if key == "model" {
            pieces.push(Piece::New(pair("model", &quoted(model))));
        } else {
            pieces.push(Piece::Held(member.key.start..member.value.end));
        }
    }
    for (name, value) in &params.set {
        separate(&mut pieces);
        let lower = capped
            .filter(|asked| is_output_cap(name) && whole_number(value.as_bytes()).is_some_and(|set| *asked < set));
        let value = lower.map_or_else(|| value.clone(), |asked| asked.to_string());
        pieces.push(Piece::New(pair(name, value.as_bytes())));
    }
    pieces.push(Piece::New(b"}".to_vec()));
    Ok(pieces)
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

fn unprofiled(content: Content, options: &[u8]) -> Option<Vec<u8>> {
    let mut options = Members::read(content, options)?;
    options.retain(|name| name != "profile");
    Some(options.to_bytes())
}

fn is_output_cap(name: &str) -> bool {
    matches!(name, "max_tokens" | "max_completion_tokens")
}

fn whole_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn quoted(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("a string always renders as JSON")
}

fn pair(name: &str, value: &[u8]) -> Vec<u8> {
    [&quoted(name), &b":"[..], value].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(body: &[u8], pieces: Vec<Piece>) -> serde_json::Value {
        let bytes: Vec<u8> = pieces
            .into_iter()
            .flat_map(|piece| match piece {
                Piece::Held(range) => body[range].to_vec(),
                Piece::New(bytes) => bytes,
            })
            .collect();
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
        let body = br#"{"user":"u","model":"m","store":true,"max_tokens":16,"x":{"user":1}}"#;
        let pieces = with_params(body, "v", &params).expect("an object");
        assert_eq!(joined(body, pieces), serde_json::json!({"model":"v","x":{"user":1},"store":false,"max_tokens":16}));
        let pieces = with_params(br#"{"model":"m","max_tokens":500}"#, "v", &params).expect("an object");
        assert_eq!(joined(b"", pieces)["max_tokens"], 100);
        let other =
            Params { set: vec![("max_completion_tokens".into(), "500".into())], strip: vec!["max_tokens".into()] };
        let pieces = with_params(br#"{"model":"m","max_tokens":16}"#, "v", &other).expect("an object");
        assert_eq!(joined(b"", pieces), serde_json::json!({"model":"v","max_completion_tokens":16}));
        let only = Params { set: vec![], strip: vec!["model".into(), "a".into()] };
        assert_eq!(joined(b"", with_params(br#"{"a":1}"#, "v", &only).expect("an object")), serde_json::json!({}));
    }
}
