//! Which surface does a path belong to, and which model does it name?

use percent_encoding::percent_decode;
use spillway_policies::Surface;
use std::borrow::Cow;

/// What a `POST` to a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// Inference. Native surfaces name their model in the path, decoded here.
    Inference(Surface, Option<Cow<'a, str>>),
    /// Inference on a native surface without a readable model name.
    Nameless(Surface),
    /// Anything else: it passes through.
    Other,
}

/// The surface that a `POST` to a path belongs to; none passes through (contract section 1.1).
#[must_use]
pub fn surface(path: &[u8]) -> Option<Surface> {
    let Some(rest) = path.strip_prefix(b"/v1/") else { return (path == b"/v2/rerank").then_some(Surface::Rerank) };
    match rest {
        b"chat/completions" => Some(Surface::Chat),
        b"completions" => Some(Surface::Completions),
        b"embeddings" => Some(Surface::Embeddings),
        b"rerank" => Some(Surface::Rerank),
        b"responses" => Some(Surface::Responses),
        b"audio/transcriptions" => Some(Surface::Audio),
        _ => NATIVE.into_iter().find(|(_, prefix)| rest.starts_with(prefix)).map(|(surface, _)| surface),
    }
}

const NATIVE: [(Surface, &[u8]); 4] = [
    (Surface::Encode, b"encode/"),
    (Surface::Score, b"score/"),
    (Surface::Extract, b"extract/"),
    (Surface::Generate, b"generate/"),
];

/// Reads the path of a `POST`, query excluded.
#[must_use]
pub fn asked(path: &[u8]) -> Asked<'_> {
    let Some(surface) = surface(path) else { return Asked::Other };
    if !surface.is_native() {
        return Asked::Inference(surface, None);
    }
    // A native path is `/v1/`, the surface's name, a slash and the model.
    match model(surface, &path[b"/v1/".len() + surface.name().len() + 1..]) {
        Some(model) => Asked::Inference(surface, Some(model)),
        None => Asked::Nameless(surface),
    }
}

/// The model name of a native path. `generate` writes the slash of a name as two underscores.
fn model(surface: Surface, written: &[u8]) -> Option<Cow<'_, str>> {
    let name = percent_decode(written).decode_utf8().ok().filter(|name| !name.is_empty())?;
    if surface == Surface::Generate && name.contains("__") {
        Some(Cow::Owned(name.replace("__", "/")))
    } else {
        Some(name)
    }
}

/// The path, from the upstream's base path on, that asks `surface` for `model` in the caller's own protocol.
///
/// An `openai` upstream's base URL ends in its version, so the `/v1` goes.
#[must_use]
pub fn upstream_path(surface: Surface, model: &str, openai: bool) -> String {
    let version = if openai { "" } else { "/v1" };
    match surface {
        Surface::Audio => format!("{version}/audio/transcriptions"),
        Surface::Chat => format!("{version}/chat/completions"),
        Surface::Completions => format!("{version}/completions"),
        Surface::Embeddings => format!("{version}/embeddings"),
        Surface::Encode => format!("/v1/encode/{model}"),
        Surface::Extract => format!("/v1/extract/{model}"),
        Surface::Generate => format!("/v1/generate/{}", model.replace('/', "__")),
        Surface::Rerank => format!("{version}/rerank"),
        Surface::Responses => format!("{version}/responses"),
        Surface::Score => format!("/v1/score/{model}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str) -> Option<(Surface, String)> {
        match asked(path.as_bytes()) {
            Asked::Inference(surface, Some(model)) => Some((surface, model.into_owned())),
            _ => None,
        }
    }

    #[test]
    fn native_paths_name_their_model() {
        assert_eq!(named("/v1/encode/BAAI/bge-m3"), Some((Surface::Encode, "BAAI/bge-m3".into())));
        assert_eq!(named("/v1/score/org%2Fname:remote"), Some((Surface::Score, "org/name:remote".into())));
        assert_eq!(named("/v1/generate/org__chat"), Some((Surface::Generate, "org/chat".into())));
        assert_eq!(asked(b"/v1/extract/"), Asked::Nameless(Surface::Extract));
        assert_eq!(asked(b"/v1/encode/%ff"), Asked::Nameless(Surface::Encode));
    }

    #[test]
    fn openai_paths_leave_the_model_to_the_body() {
        assert_eq!(asked(b"/v1/chat/completions"), Asked::Inference(Surface::Chat, None));
        assert_eq!(asked(b"/v2/rerank"), Asked::Inference(Surface::Rerank, None));
        for other in
            ["/", "/v1/models", "/v1/chat/completions/", "/v1/encode", "/v1/Encode/m", "/health", "/v2/score/m"]
        {
            assert_eq!(asked(other.as_bytes()), Asked::Other, "{other}");
        }
    }

    #[test]
    fn an_upstream_is_asked_on_its_own_path() {
        assert_eq!(upstream_path(Surface::Generate, "org/m:default", false), "/v1/generate/org__m:default");
        assert_eq!(upstream_path(Surface::Encode, "org/m", false), "/v1/encode/org/m");
        assert_eq!(upstream_path(Surface::Chat, "m", false), "/v1/chat/completions");
        assert_eq!(upstream_path(Surface::Chat, "m", true), "/chat/completions");
    }
}
