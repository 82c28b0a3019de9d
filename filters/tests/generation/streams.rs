//! Streams of generation in another protocol, and of text that is looked into.

use crate::host::{Host, UNTRANSLATABLE, text};
use serde_json::{Value, json};
use spillway_filters::dialect::Reading;
use spillway_policies::upstream::Endpoint;
use spillway_policies::{Failure, Surface};

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}"#;

/// What the caller of `surface` gets of these events, a byte at a time, and how the stream ends.
fn told(host: &Host, surface: Surface, call: &Value, events: &[String]) -> (Vec<Value>, Result<(), Failure>) {
    let Reading::Stream(mut stream) = host.ask(surface, &text(call)).expect("it can be asked").reading else {
        panic!("read as it comes")
    };
    let mut out = Vec::new();
    let wire: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let fed = wire.as_bytes().chunks(1).try_for_each(|piece| stream.feed(piece, &mut out).map(drop));
    let end = fed.and_then(|()| stream.end(&mut out));
    let text = String::from_utf8(out).expect("text");
    let data = text.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    (data.map(|data| serde_json::from_str(data).expect("JSON")).collect(), end)
}

fn pieces(kind: &str, text: &str, finish_reason: &str) -> Vec<String> {
    let piece = |text: &str, reason: Option<&str>| {
        let mut choice = json!({"index": 0, "finish_reason": reason});
        choice[kind] = if kind == "delta" { json!({"content": text}) } else { json!(text) };
        json!({"choices": [choice]}).to_string()
    };
    let mut events: Vec<_> = text.chars().map(|next| piece(&next.to_string(), None)).collect();
    events.push(piece("", Some(finish_reason)));
    events.extend([USAGE.to_owned(), "[DONE]".to_owned()]);
    events
}

/// All that stands at `pointer` in the events, joined.
fn joined(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

fn hiding(mut host: Host) -> Host {
    host.onboarding.reasoning_format = Some("qwen3".into());
    host.onboarding.hides_reasoning = true;
    host
}

#[test]
fn a_completion_is_streamed_as_generate() {
    let host = hiding(Host::openai(&[Endpoint::Completions]));
    let call = json!({"prompt": "q<think>", "max_new_tokens": 8, "stream": true});
    let (events, end) = told(&host, Surface::Generate, &call, &pieces("text", "p</think>ab", "length"));
    assert_eq!((end, joined(&events, "/text_delta").as_str()), (Ok(()), "ab"));
    let last = events.last().expect("an end");
    assert_eq!(
        (&last["done"], &last["finish_reason"], &last["usage"]["total_tokens"]),
        (&json!(true), &json!("length"), &json!(7))
    );
    let (_, end) = told(&host, Surface::Generate, &call, &pieces("text", "a", "content_filter"));
    assert!(end.is_err());
}

#[test]
fn a_sies_own_stream_hides_what_the_operator_hides() {
    let piece = |text: &str| json!({"request_id": "r", "seq": 0, "text_delta": text, "done": false, "logprobs": [{"token": text, "logprob": -1.0}]});
    let mut events: Vec<_> = "<think>p</think>ab".chars().map(|next| piece(&next.to_string()).to_string()).collect();
    events.push(
        json!({"text_delta": "", "done": true, "finish_reason": "stop",
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})
        .to_string(),
    );
    let call = json!({"prompt": "q", "max_new_tokens": 8, "stream": true, "logprobs": true});
    let (events, end) = told(&hiding(Host::sie()), Surface::Generate, &call, &events);
    assert_eq!((end, joined(&events, "/text_delta").as_str()), (Ok(()), "ab"));
    assert_eq!(joined(&events, "/logprobs/0/token"), "ab");
}

#[test]
fn a_completion_is_streamed_as_an_onboarded_chat() {
    let mut host = hiding(Host::openai(&[Endpoint::Completions]));
    host.onboarding.chat_template = Some("{{ messages[0].content }}<think>".into());
    host.onboarding.tool_format = Some("hermes".into());
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let call =
        json!({"model": "org/m", "messages": [{"role": "user", "content": "q"}], "stream": true, "tools": tools});
    let raw = "p</think>a<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":1}}</tool_call>";
    let (events, end) = told(&host, Surface::Chat, &call, &pieces("text", raw, "stop"));
    assert_eq!((end, joined(&events, "/choices/0/delta/content").as_str()), (Ok(()), "a"));
    assert_eq!(joined(&events, "/choices/0/delta/tool_calls/0/function/name"), "f");
    assert_eq!(joined(&events, "/choices/0/delta/tool_calls/0/function/arguments"), "{\"x\":1}");
    assert_eq!(joined(&events, "/choices/0/finish_reason"), "tool_calls");
    assert!(events.iter().all(|event| event["object"] == "chat.completion.chunk" && event["model"] == "org/m"));
    let mut shown = call;
    shown["include_reasoning"] = json!(true);
    let (events, _) = told(&host, Surface::Chat, &shown, &pieces("text", raw, "stop"));
    assert_eq!(joined(&events, "/choices/0/delta/reasoning_content"), "p");
}

#[test]
fn a_stream_is_whole_when_every_prompt_was_answered() {
    let host = Host::openai(&[Endpoint::Completions]);
    let call = json!({"model": "org/m", "prompt": ["a", "b"], "stream": true});
    let ends = |count: usize| {
        let piece = |index| json!({"choices": [{"index": index, "text": "a", "finish_reason": "stop"}]}).to_string();
        let mut events: Vec<_> = (0..count).map(piece).collect();
        events.extend([USAGE.to_owned(), "[DONE]".to_owned()]);
        told(&host, Surface::Completions, &call, &events).1.is_ok()
    };
    assert_eq!([1, 2, 3].map(ends), [false, true, false]);
}

#[test]
fn a_strict_schema_is_held_against_a_stream_at_its_end() {
    let host = hiding(Host::openai(&[Endpoint::Chat]));
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": {"type": "integer"}}});
    let call = json!({"model": "org/m", "messages": [], "stream": true, "response_format": format});
    let end = |text: &str, reason: &str| {
        let (events, end) = told(&host, Surface::Chat, &call, &pieces("delta", text, reason));
        (joined(&events, "/choices/0/delta/content"), joined(&events, "/choices/0/finish_reason"), end.is_ok())
    };
    assert_eq!(end("<think>p</think>12", "stop"), ("12".into(), "stop".into(), true));
    assert_eq!(end("12x", "stop"), ("12x".into(), String::new(), false), "an error stands where the end would");
    assert_eq!(end("1", "length"), ("1".into(), "length".into(), true));
    assert!(!end("", "stop").2);
    let refusing = |text: &str| {
        let mut events = pieces("delta", text, "stop");
        events.insert(0, json!({"choices": [{"index": 0, "delta": {"refusal": "no"}}]}).to_string());
        told(&host, Surface::Chat, &call, &events).1
    };
    assert_eq!(refusing("<think>p</think>"), Ok(()));
    assert!(refusing("12x").is_err());
}

#[test]
fn what_is_asked_may_go_to_another_thread() {
    const fn sends<T: Send>() {}
    sends::<spillway_filters::dialect::Asked>();
}

#[test]
fn a_streamed_refusal_is_read_for_marks_too() {
    let call = json!({"model": "org/m", "messages": [], "stream": true, "logprobs": true});
    let piece = |text: &str| {
        let logprobs = json!({"refusal": [{"token": text, "logprob": -1}]});
        json!({"choices": [{"index": 0, "delta": {"refusal": text}, "logprobs": logprobs}]}).to_string()
    };
    let mut events: Vec<_> = "<think>p</think>no<".chars().map(|next| piece(&next.to_string())).collect();
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string());
    events.push(USAGE.to_owned());
    let (events, end) = told(&hiding(Host::openai(&[Endpoint::Chat])), Surface::Chat, &call, &events);
    assert_eq!((end, joined(&events, "/choices/0/delta/refusal").as_str()), (Ok(()), "no<"));
    assert_eq!(
        joined(&events, "/choices/0/logprobs/refusal/0/token"),
        "",
        "what is no text has none where text is read"
    );
}

#[test]
fn who_declares_no_tools_is_streamed_no_calls() {
    let mut call = json!({"model": "org/m", "messages": [], "stream": true});
    let calls = json!([{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]);
    let piece =
        |delta: Value, reason| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).to_string();
    let events = [
        piece(json!({"content": "x", "tool_calls": []}), Value::Null),
        piece(json!({"tool_calls": calls}), Value::Null),
        piece(json!({}), json!("tool_calls")),
        USAGE.to_owned(),
    ];
    let host = Host::openai(&[Endpoint::Chat]);
    let (shown, end) = told(&host, Surface::Chat, &call, &events);
    assert_eq!((end.is_err(), shown.len()), (true, 1), "{shown:?}");
    call["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    assert_eq!(told(&host, Surface::Chat, &call, &events).1, Ok(()));
}

#[test]
fn no_upstream_streams_responses() {
    let call = text(&json!({"model": "org/m", "input": "q", "stream": true}));
    for host in [Host::sie(), Host::openai(&[Endpoint::Chat, Endpoint::Completions])] {
        assert_eq!(host.ask(Surface::Responses, &call).err(), Some(UNTRANSLATABLE));
    }
}
