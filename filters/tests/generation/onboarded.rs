//! Chat of an onboarded model on a host with raw completions.

use crate::host::{Host, INVALID, UNSUPPORTED, UNTRANSLATABLE, body, completion, read, text};
use serde_json::{Value, json};
use spillway_policies::upstream::Endpoint;
use spillway_policies::{Failure, Surface};

const TEMPLATE: &str = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}\
    {% if tools %}[{{ tools[0].function.name }}]{% endif %}<|assistant|>{% if think %}<think>{% endif %}";

fn onboarded(endpoints: &[Endpoint]) -> Host {
    let mut host = Host::openai(endpoints);
    host.onboarding.chat_template = Some(TEMPLATE.into());
    host.onboarding.tool_format = Some("hermes".into());
    host.onboarding.reasoning_format = Some("qwen3".into());
    host.onboarding.hides_reasoning = true;
    host
}

fn completions() -> Host {
    onboarded(&[Endpoint::Completions])
}

fn call(extra: &Value) -> Vec<u8> {
    let messages =
        json!([{"role": "developer", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "u"}]}]);
    let mut call = json!({"model": "org/m", "messages": messages});
    call.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
    text(&call)
}

fn sent(host: &Host, extra: &Value) -> Result<(String, Value), Failure> {
    let call = call(extra);
    let asked = host.ask(Surface::Chat, &call)?;
    let body = body(&asked, &call);
    Ok((asked.path, body))
}

fn told(extra: &Value, answer: &Value) -> Result<Value, Failure> {
    let call = call(extra);
    read(&completions().ask(Surface::Chat, &call).expect("it can be asked"), answer)
}

fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])
}

#[test]
fn messages_are_rendered_into_one_prompt() {
    let extra = json!({"max_completion_tokens": 8, "stop": "x", "temperature": 0.5, "user": "u", "n": 1, "logprobs": false,
        "include_reasoning": true, "response_format": {"type": "text"}, "tools": tools(), "tool_choice": "auto",
        "parallel_tool_calls": true, "chat_template_kwargs": {"think": true}, "options": {"profile": "remote"}});
    let wanted = json!({"model": "vendor-model", "prompt": "<|system|>s<|user|>u[f]<|assistant|><think>", "max_tokens": 8,
        "stop": "x", "temperature": 0.5, "user": "u", "n": 1, "echo": false, "stream": false});
    assert_eq!(sent(&completions(), &extra), Ok(("/completions".into(), wanted)));
    let (_, without) =
        sent(&completions(), &json!({"tools": tools(), "tool_choice": "none"})).expect("it can be asked");
    assert_eq!(
        (&without["prompt"], &without["max_tokens"]),
        (&json!("<|system|>s<|user|>u<|assistant|>"), &json!(100))
    );
}

#[test]
fn what_a_prompt_cannot_say_goes_out_as_chat_or_not_at_all() {
    let strict = json!([{"type": "function", "function": {"name": "f", "strict": true}}]);
    for extra in [
        json!({"n": 2}),
        json!({"logprobs": true}),
        json!({"top_k": 5}),
        json!({"response_format": {"type": "json_object"}}),
        json!({"tools": tools(), "tool_choice": "required"}),
        json!({"tools": tools(), "tool_choice": {"type": "function", "function": {"name": "f"}}}),
        json!({"tools": tools(), "parallel_tool_calls": false}),
        json!({"tools": strict}),
        json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}]}),
        json!({"messages": "x"}),
        json!({"chat_template_kwargs": 1}),
        json!({"whatever": 1}),
    ] {
        assert_eq!(sent(&completions(), &extra), Err(UNTRANSLATABLE), "{extra}");
        let both = onboarded(&[Endpoint::Chat, Endpoint::Completions]);
        assert_eq!(sent(&both, &extra).map(|(path, _)| path), Ok("/chat/completions".into()), "{extra}");
    }
}

#[test]
fn what_the_operator_got_wrong_shows_nothing() {
    let mut host = completions();
    host.onboarding.reasoning_format = Some("unheard-of".into());
    assert_eq!(sent(&host, &json!({})), Err(UNSUPPORTED));
    let mut host = completions();
    host.onboarding.chat_template = Some("{% if %}".into());
    assert_eq!(sent(&host, &json!({})), Err(UNSUPPORTED));
    let mut host = completions();
    host.onboarding.tool_format = None;
    assert_eq!(sent(&host, &json!({"tools": tools()})), Err(UNTRANSLATABLE));
    assert!(sent(&host, &json!({})).is_ok());
}

#[test]
fn the_text_is_a_chat_answer() {
    let wanted = json!({
        "id": "fresh-1", "object": "chat.completion", "created": 1_750_000_000, "model": "org/m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "a\n"}, "logprobs": null, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    });
    assert_eq!(told(&json!({}), &completion("<think>p</think>a\n", "length")), Ok(wanted));
    assert_eq!(told(&json!({}), &completion("a", "content_filter")), Err(INVALID));
}

#[test]
fn reasoning_that_the_prompt_began_is_private_too() {
    let begun = json!({"chat_template_kwargs": {"think": true}});
    let message =
        |extra: &Value| told(extra, &completion("p</think>a", "stop")).expect("valid")["choices"][0]["message"].clone();
    assert_eq!(message(&begun), json!({"role": "assistant", "content": "a"}));
    let shown = json!({"chat_template_kwargs": {"think": true}, "include_reasoning": true});
    assert_eq!(message(&shown), json!({"role": "assistant", "content": "a", "reasoning_content": "p"}));
}

#[test]
fn tool_calls_are_read_out_of_the_text() {
    let marked = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": \"0\"}}\n</tool_call>";
    let choice = |text: &str, reason: &str| {
        told(&json!({"tools": tools()}), &completion(text, reason)).expect("valid")["choices"][0].clone()
    };
    let called = choice(marked, "stop");
    assert_eq!(called["finish_reason"], "tool_calls");
    assert_eq!(choice("a", "stop")["finish_reason"], "stop");
    let two = choice(&format!("a{}{}", marked, marked.replace('0', "2")), "stop");
    assert_eq!(two["message"]["content"], "a");
    let ids: Vec<_> = two["message"]["tool_calls"].as_array().expect("calls").iter().map(|call| &call["id"]).collect();
    // Some families' templates take no other form.
    let is_short =
        |id: &&&Value| id.as_str().is_some_and(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()));
    assert_eq!((ids.iter().filter(is_short).count(), ids[0] == ids[1]), (2, false));
    let function = &two["message"]["tool_calls"][1]["function"];
    assert_eq!((&function["name"], &function["arguments"]), (&json!("f"), &json!("{\"x\": \"2\"}")));
    let many = completion(&marked.repeat(129), "stop");
    assert_eq!(told(&json!({"tools": tools()}), &many), Err(INVALID));
    let stranger = choice("<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>", "stop");
    assert_eq!(stranger["finish_reason"], "stop");
    assert!(stranger["message"].get("tool_calls").is_none());
}
