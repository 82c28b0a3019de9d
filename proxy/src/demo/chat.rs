//! What do the demo's engine and upstream say in a chat? Both speak the OpenAI form; the text names who spoke.

use super::listener::{Answer, Call};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where both sides serve chats.
pub(super) const PATH: &str = "/v1/chat/completions";

/// What a chat call asks for; other fields do not matter to a script.
#[derive(Deserialize)]
struct Asked {
    model: String,
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: StreamOptions,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// The answer of `speaker` to `call`.
pub(super) fn answer(call: &Call, speaker: &str) -> Answer {
    let Ok(asked) = serde_json::from_slice::<Asked>(&call.body) else {
        return error(400, "INVALID_INPUT", "a chat is a JSON object with model and messages", None);
    };
    if asked.stream { stream(&asked, speaker) } else { whole(&asked, speaker) }
}

/// An error in the form of this API; `wait_s` becomes Retry-After.
pub(super) fn error(status: u16, code: &str, message: &str, wait_s: Option<u64>) -> Answer {
    let kind = if status < 500 { "invalid_request_error" } else { "server_error" };
    let body = json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    let wait = wait_s.map_or_else(String::new, |seconds| format!("Retry-After: {seconds}\r\n"));
    Answer::whole(status, spillway_filters::names::JSON, &wait, format!("{body}\n"))
}

fn whole(asked: &Asked, speaker: &str) -> Answer {
    let text = format!("The {speaker} says hello.");
    let message = json!({"role": "assistant", "content": text});
    Answer::json(
        200,
        &json!({
            "id": "chatcmpl-demo", "object": "chat.completion", "created": now_s(), "model": asked.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage(asked, &text),
        }),
    )
}

fn stream(asked: &Asked, speaker: &str) -> Answer {
    let text = format!("The {speaker} says hello, one word at a time.");
    let created = now_s();
    let event = |choices: Value, usage: Option<Value>| {
        let mut event = json!({
            "id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": created, "model": asked.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            event["usage"] = usage;
        }
        event.to_string()
    };
    let choice = |delta: Value, finish: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let words = text.split_inclusive(' ').enumerate().map(|(at, word)| match at {
        0 => json!({"role": "assistant", "content": word}),
        _ => json!({"content": word}),
    });
    let mut events: Vec<String> = words.map(|delta| event(choice(delta, None), None)).collect();
    events.push(event(choice(json!({}), Some("stop")), None));
    if asked.stream_options.include_usage {
        events.push(event(json!([]), Some(usage(asked, &text))));
    }
    events.push("[DONE]".to_owned());
    Answer::stream(events)
}

/// A script counts words where a model counts tokens.
fn usage(asked: &Asked, text: &str) -> Value {
    let words = |text: &str| text.split_whitespace().count();
    let prompt: usize = asked.messages.iter().filter_map(|message| message.content.as_str()).map(words).sum();
    let completion = words(text);
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
