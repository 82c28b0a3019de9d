//! How does a stream tell its caller that it failed after it had started?
//!
//! Once and last, in the surface's own shape. OpenAI surfaces get no `[DONE]` behind it; generate ends as SIE ends (product section 4
//! item 8). No text of an upstream is in it.

use crate::event_stream::write_event;
use serde::Serialize;
use spillway_policies::failure::SieCode;
use spillway_policies::{Failure, Surface};

const MESSAGE: &str =
    "the upstream failed before its answer was complete; what was sent so far is not the whole answer";

/// Where a stream stands, for the error that may have to end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position<'a> {
    /// The id that the events before had; generate only.
    pub request_id: Option<&'a str>,
    /// The sequence number of the next event; generate and responses only.
    pub next_seq: u64,
}

/// The bytes that end a failed stream of `surface`, which stands at `position`.
#[must_use]
pub fn render(surface: Surface, failure: &Failure, position: &Position<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match surface {
        Surface::Generate => {
            let terminal = Terminal {
                request_id: position.request_id.unwrap_or_default(),
                seq: position.next_seq,
                text_delta: "",
                done: true,
                finish_reason: "error",
                error: TerminalError { code: generation_code(failure), message: MESSAGE },
            };
            write_event(None, &json(&terminal), &mut out);
            write_event(None, b"[DONE]", &mut out);
        }
        Surface::Responses => {
            let error = ResponsesError {
                kind: "error",
                code: generation_code(failure),
                message: MESSAGE,
                param: None,
                sequence_number: position.next_seq,
            };
            write_event(Some(b"error"), &json(&error), &mut out);
        }
        Surface::Completions => write_event(None, &openai("server_error", generation_code(failure)), &mut out),
        Surface::Audio
        | Surface::Chat
        | Surface::Embeddings
        | Surface::Encode
        | Surface::Extract
        | Surface::Rerank
        | Surface::Score => write_event(None, &openai("upstream_error", "upstream_error"), &mut out),
    }
    out
}

/// The code that generation surfaces show: what the upstream stated where SIE lets that through, else `inference_error`.
const fn generation_code(failure: &Failure) -> &'static str {
    match failure.stated {
        Some(
            code @ (SieCode::InputTooLong | SieCode::LoraLoading | SieCode::ModelLoading | SieCode::ResourceExhausted),
        ) => code.token(),
        Some(
            SieCode::InferenceError
            | SieCode::InternalError
            | SieCode::InvalidInput
            | SieCode::ModelLoadFailed
            | SieCode::ModelNotFound
            | SieCode::ModelNotLoaded
            | SieCode::QueueFull,
        )
        | None => "inference_error",
    }
}

fn openai(kind: &'static str, code: &'static str) -> Vec<u8> {
    json(&Envelope { error: OpenAiError { message: MESSAGE, kind, param: None, code } })
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a struct of texts and numbers always renders as JSON")
}

#[derive(Serialize)]
struct Envelope {
    error: OpenAiError,
}

#[derive(Serialize)]
struct OpenAiError {
    message: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<&'static str>,
    code: &'static str,
}

#[derive(Serialize)]
struct ResponsesError {
    #[serde(rename = "type")]
    kind: &'static str,
    code: &'static str,
    message: &'static str,
    param: Option<&'static str>,
    sequence_number: u64,
}

#[derive(Serialize)]
struct Terminal<'a> {
    request_id: &'a str,
    seq: u64,
    text_delta: &'static str,
    done: bool,
    finish_reason: &'static str,
    error: TerminalError,
}

#[derive(Serialize)]
struct TerminalError {
    code: &'static str,
    message: &'static str,
}
