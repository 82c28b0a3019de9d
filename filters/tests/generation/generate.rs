//! Generate on a host with raw completions.

use crate::host::{Host, INVALID, UNTRANSLATABLE, body, completion, read, text};
use serde_json::{Value, json};
use spillway_filters::dialect::{Raw, Reading};
use spillway_policies::upstream::Endpoint;
use spillway_policies::{Failure, Surface};

fn completions() -> Host {
    Host::openai(&[Endpoint::Completions])
}

/// What an upstream is asked for a native call.
fn asked(host: &Host, call: &Value) -> Result<Value, Failure> {
    let call = text(call);
    Ok(body(&host.ask(Surface::Generate, &call)?, &call))
}

#[test]
fn a_generate_call_says_what_completions_can_be_asked() {
    let call = json!({
        "prompt": "p\u{1f600}", "max_new_tokens": 7, "temperature": null, "top_p": 0.5, "stop": [], "seed": -1,
        "frequency_penalty": 0.25, "logit_bias": {"5": 1.50}, "images": [], "grammar": null, "routing_key": "r",
        "prompt_cache_key": "c", "safety_identifier": "s", "logprobs": false, "top_logprobs": 0,
        "options": {"profile": "remote", "default_sampling": {"top_p": 0.9, "presence_penalty": 1, "top_k": null}},
    });
    let wanted = json!({
        "prompt": "p\u{1f600}", "max_tokens": 7, "temperature": 1.0, "top_p": 0.5, "seed": -1, "frequency_penalty": 0.25,
        "presence_penalty": 1, "logit_bias": {"5": 1.5}, "model": "vendor-model", "n": 1, "echo": false, "stream": false,
    });
    assert_eq!(asked(&completions(), &call), Ok(wanted));
}

#[test]
fn what_completions_have_no_field_for_is_refused_before_anything_is_sent() {
    for extra in [
        json!({"images": [{"data": "aa"}]}),
        json!({"grammar": {"regex": "a"}}),
        json!({"top_k": 1}),
        json!({"repetition_penalty": 1.1}),
        json!({"min_new_tokens": 1}),
        json!({"logprobs": true}),
        json!({"top_logprobs": 2}),
        json!({"stream": true, "top_logprobs": 2}),
        json!({"stream": true, "logprobs": "yes"}),
        json!({"stream": true, "logprobs": true, "top_logprobs": -1}),
        json!({"options": {"default_sampling": {"top_k": 5}}}),
        json!({"options": {"default_sampling": {"min_new_tokens": 5}}}),
        json!({"options": {"overall_timeout_s": 5}}),
        json!({"options": "x"}),
        json!({"prompt": ["a"]}),
        json!({"prompt": null}),
        json!({"whatever": 1}),
    ] {
        let mut call = json!({"prompt": "p", "max_new_tokens": 4});
        call.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        assert_eq!(asked(&completions(), &call), Err(UNTRANSLATABLE), "{extra}");
    }
}

#[test]
fn log_probabilities_are_counted_where_generate_switches_them_on() {
    for (top, wanted) in [(Value::Null, json!(1)), (json!(0), json!(0)), (json!(20), json!(20))] {
        let call = json!({"prompt": "p", "max_new_tokens": 4, "stream": true, "logprobs": true, "top_logprobs": top});
        let sent = asked(&completions(), &call).expect("translatable");
        assert_eq!(sent["logprobs"], wanted);
        assert_eq!(sent["stream_options"], json!({"include_usage": true}));
    }
}

#[test]
fn the_output_is_capped_by_caller_model_and_operator() {
    let mut host = completions();
    let cap = |host: &Host, caller: u64| {
        asked(host, &json!({"prompt": "p", "max_new_tokens": caller})).expect("translatable")["max_tokens"].clone()
    };
    assert_eq!((cap(&host, 4), cap(&host, 5000)), (json!(4), json!(100)));
    host.set("max_tokens", "50");
    assert_eq!((cap(&host, 4), cap(&host, 5000)), (json!(4), json!(50)));
    let mut stripped = completions();
    stripped.strip("max_tokens");
    assert_eq!(cap(&stripped, 4), 4, "completions have no other cap");
    stripped.set("echo", "true");
    let sent = asked(&stripped, &json!({"prompt": "p", "max_new_tokens": 1})).expect("translatable");
    assert_eq!(sent["echo"], false);
}

#[test]
fn a_completion_is_told_as_sie_tells_it() {
    let call = text(&json!({"prompt": "p", "max_new_tokens": 4}));
    let asked = completions().ask(Surface::Generate, &call).expect("translatable");
    assert_eq!((asked.path.as_str(), asked.accept), ("/completions", "application/json"));
    let wanted = json!({
        "model": "org/m", "text": "a\"b\u{1f600}", "finish_reason": "length",
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    });
    assert_eq!(read(&asked, &completion("a\"b\u{1f600}", "length")), Ok(wanted));
    for (answer, why) in [
        (completion("a", "content_filter"), "held back"),
        (completion("a", "abort"), "not an end"),
        (json!({"text": "a", "finish_reason": "stop"}), "another protocol"),
    ] {
        assert_eq!(read(&asked, &answer), Err(INVALID), "{why}");
    }
    let mut two = completion("a", "stop");
    let choice = two["choices"][0].clone();
    two["choices"].as_array_mut().expect("a list").push(choice);
    assert_eq!(read(&asked, &two), Err(INVALID), "one answer was asked for");
    let mut more = completion("a", "stop");
    more["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8});
    assert_eq!(read(&asked, &more), Err(INVALID), "more than the cap");
    let Reading::Whole(whole) = &asked.reading else { panic!("read whole") };
    let html = Raw { content_type: Some(b"text/html".to_vec()), body: text(&completion("a", "stop")) };
    assert_eq!(whole.read(&[html]), Err(INVALID));
}
