//! SIE's own verdicts on streams.

use super::{data, expected, json};
use serde_json::Value;
use spillway_filters::answer::Expected;
use spillway_filters::stream::Stream;
use spillway_policies::{Class, Failure, Surface};

#[derive(serde::Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    surface: String,
    case: String,
    status: u16,
    body_text: Option<String>,
    outcome: String,
    #[serde(default)]
    normalized: Option<Value>,
    #[serde(default)]
    chunks: Vec<Value>,
}

/// Verdicts of SIE that are decided otherwise.
const DIFFERENT: &[(&str, &str)] = &[
    // It answers with the error as its only event; here nothing was sent, so the refusal is restored (product section 4 item 8).
    ("sie.generate", "error terminal before output unknown code"),
];

#[test]
fn streams_end_as_sie_ends_them() {
    let cases: Cases =
        serde_json::from_str(include_str!("../fixtures/upstream_answer_cases.json")).expect("the fixture is JSON");
    let (mut differences, mut judged) = (Vec::new(), 0);
    for case in cases.cases.iter().filter(|case| case.status == 200) {
        let surfaces = match case.surface.as_str() {
            "sie.generate" => (Surface::Generate, Surface::Generate),
            "chat.stream" => (Surface::Chat, Surface::Chat),
            "openai.completions" => (Surface::Generate, Surface::Completions),
            _ => continue,
        };
        judged += 1;
        let wanted = match case.outcome.as_str() {
            "ok" => None,
            "final" => Some(Class::Final),
            "retryable:not_ready" => Some(Class::NotReady),
            "input_too_long" => Some(Class::TooLong),
            other => panic!("the fixture has a new outcome: {other}"),
        };
        let (failure, out) = outcome(surfaces, case);
        if failure.map(|failure| failure.class) != wanted {
            differences.push((case.surface.as_str(), case.case.as_str()));
        } else if wanted.is_none() {
            assert_eq!(shown(case, &out), sies(case), "{}", case.case);
        }
    }
    assert_eq!(differences, DIFFERENT);
    assert_eq!(judged, 42, "the whole answers are judged in `answers/judged.rs`");
}

/// How a stream ends for its caller. A failure behind the first content is told in the stream; where SIE's chunks end in an error too,
/// that is no failure of the attempt.
fn outcome((caller, upstream): (Surface, Surface), case: &Case) -> (Option<Failure>, Vec<u8>) {
    let expected = Expected {
        choices: Some(if case.case.starts_with("n=2") { 2 } else { 1 }),
        output_cap: (caller == Surface::Generate).then_some(4),
        logprobs: case.case.starts_with("logprobs requested"),
        ..expected()
    };
    let mut stream = Stream::new(caller, upstream, &expected);
    let mut out = Vec::new();
    let body = case.body_text.as_deref().expect("a stream is text");
    let ended = stream.feed(body.as_bytes(), &mut out).and_then(|_| stream.end(&mut out));
    let ends_in_error = case.chunks.last().is_some_and(|chunk| chunk["finish_reason"] == "error");
    match ended {
        Err(failure) if ends_in_error && !out.is_empty() => {
            stream.fail(&failure, &mut out);
            (None, out)
        }
        ended => (ended.err(), out),
    }
}

/// The events as the fixture writes them.
fn shown(case: &Case, out: &[u8]) -> Vec<Value> {
    let events = data(out);
    let (done, events) = events.split_last().expect("it ends");
    assert_eq!(done, "[DONE]", "{}", case.case);
    events.iter().map(|event| if case.normalized.is_some() { without_ids(event) } else { chunk(event) }).collect()
}

/// It leaves ids and times out.
fn without_ids(event: &str) -> Value {
    let mut chunk = json(event);
    let object = chunk.as_object_mut().expect("it is an object");
    assert!(object.remove("id").is_some() && object.remove("created").is_some());
    chunk
}

fn chunk(event: &str) -> Value {
    let event = json(event);
    serde_json::json!({
        "text": event["text_delta"],
        "done": event["done"],
        "finish_reason": event["finish_reason"],
        "prompt_tokens": event["usage"]["prompt_tokens"],
        "error_code": event["error"]["code"],
    })
}

fn sies(case: &Case) -> Vec<Value> {
    if let Some(normalized) = &case.normalized {
        return normalized.as_array().expect("it is a list").clone();
    }
    // Raw completions: SIE's events without text never leave it. An error may say its usage.
    let translated = case.surface == "openai.completions";
    let is_event = |chunk: &&Value| !translated || chunk["done"] == true || chunk["text"] != "";
    let mut chunks: Vec<_> = case.chunks.iter().filter(is_event).cloned().collect();
    for chunk in &mut chunks {
        chunk.as_object_mut().expect("it is an object").remove("completion_tokens");
        if chunk["finish_reason"] == "error" {
            chunk["prompt_tokens"] = Value::Null;
        }
    }
    chunks
}
