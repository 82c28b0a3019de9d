//! What is done with finished text: private reasoning goes, and a strict schema is kept.

use crate::host::{Host, INVALID, UNSUPPORTED, UNTRANSLATABLE, chat, completion, read, text};
use serde_json::{Value, json};
use spillway_policies::upstream::Endpoint;
use spillway_policies::{Cause, Class, Failure, Surface};

fn hiding(mut host: Host) -> Host {
    host.onboarding.reasoning_format = Some("qwen3".into());
    host.onboarding.hides_reasoning = true;
    host
}

fn told(host: &Host, surface: Surface, call: &Value, answer: &Value) -> Result<Value, Failure> {
    read(&host.ask(surface, &text(call))?, answer)
}

fn openai() -> Host {
    Host::openai(&[Endpoint::Chat, Endpoint::Completions])
}

#[test]
fn marked_reasoning_is_hidden_on_every_surface() {
    let said = json!({"role": "assistant", "content": "<think>p</think>a"});
    let mut answer = chat(&said, "stop");
    answer["choices"][0]["logprobs"] = json!({"content": []});
    let call = json!({"model": "org/m", "messages": [], "max_tokens": 8});
    for host in [hiding(openai()), hiding(Host::sie())] {
        let choice = &told(&host, Surface::Chat, &call, &answer).expect("valid")["choices"][0];
        assert_eq!(choice["message"], json!({"role": "assistant", "content": "a"}));
        assert_eq!(choice["logprobs"], Value::Null);
    }
    let shown = json!({"model": "org/m", "messages": [], "max_tokens": 8, "include_reasoning": true});
    let choice = &told(&hiding(openai()), Surface::Chat, &shown, &answer).expect("valid")["choices"][0];
    assert_eq!(choice["message"], json!({"role": "assistant", "content": "a", "reasoning_content": "p"}));
    let plain = &told(&openai(), Surface::Chat, &call, &answer).expect("valid")["choices"][0]["message"];
    assert_eq!(plain["content"], "<think>p</think>a", "nothing is hidden that nobody declared");

    let native = json!({"prompt": "q<think>", "max_new_tokens": 8});
    let raw = told(&hiding(openai()), Surface::Generate, &native, &completion("p</think>a", "stop")).expect("valid");
    assert_eq!(raw["text"], "a", "a raw prompt may have begun it");
    let sie = json!({"model": "m", "text": "<think>p</think>a", "finish_reason": "stop",
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}});
    assert_eq!(told(&hiding(Host::sie()), Surface::Generate, &native, &sie).expect("valid")["text"], "a");
    let raw = json!({"model": "org/m", "prompt": ["q<think>"]});
    let choice = &told(&hiding(openai()), Surface::Completions, &raw, &completion("p</think>a", "stop"))
        .expect("valid")["choices"][0];
    assert_eq!(choice["text"], "a");
    let responses = json!({"model": "org/m", "input": "q"});
    let response = told(&hiding(openai()), Surface::Responses, &responses, &chat(&said, "stop")).expect("valid");
    assert_eq!(response["output"][0]["content"][0]["text"], "a");
}

#[test]
fn a_response_of_a_sie_and_a_refusal_are_read_for_marks_too() {
    let call = json!({"model": "org/m", "input": "q", "tools": [{"type": "function", "name": "f"}]});
    let part = |text: &str| json!({"type": "output_text", "text": text});
    let message = |parts: Value| json!({"type": "message", "role": "assistant", "content": parts});
    let of = |output: Value| {
        let usage = json!({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3});
        let answer = json!({"object": "response", "status": "completed", "output": output, "usage": usage});
        told(&hiding(Host::sie()), Surface::Responses, &call, &answer).expect("valid")["output"].clone()
    };
    let refusal = json!({"type": "refusal", "refusal": "<think>p</think>no"});
    let calls = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"x\":\"<think>\"}"});
    let output = of(json!([message(json!([part("<think>p</think>a")])), message(json!([refusal])), calls]));
    assert_eq!(output[0]["content"], json!([{"type": "output_text", "text": "a", "annotations": []}]));
    assert_eq!(output[1]["content"], json!([{"type": "refusal", "refusal": "no"}]));
    assert_eq!(output[2]["arguments"], calls["arguments"]);
    let cut = of(json!([message(json!([part("a<th"), part("ink>p"), part("p</think>b<")]))]));
    let texts: Vec<_> = cut[0]["content"].as_array().expect("parts").iter().map(|part| &part["text"]).collect();
    assert_eq!(texts, ["a", "", "b<"]);
    // One text, also over several messages.
    let apart = of(json!([message(json!([part("<think>p")])), message(json!([part("p</think>b")]))]));
    assert_eq!(json!([apart[0]["content"][0]["text"], apart[1]["content"][0]["text"]]), json!(["", "b"]));

    let call = json!({"model": "org/m", "messages": [], "max_tokens": 8, "logprobs": true});
    let mut answer = chat(&json!({"role": "assistant", "content": null, "refusal": "<think>p</think>no"}), "stop");
    answer["choices"][0]["logprobs"] = json!({"refusal": []});
    let choice = &told(&hiding(openai()), Surface::Chat, &call, &answer).expect("valid")["choices"][0];
    assert_eq!(choice["message"], json!({"role": "assistant", "content": null, "refusal": "no"}));
    assert_eq!(choice["logprobs"], Value::Null);
}

#[test]
fn a_host_that_keeps_reasoning_apart_has_none_in_its_text() {
    let mut host = openai();
    host.onboarding.reasoning_format = Some("deepseek_r1".into());
    host.onboarding.hides_reasoning = true;
    let call = json!({"model": "org/m", "messages": [], "max_tokens": 8});
    let content = |message: Value| {
        let told = told(&host, Surface::Chat, &call, &chat(&message, "stop")).expect("valid");
        told["choices"][0]["message"].clone()
    };
    let public = json!({"role": "assistant", "content": "a"});
    assert_eq!(content(json!({"role": "assistant", "content": "a", "reasoning_content": "p"})), public);
    assert_eq!(content(json!({"role": "assistant", "content": "p</think>a"})), public, "the template began it");
    let refused = json!({"role": "assistant", "content": null, "refusal": "no"});
    assert_eq!(content(refused.clone()), refused, "a host refuses outside of any reasoning");
    let mut beside = chat(&public, "stop");
    beside["choices"][0]["reasoning_content"] = json!("p");
    let told = told(&host, Surface::Chat, &call, &beside).expect("valid");
    assert_eq!(told["choices"][0]["message"], public);
}

#[test]
fn an_unknown_format_shows_nothing() {
    let mut host = hiding(openai());
    host.onboarding.reasoning_format = Some("unheard-of".into());
    let call = json!({"model": "org/m", "messages": []});
    assert_eq!(told(&host, Surface::Chat, &call, &json!({})), Err(UNSUPPORTED));
}

fn strict(schema: &Value) -> Value {
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": schema}});
    json!({"model": "org/m", "messages": [], "max_tokens": 8, "response_format": format})
}

/// An output that breaks the schema.
const UNPARSABLE: Failure = Failure::new(Cause::InvalidAnswer, Class::Unparsable);

#[test]
fn a_strict_schema_is_held_against_finished_text() {
    let mut call = strict(&json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}));
    call["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    let answer =
        |message: Value, reason: &str| told(&openai(), Surface::Chat, &call, &chat(&message, reason)).map(|_| ());
    let text = |content: &str| json!({"role": "assistant", "content": content});
    assert_eq!(answer(text("{\"a\": 1}"), "stop"), Ok(()));
    assert_eq!(answer(text("{\"a\": \"1\"}"), "stop"), Err(UNPARSABLE));
    assert_eq!(answer(text("```json\n{\"a\": 1}\n```"), "stop"), Err(UNPARSABLE));
    assert_eq!(answer(json!({"role": "assistant", "content": null}), "stop"), Err(UNPARSABLE));
    for content in [Value::Null, json!("")] {
        let refusing = |refusal: &str| json!({"role": "assistant", "content": content, "refusal": refusal});
        assert_eq!(answer(refusing("no"), "stop"), Ok(()));
        assert_eq!(answer(refusing(""), "stop"), Err(UNPARSABLE));
    }
    assert_eq!(answer(json!({"role": "assistant", "content": "x", "refusal": "no"}), "stop"), Err(UNPARSABLE));
    assert_eq!(answer(text("{\"a\":"), "length"), Ok(()), "cut off, and said so");
    let calls = json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let calling = json!({"role": "assistant", "content": "", "tool_calls": calls});
    assert_eq!(answer(calling, "tool_calls"), Ok(()));
    let hidden = told(&hiding(openai()), Surface::Chat, &call, &chat(&text("<think>p</think>{\"a\": 1}"), "stop"));
    assert_eq!(hidden.expect("what is left keeps it")["choices"][0]["message"]["content"], "{\"a\": 1}");
}

#[test]
fn who_declares_no_tools_gets_no_calls() {
    let calls = json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let calling = chat(&json!({"role": "assistant", "content": "x", "tool_calls": calls}), "stop");
    let none = chat(&json!({"role": "assistant", "content": "{}", "tool_calls": []}), "stop");
    let mut call = strict(&json!({"type": "object"}));
    for tools in [Value::Null, json!([])] {
        call["tools"] = tools;
        assert_eq!(told(&openai(), Surface::Chat, &call, &calling), Err(INVALID));
        assert!(told(&openai(), Surface::Chat, &call, &none).is_ok());
    }
    call["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    assert!(told(&openai(), Surface::Chat, &call, &calling).is_ok());

    let output = json!([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]);
    let usage = json!({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3});
    let response = json!({"object": "response", "output": output, "usage": usage});
    let mut call = json!({"model": "org/m", "input": "q"});
    assert_eq!(told(&Host::sie(), Surface::Responses, &call, &response), Err(INVALID));
    call["tools"] = json!([{"type": "function", "name": "f"}]);
    assert!(told(&Host::sie(), Surface::Responses, &call, &response).is_ok());
}

#[test]
fn a_schema_that_is_none_is_refused_before_anything_is_sent() {
    for schema in [json!({"type": "nonsense"}), json!({"$ref": "https://example.com/schema.json"}), json!([])] {
        assert_eq!(told(&openai(), Surface::Chat, &strict(&schema), &json!({})), Err(UNTRANSLATABLE), "{schema}");
    }
    for named in [
        r#"{"strict":true,"schema":null}"#,
        r#"{"strict":true}"#,
        r#"{"strict":true,"schema":{"type":"obj\ud800ect"}}"#,
        r#"{"strict":true,"schema":{}},"json_schema":{"strict":true,"schema":{}}"#,
        r#"{"strict":true,"schema":{}},"\ud800":1"#,
    ] {
        let format = format!(r#"{{"type":"json_schema","json_schema":{named}}}"#);
        let call = format!(r#"{{"model":"org/m","messages":[],"response_format":{format}}}"#);
        assert_eq!(openai().ask(Surface::Chat, call.as_bytes()).err(), Some(UNTRANSLATABLE), "{named}");
    }
    let mut loose = strict(&json!({"type": "nonsense"}));
    loose["response_format"]["json_schema"]["strict"] = json!(false);
    let answer = chat(&json!({"role": "assistant", "content": "x"}), "stop");
    assert!(told(&openai(), Surface::Chat, &loose, &answer).is_ok());
}
