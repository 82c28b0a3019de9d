//! Generation in the caller's own protocol.

use crate::host::{Host, INVALID, UNTRANSLATABLE, body, chat, completion, read, text};
use serde_json::{Value, json};
use spillway_filters::edit::Piece;
use spillway_policies::Surface;
use spillway_policies::upstream::Endpoint;

fn sent(host: &Host, surface: Surface, call: &Value) -> Value {
    let call = text(call);
    body(&host.ask(surface, &call).expect("it can be asked"), &call)
}

fn openai() -> Host {
    Host::openai(&[Endpoint::Chat, Endpoint::Completions])
}

#[test]
fn every_call_to_a_host_is_capped() {
    let chat = |extra: Value| {
        let mut call = json!({"model": "org/m", "messages": []});
        call.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        let sent = sent(&openai(), Surface::Chat, &call);
        (sent.get("max_tokens").cloned(), sent.get("max_completion_tokens").cloned())
    };
    assert_eq!(chat(json!({})), (Some(json!(100)), None), "the model's");
    assert_eq!(chat(json!({"max_tokens": 5000})), (Some(json!(100)), None));
    assert_eq!(chat(json!({"max_completion_tokens": 5000})), (None, Some(json!(100))));
    assert_eq!(chat(json!({"max_completion_tokens": 7, "max_tokens": 8})), (None, Some(json!(7))));
    assert_eq!(chat(json!({"max_completion_tokens": null, "max_tokens": 8})), (Some(json!(8)), None));
    let plain = sent(&openai(), Surface::Completions, &json!({"model": "org/m", "prompt": "a"}));
    assert_eq!(plain["max_tokens"], 16, "the surface's default");
    let mut undeclared = openai();
    undeclared.tasks.max_output_tokens = None;
    let free = sent(&undeclared, Surface::Chat, &json!({"model": "org/m", "messages": []}));
    assert_eq!(free.get("max_tokens"), None);
}

#[test]
fn media_goes_to_a_host_as_it_came() {
    let messages = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,a"}}]}]);
    let call = json!({"model": "org/m", "messages": messages, "n": 2, "top_k": 5, "max_tokens": 4});
    let sent = sent(&openai(), Surface::Chat, &call);
    assert_eq!((&sent["messages"], &sent["n"], &sent["top_k"]), (&messages, &json!(2), &json!(5)));
}

#[test]
fn a_stream_asks_for_its_usage_and_an_answer_does_not() {
    for (host, surface) in [
        (openai(), Surface::Chat),
        (openai(), Surface::Completions),
        (Host::sie(), Surface::Chat),
        (Host::sie(), Surface::Completions),
    ] {
        let mut call =
            json!({"model": "org/m", "prompt": "a", "stream": true, "stream_options": {"include_usage": false}});
        let usage = json!({"include_usage": true});
        assert_eq!(sent(&host, surface, &call)["stream_options"], usage, "{surface:?}");
        call["stream"] = Value::Null;
        let whole = sent(&host, surface, &call);
        assert_eq!((whole.get("stream_options"), &whole["stream"]), (None, &json!(false)), "{surface:?}");
    }
}

#[test]
fn what_is_sies_own_goes_to_a_sie_only() {
    let call = json!({"model": "org/m", "messages": [], "include_reasoning": true, "schema_in_prompt": false,
        "options": {"profile": "remote", "other": 1}, "max_tokens": 4});
    let to_host = sent(&openai(), Surface::Chat, &call);
    assert_eq!(to_host, json!({"model": "vendor-model", "messages": [], "max_tokens": 4, "stream": false}));
    let to_sie = sent(&Host::sie(), Surface::Chat, &call);
    let wanted = json!({"model": "org/name:default", "messages": [], "include_reasoning": true, "schema_in_prompt": false,
        "options": {"other": 1}, "max_tokens": 4, "stream": false});
    assert_eq!(to_sie, wanted);
    let responses =
        json!({"model": "org/m", "input": "a", "options": {"profile": "remote"}, "max_output_tokens": 5000});
    let wanted = json!({"model": "org/name:default", "input": "a", "max_output_tokens": 5000});
    assert_eq!(sent(&Host::sie(), Surface::Responses, &responses), wanted);
}

#[test]
fn a_native_call_goes_to_a_sie_as_it_came() {
    let call = text(&json!({"prompt": "p", "max_new_tokens": 4, "options": {"default_sampling": {"top_k": 5}}}));
    let asked = Host::sie().ask(Surface::Generate, &call).expect("it can be asked");
    assert_eq!(asked.bodies, [[Piece::Held(0..call.len())]]);
    let call =
        json!({"prompt": "p", "max_new_tokens": 4, "options": {"profile": "remote", "default_sampling": {"top_k": 5}}});
    let wanted = json!({"prompt": "p", "max_new_tokens": 4, "options": {"default_sampling": {"top_k": 5}}});
    assert_eq!(sent(&Host::sie(), Surface::Generate, &call), wanted);
}

#[test]
fn log_probabilities_come_back_to_who_asked_for_them() {
    let told = |surface, call: &Value, answer: &Value| {
        let asked = openai().ask(surface, &text(call)).expect("it can be asked");
        read(&asked, answer).expect("valid")["choices"][0]["logprobs"].clone()
    };
    let mut answer = chat(&json!({"role": "assistant", "content": "a"}), "stop");
    let token = json!({"token": "a", "logprob": -0.5});
    answer["choices"][0]["logprobs"] = json!({"content": [token]});
    let call = |logprobs: Value| json!({"model": "org/m", "messages": [], "max_tokens": 8, "logprobs": logprobs});
    assert_eq!(told(Surface::Chat, &call(json!(true)), &answer)["content"][0]["token"], "a");
    assert_eq!(told(Surface::Chat, &call(json!(false)), &answer), Value::Null);
    let mut answer = completion("a", "stop");
    answer["choices"][0]["logprobs"] =
        json!({"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": null, "text_offset": [0]});
    let call = |logprobs: Value| json!({"model": "org/m", "prompt": "q", "logprobs": logprobs});
    assert_eq!(told(Surface::Completions, &call(json!(0)), &answer)["tokens"][0], "a");
    assert_eq!(told(Surface::Completions, &call(Value::Null), &answer), Value::Null);
}

#[test]
fn every_prompt_is_answered_as_often_as_was_asked() {
    let completions = |count: usize, prompt_tokens: usize| {
        let mut answer = completion("a", "stop");
        let choice = answer["choices"][0].clone();
        let placed = |index: usize| {
            let mut choice = choice.clone();
            choice["index"] = json!(index);
            choice
        };
        answer["choices"] = (0..count).map(placed).collect();
        answer["usage"] = json!({"prompt_tokens": prompt_tokens, "completion_tokens": 4});
        answer
    };
    for (prompt, n, wanted) in [
        (json!(["a", "b", "c"]), 1, 3),
        (json!(["a", "b"]), 2, 4),
        (json!([[1, 2], [3]]), 1, 2),
        (json!([1, 2, 3]), 2, 2),
        (json!("a"), 1, 1),
    ] {
        let call = text(&json!({"model": "org/m", "prompt": prompt, "n": n}));
        let asked = openai().ask(Surface::Completions, &call).expect("it can be asked");
        for count in 1..6 {
            let answer = read(&asked, &completions(count, 3));
            let told = answer.map(|answer| answer["choices"].as_array().map(Vec::len));
            assert_eq!(told, if count == wanted { Ok(Some(wanted)) } else { Err(INVALID) }, "{prompt} {n} {count}");
        }
    }
    let call = text(&json!({"model": "org/m", "prompt": ["a", "b"]}));
    let asked = openai().ask(Surface::Completions, &call).expect("it can be asked");
    assert!(read(&asked, &completions(2, 1990)).is_ok(), "a context for each prompt");
    assert!(read(&asked, &completions(2, 2001)).is_err());
    // Nobody knows how many answers a mixed list has.
    for mixed in [json!(["a", [1]]), json!([])] {
        let call = text(&json!({"model": "org/m", "prompt": mixed}));
        assert_eq!(openai().ask(Surface::Completions, &call).map(drop), Err(UNTRANSLATABLE), "{mixed}");
    }
    let many = text(&json!({"model": "org/m", "prompt": ["a", "b"], "n": 65}));
    assert_eq!(openai().ask(Surface::Completions, &many).map(drop), Err(UNTRANSLATABLE));
}
