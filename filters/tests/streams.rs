//! Streams of an upstream: when they commit, how they fail, how they end, and what the caller sees of them.

use proptest::prelude::*;
use spillway_filters::event_stream::{Event, EventStream, write_event};
use spillway_filters::prime::{Position, Seen, Tracker};
use spillway_filters::shape::{Shaper, Shown};
use spillway_filters::stream_error::render;
use spillway_policies::failure::SieCode;
use spillway_policies::{Cause, Class, Failure, Surface};

const BROKEN: Failure = Failure::new(Cause::StreamError, Class::Final);

fn shown() -> Shown {
    Shown {
        model: "public/m".into(),
        id: "chatcmpl-1".into(),
        created_s: 1_750_000_000,
        include_reasoning: false,
        include_usage: true,
    }
}

fn event(data: &str) -> Event {
    Event { name: None, data: data.into() }
}

fn events(stream: &str) -> Vec<Event> {
    let mut reader = EventStream::new(1 << 20);
    reader.feed(stream.as_bytes());
    std::iter::from_fn(|| reader.finish()).collect()
}

/// What a fresh tracker sees in each of these.
fn seen<'d>(surface: Surface, data: impl IntoIterator<Item = &'d str>) -> Vec<Seen> {
    let mut tracker = Tracker::new(surface);
    data.into_iter().map(|data| tracker.see(&event(data))).collect()
}

fn first(surface: Surface, data: &str) -> Seen {
    Tracker::new(surface).see(&event(data))
}

const fn failed(class: Class, stated: Option<SieCode>, retry_after_s: Option<u64>) -> Seen {
    Seen::Failed(Failure { cause: Cause::StreamError, class, retry_after_s, stated })
}

#[test]
fn a_chat_stream_commits_on_content_only() {
    for (data, wanted) in [
        (r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#, Seen::Meta),
        (r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[]}}]}"#, Seen::Meta),
        (r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":""}]}"#, Seen::Meta),
        (r#"{"choices":[{"index":0,"delta":null}]}"#, Seen::Meta),
        (r#"{"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#, Seen::Meta),
        (r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1}}"#, Seen::Meta),
        (r#"{"choices":null,"cost":"0"}"#, Seen::Meta),
        (r#"{"choices":[],"usage":null}"#, Seen::Meta),
        (r#"{"choices":[{"index":0,"delta":{"content":"h"}}]}"#, Seen::Content),
        (r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking"}]}}]}"#, Seen::Content),
        (r#"{"choices":[{"index":0,"delta":{"reasoning_content":"h"}}]}"#, Seen::Content),
        (r#"{"choices":[{"index":0,"delta":{"reasoning":"h","content":""}}]}"#, Seen::Content),
        (r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"text":"h"}]}}]}"#, Seen::Content),
        (r#"{"choices":[{"index":0,"delta":{"refusal":"no"}}]}"#, Seen::Content),
        (
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"ci"}}]}}]}"#,
            Seen::Content,
        ),
        (r#"{"choices":[{"index":0,"delta":{"content":"h"},"finish_reason":"stop"}]}"#, Seen::Content),
        (r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#, Seen::Finish),
        (r#"{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#, Seen::Finish),
        (r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#, Seen::Finish),
        (": keepalive", Seen::Skip),
        ("", Seen::Skip),
        ("null", Seen::Skip),
        ("\"text\"", Seen::Skip),
    ] {
        assert_eq!(first(Surface::Chat, data), wanted, "{data}");
    }
}

#[test]
fn a_chat_stream_fails_where_it_breaks() {
    for data in [
        "[DONE]",
        "[]",
        "{",
        "{}x",
        r#"{"choices":[{"index":0,"delta":{"content":"\ud800"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":NaN}}]}"#,
        r#"{"choices":[{"delta":{}}]}"#,
        r#"{"choices":[{"index":0,"text":"of completions"}]}"#,
        r#"{"choices":[{"index":0,"message":{"content":"of a whole answer"}}]}"#,
        r#"{"choices":[{"index":128,"delta":{}}]}"#,
        r#"{"choices":[{"index":-1,"delta":{}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":7}]}"#,
        r#"{"choices":{"index":0}}"#,
        r#"{"choices":[[0]]}"#,
        r#"{"choices":[{"index":0,"delta":["x"]}]}"#,
        r#"{"choices":[],"usage":[1,1]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":3}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1.5,"completion_tokens":1}}"#,
        r#"{"choices":[],"error":null}"#,
        r#"{"error":"Unauthorized"}"#,
        r#"{"error":{"message":"x","type":"server_error","param":null,"code":null}}"#,
        r#"{"error":{}}"#,
        r#"{"object":"error","message":"x"}"#,
    ] {
        assert_eq!(first(Surface::Chat, data), Seen::Failed(BROKEN), "{data}");
    }
    let choices = vec![r#"{"index":0}"#; 129].join(",");
    assert_eq!(first(Surface::Chat, &format!(r#"{{"choices":[{choices}]}}"#)), Seen::Failed(BROKEN));
}

#[test]
fn chunks_of_the_other_surface_are_not_taken_for_text() {
    let delta = r#"{"choices":[{"index":0,"delta":{"content":"of chat"}}]}"#;
    assert_eq!(first(Surface::Completions, delta), Seen::Failed(BROKEN));
    assert_eq!(first(Surface::Completions, r#"{"choices":[{"index":0,"text":"h"}]}"#), Seen::Content);
}

#[test]
fn an_error_in_a_stream_is_what_it_states() {
    for (error, wanted) in [
        (
            r#"{"code":"RESOURCE_EXHAUSTED","retry_after_s":7}"#,
            failed(Class::Busy, Some(SieCode::ResourceExhausted), Some(7)),
        ),
        (
            r#"{"code":"RESOURCE_EXHAUSTED","retry_after_s":700}"#,
            failed(Class::Busy, Some(SieCode::ResourceExhausted), Some(60)),
        ),
        (r#"{"code":"QUEUE_FULL"}"#, failed(Class::Busy, Some(SieCode::QueueFull), Some(5))),
        (r#"{"code":"server_overloaded"}"#, failed(Class::Busy, Some(SieCode::QueueFull), Some(5))),
        (r#"{"code":"MODEL_LOADING"}"#, failed(Class::NotReady, Some(SieCode::ModelLoading), Some(5))),
        (r#"{"code":"PROVISIONING"}"#, failed(Class::NotReady, Some(SieCode::QueueFull), Some(5))),
        (r#"{"code":"INPUT_TOO_LONG"}"#, failed(Class::TooLong, Some(SieCode::InputTooLong), None)),
        (r#"{"code":"invalid_request"}"#, failed(Class::Invalid, Some(SieCode::InvalidInput), None)),
        (r#"{"code":"MODEL_LOAD_FAILED"}"#, failed(Class::Final, Some(SieCode::ModelLoadFailed), None)),
        (r#"{"code":"insufficient_quota","type":"x"}"#, failed(Class::Final, Some(SieCode::InferenceError), None)),
        (r#"{"code":429}"#, failed(Class::Busy, None, Some(5))),
        (r#"{"code":"502"}"#, failed(Class::Unavailable, None, Some(5))),
        (r#"{"code":502,"message":"x"}"#, failed(Class::Unavailable, None, Some(5))),
        (r#"{"code":400}"#, failed(Class::Final, None, None)),
        (r#"{"code":7}"#, failed(Class::Final, None, None)),
        (r#"{"code":{"code":"QUEUE_FULL"}}"#, failed(Class::Final, None, None)),
        (r#"{"message":"x"}"#, failed(Class::Final, None, None)),
        (r#""text""#, failed(Class::Final, None, None)),
    ] {
        for (surface, event) in [
            (Surface::Chat, format!(r#"{{"error":{error}}}"#)),
            (
                Surface::Completions,
                format!(r#"{{"id":"x","choices":[{{"index":0,"text":"","finish_reason":"error"}}],"error":{error}}}"#),
            ),
            (
                Surface::Generate,
                format!(r#"{{"text_delta":"","done":true,"finish_reason":"error","usage":null,"error":{error}}}"#),
            ),
            (Surface::Responses, format!(r#"{{"type":"error","error":{error}}}"#)),
            (Surface::Responses, format!(r#"{{"type":"response.failed","response":{{"error":{error}}}}}"#)),
        ] {
            assert_eq!(first(surface, &event), wanted, "{event}");
        }
    }
    assert_eq!(
        first(Surface::Chat, r#"{"object":"error","message":"x","code":503}"#),
        failed(Class::Unavailable, None, Some(5))
    );
}

#[test]
fn a_plain_error_is_called_an_inference_error() {
    for surface in [Surface::Chat, Surface::Completions, Surface::Responses] {
        let Seen::Failed(failure) =
            first(surface, r#"{"error":{"message":"x","type":"server_error","code":"server_error"}}"#)
        else {
            panic!("it failed");
        };
        assert_eq!(failure.code(surface), SieCode::InferenceError);
    }
}

#[test]
fn role_then_error_never_commits() {
    let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#;
    let error = r#"{"error":{"message":"x","type":"server_error"}}"#;
    assert_eq!(seen(Surface::Chat, [role, error]), [Seen::Meta, Seen::Failed(BROKEN)]);
    let created = r#"{"type":"response.created","sequence_number":0,"response":{"id":"r","error":null}}"#;
    let quota = r#"{"type":"error","code":"insufficient_quota","message":"x","sequence_number":1}"#;
    let wanted = failed(Class::Final, Some(SieCode::InferenceError), None);
    assert_eq!(seen(Surface::Responses, [created, quota]), [Seen::Meta, wanted]);
}

#[test]
fn a_chat_stream_is_whole_when_every_choice_has_ended() {
    let chunk = |index: u8, text: &str, reason: &str| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"{text}"}},"finish_reason":{reason}}}]}}"#)
    };
    let (zero, one) = (chunk(0, "a", "null"), chunk(1, "b", "null"));
    let (zero_ends, one_ends) = (chunk(0, "", "\"stop\""), chunk(1, "", "\"length\""));
    let mut tracker = Tracker::new(Surface::Chat);
    assert_eq!(tracker.at_eof(), Err(BROKEN), "nothing came");
    for (data, wanted, whole) in [
        (&zero, Seen::Content, false),
        (&one, Seen::Content, false),
        (&zero_ends, Seen::Meta, false),
        (&one_ends, Seen::Finish, true),
    ] {
        assert_eq!(tracker.see(&event(data)), wanted, "{data}");
        assert_eq!(tracker.at_eof().is_ok(), whole, "{data}");
    }
    assert!(!tracker.is_done());
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;
    assert_eq!(tracker.see(&event(usage)), Seen::Meta);
    assert_eq!(tracker.see(&event("[DONE]")), Seen::Done);
    assert_eq!(tracker.see(&event(&zero)), Seen::Skip, "nothing behind [DONE] is for the caller");
    assert_eq!((tracker.at_eof(), tracker.is_done(), tracker.skipped()), (Ok(()), true, 1));
}

#[test]
fn done_without_an_end_is_a_failure() {
    let content = r#"{"choices":[{"index":0,"delta":{"content":"h"}}]}"#;
    assert_eq!(seen(Surface::Chat, [content, "[DONE]"]), [Seen::Content, Seen::Failed(BROKEN)]);
    let piece = r#"{"text_delta":"hi","done":false}"#;
    assert_eq!(seen(Surface::Generate, [piece, "[DONE]"]), [Seen::Content, Seen::Failed(BROKEN)]);
}

#[test]
fn a_completions_stream_needs_its_done() {
    let mut tracker = Tracker::new(Surface::Completions);
    for (data, wanted) in [
        (r#"{"choices":[{"index":0,"text":"","finish_reason":null}]}"#, Seen::Meta),
        (r#"{"choices":[{"index":0,"text":"hi","finish_reason":""}]}"#, Seen::Content),
        (r#"{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}"#, Seen::Finish),
    ] {
        assert_eq!(tracker.see(&event(data)), wanted, "{data}");
    }
    assert_eq!(tracker.at_eof(), Err(BROKEN));
    assert_eq!(tracker.see(&event("[DONE]")), Seen::Done);
    assert_eq!(tracker.at_eof(), Ok(()));
    let called = r#"{"choices":[{"index":0,"text":"","finish_reason":"tool_calls"}]}"#;
    assert_eq!(first(Surface::Completions, called), Seen::Failed(BROKEN));
}

#[test]
fn a_generate_stream_keeps_its_place() {
    let mut tracker = Tracker::new(Surface::Generate);
    assert_eq!(tracker.position(), Position { request_id: None, next_seq: 0 });
    for (data, wanted) in [
        (r#"{"request_id":"r1","seq":0,"text_delta":"","done":false}"#, Seen::Meta),
        (r#"{"request_id":"r1","seq":1,"text_delta":"hi","done":false}"#, Seen::Content),
    ] {
        assert_eq!(tracker.see(&event(data)), wanted, "{data}");
    }
    assert_eq!(tracker.position(), Position { request_id: Some("r1"), next_seq: 2 });
    let end = r#"{"request_id":"r1","seq":2,"text_delta":"","done":true,"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    assert_eq!(tracker.see(&event(end)), Seen::Finish);
    assert_eq!(tracker.see(&event(r#"{"text_delta":"late","done":false}"#)), Seen::Skip);
    assert_eq!(tracker.at_eof(), Ok(()), "[DONE] may be missing");
    assert_eq!(tracker.see(&event("[DONE]")), Seen::Done);
    let long = format!(r#"{{"request_id":"{}","text_delta":"a","done":false}}"#, "x".repeat(257));
    let mut tracker = Tracker::new(Surface::Generate);
    assert_eq!((tracker.see(&event(&long)), tracker.position().request_id), (Seen::Content, None));
}

#[test]
fn a_responses_stream_commits_on_deltas() {
    for (data, wanted) in [
        (r#"{"type":"response.created","response":{}}"#, Seen::Meta),
        (r#"{"type":"response.in_progress","response":{}}"#, Seen::Meta),
        (r#"{"type":"response.output_item.added","item":{}}"#, Seen::Meta),
        (r#"{"type":"response.output_text.delta","delta":""}"#, Seen::Meta),
        (r#"{"type":"response.output_text.delta","delta":"h"}"#, Seen::Content),
        (r#"{"type":"response.reasoning_text.delta","delta":"h"}"#, Seen::Content),
        (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, Seen::Content),
        (r#"{"type":"response.completed","response":{"error":null}}"#, Seen::Finish),
        (r#"{"type":"response.incomplete","response":{}}"#, Seen::Finish),
        (r#"{"type":"response.failed","response":{}}"#, Seen::Failed(BROKEN)),
        (r#"{"type":"error","code":null,"message":"x"}"#, Seen::Failed(BROKEN)),
    ] {
        assert_eq!(first(Surface::Responses, data), wanted, "{data}");
    }
    let mut tracker = Tracker::new(Surface::Responses);
    let named = Event { name: Some(b"error".to_vec()), data: br#"{"message":"x","sequence_number":4}"#.to_vec() };
    assert_eq!(tracker.see(&named), Seen::Failed(BROKEN));
    assert_eq!(tracker.position().next_seq, 5);
}

#[test]
fn the_error_that_ends_a_stream_has_the_surfaces_shape() {
    let lost = Failure::new(Cause::Connect, Class::Unavailable);
    let at = Position { request_id: Some("r\"1"), next_seq: 3 };
    let data = |surface, failure: &Failure, at: &Position<'_>| {
        let events = events(std::str::from_utf8(&render(surface, failure, at)).expect("it is text"));
        events
            .into_iter()
            .map(|event| (event.name, String::from_utf8(event.data).expect("it is text")))
            .collect::<Vec<_>>()
    };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");

    let chat = data(Surface::Chat, &lost, &at);
    assert_eq!(chat.len(), 1, "no [DONE]");
    assert_eq!(json(&chat[0].1)["error"]["code"], "upstream_error");
    assert_eq!(json(&chat[0].1)["error"]["type"], "upstream_error");
    assert!(json(&chat[0].1)["error"]["param"].is_null());

    let completions = data(Surface::Completions, &lost, &at);
    assert_eq!(completions.len(), 1, "no [DONE]");
    assert_eq!(json(&completions[0].1)["error"]["code"], "inference_error");

    let responses = data(Surface::Responses, &lost, &at);
    assert_eq!((responses.len(), responses[0].0.as_deref()), (1, Some(&b"error"[..])));
    assert_eq!(
        (&json(&responses[0].1)["type"], &json(&responses[0].1)["sequence_number"]),
        (&"error".into(), &3.into())
    );

    let generate = data(Surface::Generate, &lost, &at);
    assert_eq!((generate.len(), generate[1].1.as_str()), (2, "[DONE]"));
    let terminal = json(&generate[0].1);
    assert_eq!((&terminal["request_id"], &terminal["seq"]), (&"r\"1".into(), &3.into()));
    assert_eq!((&terminal["done"], &terminal["finish_reason"]), (&true.into(), &"error".into()));
    assert_eq!((&terminal["text_delta"], &terminal["error"]["code"]), (&"".into(), &"inference_error".into()));
    let stated = Failure { stated: Some(SieCode::ResourceExhausted), ..lost };
    assert_eq!(json(&data(Surface::Generate, &stated, &at)[0].1)["error"]["code"], "RESOURCE_EXHAUSTED");
    let private = Failure { stated: Some(SieCode::ModelNotFound), ..lost };
    assert_eq!(json(&data(Surface::Generate, &private, &at)[0].1)["error"]["code"], "inference_error");
}

fn shaped(surface: Surface, shown: &Shown, data: &str) -> Option<String> {
    Shaper::new(surface, shown).event(data.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("it is text"))
}

#[test]
fn a_chat_chunk_is_dressed_as_the_callers() {
    let open =
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1750000000,"model":"public/m","choices":"#;
    for (data, rest) in [
        (
            r#"{"id":"up","object":"x","created":9,"model":"up","system_fingerprint":"f","service_tier":"t","provider":"p","choices":[{"index":0,"delta":{"content":"h","extra":1},"finish_reason":null,"native_finish_reason":"x"}]}"#,
            r#"[{"index":0,"delta":{"content":"h"},"finish_reason":null}]}"#,
        ),
        (
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"s"},"finish_reason":null,"logprobs":{"content":[]}}]}"#,
            r#"[{"index":0,"delta":{},"finish_reason":null,"logprobs":null}]}"#,
        ),
        (
            r#"{"choices":[{"index":0,"delta":{"r\u0065asoning":"s","content":""},"logprobs":{"content":[1.50]}}]}"#,
            r#"[{"index":0,"delta":{"content":""},"logprobs":null}]}"#,
        ),
        (
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":null,"content":"h"},"logprobs":{"content":[1.50]}}]}"#,
            r#"[{"index":0,"delta":{"content":"h"},"logprobs":{"content":[1.50]}}]}"#,
        ),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{"reasoning_tokens":1}}}"#,
            r#"[],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":1}}}"#,
        ),
        (r#"{"choices":[{"index":0,"delta":null}],"usage":null}"#, r#"[{"index":0,"delta":null}],"usage":null}"#),
    ] {
        assert_eq!(shaped(Surface::Chat, &shown(), data), Some(format!("{open}{rest}")), "{data}");
    }
    let asked = Shown { include_reasoning: true, ..shown() };
    let data = r#"{"choices":[{"index":0,"delta":{"reasoning":"s"},"logprobs":{"content":[]}}]}"#;
    let rest = r#"[{"index":0,"delta":{"reasoning":"s"},"logprobs":{"content":[]}}]}"#;
    assert_eq!(shaped(Surface::Chat, &asked, data), Some(format!("{open}{rest}")));
}

#[test]
fn what_is_not_for_the_caller_leaves_nothing() {
    for data in [
        r#"{"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#,
        r#"{"choices":[],"cost":"0"}"#,
        r#"{"choices":null,"x_groq":{"id":"r"}}"#,
        ": keepalive",
        "",
        "{",
        r#"{"choices":7}"#,
        r#"{"choices":[7]}"#,
        r#"{"choices":[],"choices":[{"index":0}]}"#,
    ] {
        assert_eq!(shaped(Surface::Chat, &shown(), data), None, "{data}");
    }
    assert_eq!(shaped(Surface::Chat, &shown(), "[DONE]").as_deref(), Some("[DONE]"));
}

#[test]
fn other_streams_are_dressed_too() {
    let shown = Shown { id: "x-1".into(), ..shown() };
    let data = r#"{"id":"up","model":"up","choices":[{"index":0,"text":"h","finish_reason":null,"stop_reason":1,"logprobs":null}]}"#;
    let wanted = r#"{"id":"x-1","object":"text_completion","created":1750000000,"model":"public/m","choices":[{"index":0,"text":"h","finish_reason":null,"logprobs":null}]}"#;
    assert_eq!(shaped(Surface::Completions, &shown, data).as_deref(), Some(wanted));
    let data = r#"{"type":"response.created","response":{"id":"up","model":"up","output":[]},"sequence_number":0}"#;
    let wanted =
        r#"{"type":"response.created","response":{"id":"x-1","model":"public/m","output":[]},"sequence_number":0}"#;
    assert_eq!(shaped(Surface::Responses, &shown, data).as_deref(), Some(wanted));
    let data = r#"{"type":"response.output_text.delta","delta":"h"}"#;
    assert_eq!(shaped(Surface::Responses, &shown, data).as_deref(), Some(data));
    let data = r#"{"request_id":"r","seq":1,"text_delta":"h","done":false}"#;
    assert_eq!(shaped(Surface::Generate, &shown, data).as_deref(), Some(data));
}

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
    normalized: Option<serde_json::Value>,
}

/// Verdicts of SIE that need to know more of the call than its stream, or that are decided otherwise, in the fixture's order.
const DIFFERENT: &[(&str, &str)] = &[
    // An error terminal is SIE's own valid chunk; here it fails the attempt, or ends the stream with our own error.
    ("sie.generate", "cancelled without usage"),
    ("sie.generate", "error terminal before output unknown code"),
    ("sie.generate", "error terminal after output RESOURCE_EXHAUSTED"),
    // Usage is not demanded of a chat stream, whose caller may not have asked for it.
    ("chat.stream", "usage only before finish"),
    ("chat.stream", "no usage"),
    // The number of choices is the call's.
    ("chat.stream", "n=2 one finishes"),
    // The form of tool calls is not looked into.
    ("chat.stream", "tool call never named"),
    // Whether log-probabilities were asked for is the call's.
    ("openai.completions", "logprobs requested but absent"),
];

#[test]
fn streams_end_as_sie_ends_them() {
    let cases: Cases =
        serde_json::from_str(include_str!("fixtures/upstream_answer_cases.json")).expect("the fixture is JSON");
    let mut differences = Vec::new();
    for case in cases.cases.iter().filter(|case| case.status == 200) {
        let surface = match case.surface.as_str() {
            "sie.generate" => Surface::Generate,
            "chat.stream" => Surface::Chat,
            "openai.completions" => Surface::Completions,
            _ => continue,
        };
        let text = case.body_text.as_deref().expect("a stream is text");
        let shaper = Shaper::new(surface, &shown());
        let mut tracker = Tracker::new(surface);
        let mut failure = None;
        let mut shown = Vec::new();
        for event in events(text) {
            match tracker.see(&event) {
                Seen::Failed(found) => {
                    failure.get_or_insert(found);
                }
                Seen::Skip | Seen::Done => {}
                Seen::Content | Seen::Finish | Seen::Meta => shown.extend(shaper.event(&event.data)),
            }
        }
        let ended = failure.map_or_else(|| tracker.at_eof(), Err);
        let wanted = match case.outcome.as_str() {
            "ok" => None,
            "final" => Some(Class::Final),
            "retryable:not_ready" => Some(Class::NotReady),
            "input_too_long" => Some(Class::TooLong),
            other => panic!("the fixture has a new outcome: {other}"),
        };
        if ended.err().map(|failure| failure.class) != wanted {
            differences.push((case.surface.as_str(), case.case.as_str()));
        } else if let (Some(normalized), None) = (&case.normalized, wanted) {
            assert_eq!(&without_ids(&shown), normalized, "{}", case.case);
        }
    }
    assert_eq!(differences, DIFFERENT);
}

/// The chunks as the fixture writes them: it leaves ids and times out.
fn without_ids(chunks: &[Vec<u8>]) -> serde_json::Value {
    chunks
        .iter()
        .map(|chunk| {
            let mut chunk: serde_json::Value = serde_json::from_slice(chunk).expect("it is JSON");
            let object = chunk.as_object_mut().expect("it is an object");
            assert!(object.remove("id").is_some() && object.remove("created").is_some());
            chunk
        })
        .collect()
}

proptest! {
    #[test]
    fn arbitrary_events_never_panic(data in prop::collection::vec(
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            "[\\[\\]{}\":,a-z0-9 ]{0,60}".prop_map(String::into_bytes),
            "\\{\"choices\":\\[\\{\"index\":[0-9]{1,4},\"delta\":\\{\"content\":\"[a-z\\\\u\"]{0,6}\\}\\}\\]\\}".prop_map(String::into_bytes),
            "\\{\"(type|error|done|usage|response)\":[\\[\\]{}\":,a-z0-9]{0,20}\\}".prop_map(String::into_bytes),
        ],
        0..6,
    )) {
        for surface in Surface::ALL {
            let mut tracker = Tracker::new(surface);
            let shaper = Shaper::new(surface, &shown());
            for data in &data {
                let seen = tracker.see(&Event { name: None, data: data.clone() });
                if let (Some(bytes), Seen::Content | Seen::Finish | Seen::Meta) = (shaper.event(data), seen) {
                    let text = std::str::from_utf8(&bytes).expect("what is shaped is text");
                    prop_assert!(text == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
                }
            }
            let _ = (tracker.at_eof(), render(surface, &BROKEN, &tracker.position()));
        }
    }

    #[test]
    fn a_shaped_chunk_reads_as_it_did(text in ".{0,20}", index in 0_u8..128) {
        let data = serde_json::json!({"choices": [{"index": index, "delta": {"content": text.as_str()}}]}).to_string();
        prop_assert_eq!(first(Surface::Chat, &data), if text.is_empty() { Seen::Meta } else { Seen::Content });
        let shown = shaped(Surface::Chat, &shown(), &data).expect("there is a choice");
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("it is JSON");
        prop_assert_eq!(shown["choices"][0]["delta"]["content"].as_str(), Some(text.as_str()));
        let mut out = Vec::new();
        write_event(None, data.as_bytes(), &mut out);
        prop_assert_eq!(events(std::str::from_utf8(&out).expect("it is text")), vec![event(&data)]);
    }
}
