//! How does a stream tell its caller that it failed after it had started?
//!
//! Once and last, in the surface's own shape. OpenAI surfaces get no `[DONE]` behind it; generate ends as SIE ends (product section 4
//! item 8). No text of an upstream is in it.

use crate::error_answer::OUTPUT_PARSE_ERROR;
use crate::event_stream::write_event;
use serde::Serialize;
use spillway_policies::failure::SieCode;
use spillway_policies::{Class, Failure, Surface};

const MESSAGE: &str =
    "the upstream failed before its answer was complete; what was sent so far is not the whole answer";

/// Where a stream stands, for the error that may have to end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position<'a> {
    /// The id that the events before had; generate only.
    pub request_id: Option<&'a str>,
    /// The sequence number of the next event; generate only.
    pub next_seq: u64,
}

/// The bytes that end a stream which the engine broke off, or left hanging when `silent`. They begin with the blank line that ends an event
/// of which only a part came. That part reaches the caller as an event of its own: an event stream takes nothing back, and to complete its
/// JSON somebody would have to read every stream, or hold each event until it is whole. A caller that takes every event for JSON fails on
/// it, one that skips what it cannot read finds the error behind it. Nobody read that stream, so a generate event says neither an id nor how many events there were.
#[must_use]
pub fn engine_broke_off(surface: Surface, silent: bool) -> Vec<u8> {
    let (code, message) = if silent {
        (
            "ENGINE_TIMEOUT",
            "the engine fell silent before its answer was complete; what was sent so far is not the whole answer",
        )
    } else {
        (
            "ENGINE_RESET",
            "the engine broke off before its answer was complete; what was sent so far is not the whole answer",
        )
    };
    let mut out = b"\n\n".to_vec();
    if ends_whole(surface) {
        write_terminal(&Position::default(), TerminalError { code: "inference_error", message }, &mut out);
    } else {
        write_event(&openai("server_error", code, message), &mut out);
    }
    out
}

/// Whether a failed stream of this surface still ends whole: SIE's has a terminal event for failures, OpenAI's has none and is broken off.
#[must_use]
pub const fn ends_whole(surface: Surface) -> bool {
    matches!(surface, Surface::Generate)
}

/// The bytes that end a failed stream of `surface`, which stands at `position`.
#[must_use]
pub fn render(surface: Surface, failure: &Failure, position: &Position<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match surface {
        Surface::Generate => {
            write_terminal(position, TerminalError { code: generation_code(failure), message: MESSAGE }, &mut out);
        }
        Surface::Completions => write_event(&openai("server_error", generation_code(failure), MESSAGE), &mut out),
        Surface::Audio
        | Surface::Chat
        | Surface::Embeddings
        | Surface::Encode
        | Surface::Extract
        | Surface::Rerank
        | Surface::Responses
        | Surface::Score => {
            let (kind, code) = if failure.class == Class::Unparsable {
                ("server_error", OUTPUT_PARSE_ERROR)
            } else {
                ("upstream_error", "upstream_error")
            };
            write_event(&openai(kind, code, said(failure)), &mut out);
        }
    }
    out
}

/// The last events of a generate stream that failed.
fn write_terminal(position: &Position<'_>, error: TerminalError, out: &mut Vec<u8>) {
    let terminal = Terminal {
        request_id: position.request_id.unwrap_or_default(),
        seq: position.next_seq,
        text_delta: "",
        done: true,
        finish_reason: "error",
        error,
    };
    write_event(&json(&terminal), out);
    write_event(b"[DONE]", out);
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

/// What happened, in our words.
const fn said(failure: &Failure) -> &'static str {
    match failure.class {
        Class::Unparsable => "the model's output is complete and breaks the schema that response_format demands",
        _ => MESSAGE,
    }
}

fn openai(kind: &'static str, code: &'static str, message: &'static str) -> Vec<u8> {
    json(&Envelope { error: OpenAiError { message, kind, param: None, code } })
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
