//! Responses on a host that has no such endpoint.

use crate::host::{Host, INVALID, UNSUPPORTED, UNTRANSLATABLE, body, chat, completion, read, text};
use serde_json::{Value, json};
use spillway_filters::validate::Dialect;
use spillway_policies::upstream::Endpoint;
use spillway_policies::{Failure, Surface};

fn chats() -> Host {
    Host::openai(&[Endpoint::Completions, Endpoint::Chat])
}

/// A host for callers of SIE's own API, to which a text is a raw prompt.
fn completions() -> Host {
    let mut host = Host::openai(&[Endpoint::Completions]);
    host.dialect = Dialect::Sie;
    host
}

fn asked(host: &Host, call: &Value) -> Result<(String, Value), Failure> {
    let call = text(call);
    let asked = host.ask(Surface::Responses, &call)?;
    let body = body(&asked, &call);
    Ok((asked.path, body))
}

#[test]
fn a_text_is_one_message_of_the_user() {
    let call = json!({"model": "org/m", "input": "hello", "instructions": "be brief", "temperature": 0.5, "seed": 7,
        "stream": false, "top_p": null, "user": "u", "options": {"profile": "remote"}});
    let wanted = json!({
        "model": "vendor-model", "max_tokens": 16, "temperature": 0.5, "seed": 7, "user": "u", "stream": false,
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
    });
    assert_eq!(asked(&chats(), &call), Ok(("/chat/completions".into(), wanted)));
}

#[test]
fn the_cap_is_the_callers_within_the_models() {
    for (caller, wanted) in [(json!(8), 8), (json!(5000), 100), (Value::Null, 16)] {
        let call = json!({"model": "org/m", "input": [{"role": "user", "content": "a"}], "max_output_tokens": caller});
        let (_, sent) = asked(&chats(), &call).expect("translatable");
        assert_eq!((&sent["max_tokens"], sent.get("max_output_tokens")), (&json!(wanted), None));
    }
    let mut newer = chats();
    newer.strip("max_tokens");
    let (_, sent) = asked(&newer, &json!({"model": "org/m", "input": "a"})).expect("translatable");
    assert_eq!((sent.get("max_tokens"), &sent["max_completion_tokens"]), (None, &json!(16)));
}

#[test]
fn raw_completions_take_one_plain_text() {
    let call = json!({"model": "org/m", "input": "hello", "max_output_tokens": 8, "top_p": 0.5});
    let wanted = json!({"model": "vendor-model", "prompt": "hello", "max_tokens": 8, "top_p": 0.5, "n": 1, "echo": false,
        "stream": false});
    assert_eq!(asked(&completions(), &call), Ok(("/completions".into(), wanted)));
    for (call, why) in [
        (json!({"model": "org/m", "input": [{"role": "user", "content": "a"}]}), UNSUPPORTED),
        (json!({"model": "org/m", "input": "a", "instructions": "b"}), UNTRANSLATABLE),
    ] {
        assert_eq!(asked(&completions(), &call), Err(why), "{call}");
    }
}

#[test]
fn what_chat_cannot_be_asked_is_refused_before_anything_is_sent() {
    for extra in [
        json!({"stream": true}),
        json!({"previous_response_id": "resp_1"}),
        json!({"tools": [{"type": "web_search"}]}),
        json!({"reasoning": {"effort": "low"}}),
        json!({"background": true}),
        json!({"metadata": {"a": "b"}}),
        json!({"text": {"format": {"type": "json_object"}}}),
        json!({"instructions": 1}),
        json!({"input": null}),
        json!({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x"}]}]}),
        json!({"options": {"default_sampling": {"top_k": 1}}}),
        json!({"whatever": 1}),
    ] {
        let mut call = json!({"model": "org/m", "input": "hello"});
        call.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        assert_eq!(asked(&chats(), &call), Err(UNTRANSLATABLE), "{extra}");
    }
}

fn told(host: &Host, answer: &Value) -> Result<Value, Failure> {
    let call = text(&json!({"model": "org/m", "input": "hello", "max_output_tokens": 8}));
    read(&host.ask(Surface::Responses, &call).expect("translatable"), answer)
}

#[test]
fn the_answer_is_a_response_of_sie() {
    let message = json!({"role": "assistant", "content": "a\"\u{1f600}", "reasoning_content": "private"});
    let wanted = json!({
        "id": "fresh-1", "object": "response", "created_at": 1_750_000_000, "model": "org/m", "status": "completed",
        "output": [{"type": "message", "id": "msg_fresh-1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "a\"\u{1f600}", "annotations": []}]}],
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7, "input_tokens_details": {"cached_tokens": 1}},
    });
    assert_eq!(told(&chats(), &chat(&message, "stop")), Ok(wanted));
    let cut = told(&completions(), &completion("b", "length")).expect("valid");
    assert_eq!((&cut["status"], &cut["output"][0]["status"]), (&json!("incomplete"), &json!("incomplete")));
    assert_eq!(cut["incomplete_details"], json!({"reason": "max_output_tokens"}));
    assert_eq!(cut["output"][0]["content"][0]["text"], "b");
    let nothing = told(&chats(), &chat(&json!({"role": "assistant", "content": null}), "stop")).expect("valid");
    assert_eq!(nothing["output"][0]["content"][0]["text"], "");
}

#[test]
fn an_answer_that_is_not_text_is_not_told() {
    let call = json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    for (message, finish_reason) in [
        (json!({"role": "assistant", "content": "a"}), "content_filter"),
        (json!({"role": "assistant", "content": "a"}), "tool_calls"),
        (json!({"role": "assistant", "content": null, "tool_calls": call}), "stop"),
        (json!({"role": "assistant", "content": null, "refusal": "no"}), "stop"),
        (json!({"role": "assistant", "content": [{"type": "text", "text": "a"}]}), "stop"),
        (json!({"role": "assistant", "content": 1}), "stop"),
    ] {
        assert_eq!(told(&chats(), &chat(&message, finish_reason)), Err(INVALID), "{message}");
    }
}
