//! Refusals of the known engines: every row of engines 2.1, 2.4 and 2.7, and the contract's own examples.

use proptest::prelude::*;
use spillway_filters::call::{Format, Work};
use spillway_filters::presets::{NAMES, Preset, preset};
use spillway_filters::refusal::{Answer, MAX_BODY_BYTES, Phase, Rule, may_hide, may_refuse, recognise, veiled};
use spillway_policies::Surface;
use spillway_policies::refusal::{Certainty, Refusal};
use spillway_policies::trigger::Trigger::{self, ModelLoading, Provisioning, Saturated, Unhealthy};
use std::borrow::Cow;

fn known(name: &str) -> &'static Preset {
    preset(name).expect("the preset is listed")
}

/// A call that is one piece of work.
const ONE: Work<'_> = Work { surface: Surface::Chat, format: Format::Json, body: br#"{"messages":[]}"# };

const fn in_head<'a>(status: u16, head: &'a [u8], body: &'a [u8]) -> Answer<'a> {
    Answer { phase: Phase::Head, status, head, body, served_remotely: false, work: Some(ONE) }
}

const fn in_event(data: &[u8]) -> Answer<'_> {
    Answer { phase: Phase::Prime, ..in_head(200, b"", data) }
}

fn head(preset: &Preset, status: u16, head: &str, body: &str) -> Option<Refusal> {
    let answer = in_head(status, head.as_bytes(), body.as_bytes());
    let refusal = recognise(preset, &[], &answer);
    assert!(refusal.is_none() || may_refuse(preset, &[], status), "{status} {body}: the cheap check must not miss it");
    refusal
}

const fn certain(trigger: Trigger) -> Option<Refusal> {
    Some(Refusal::certain(trigger))
}

const fn ambiguous(trigger: Trigger) -> Option<Refusal> {
    Some(Refusal { trigger, certainty: Certainty::Ambiguous })
}

#[test]
fn vllm_refuses_in_its_head() {
    let vllm = known("vllm");
    for (status, body, wanted) in [
        (
            503,
            r#"{"error":{"message":"The engine is currently busy and cannot accept new requests. Please try again later.","type":"Service Unavailable","param":null,"code":503}}"#,
            certain(Saturated),
        ),
        (
            503,
            r#"{"error":{"message":"The engine has reached its prefill token backlog limit. Please","type":"Service Unavailable","code":503}}"#,
            certain(Saturated),
        ),
        (
            503,
            r#"{"error":{"message":"Generation is paused.","type":"ServiceUnavailableError","code":503}}"#,
            certain(ModelLoading),
        ),
        (503, r#"{"error":"The model is currently scaling. Please try again later."}"#, certain(Provisioning)),
        (503, r#"{"error":"This data-parallel rank has been retired and is awaiting shutdown."}"#, certain(Unhealthy)),
        // Anything else that quotes one of these.
        (503, r#"{"error":"x: The model is currently scaling."}"#, None),
        (503, r#"{"error":{"message":"x: Generation is paused.","type":"ServiceUnavailableError","code":503}}"#, None),
        (
            500,
            r#"{"error":{"message":"The server had an error while processing your request.","type":"InternalServerError","code":500}}"#,
            ambiguous(Unhealthy),
        ),
        (
            500,
            r#"{"error":{"message":"EngineCore encountered an issue.","type":"InternalServerError"}}"#,
            ambiguous(Unhealthy),
        ),
        (500, r#"{"error":{"message":"no","type":"InternalServerError"}}"#, None),
        (503, r#"{"error":{"message":"no","type":"Service Unavailable"}}"#, None),
        (503, "", None),
        (504, r#"{"error":{"message":"Generation is paused.","type":"ServiceUnavailableError"}}"#, None),
        (404, r#"{"error":{"message":"no such model","type":"NotFoundError","code":404}}"#, None),
        (401, r#"{"error":"Unauthorized"}"#, None),
    ] {
        assert_eq!(head(vllm, status, "", body), wanted, "{status} {body}");
    }
}

#[test]
fn vllm_refuses_inside_a_200() {
    let vllm = known("vllm");
    for (data, wanted) in [
        (
            r#"{"error":{"message":"Generation is paused. Please retry after it resumes.","type":"ServiceUnavailableError","param":null,"code":503}}"#,
            certain(ModelLoading),
        ),
        (
            r#"{"error":{"message":"Generation is paused.","type":"ServiceUnavailableError","code":"503"}}"#,
            certain(ModelLoading),
        ),
        (r#"{"error":{"message":"x","type":"ServiceUnavailableError","code":503}}"#, None),
        (r#"{"error":{"message":"x","type":"BadRequestError","code":400}}"#, None),
        // What runs when it shuts down or is paused ends so too.
        (r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"abort"}]}"#, ambiguous(Unhealthy)),
        (r#"{"choices":[{"index":0,"text":"","finish_reason":"abort"}]}"#, ambiguous(Unhealthy)),
        (
            r#"{"choices":[{"index":0,"message":{"content":null,"tool_calls":[]},"finish_reason":"abort"}]}"#,
            ambiguous(Unhealthy),
        ),
        (r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"abort"}]}"#, None),
        (r#"{"choices":[{"index":0,"text":"x","finish_reason":"abort"}]}"#, None),
        (r#"{"choices":[{"index":0,"delta":{"reasoning":"x"},"finish_reason":"abort"}]}"#, None),
        (r#"{"choices":[{"index":0,"text":"","finish_reason":"abort"},{"index":1,"text":"x"}]}"#, None),
        (r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#, None),
        ("[DONE]", None),
    ] {
        assert_eq!(recognise(vllm, &[], &in_event(data.as_bytes())), wanted, "{data}");
    }
    assert!(may_hide(vllm, &[]));
    let hiding: Vec<_> = NAMES.iter().filter(|name| may_hide(known(name), &[])).collect();
    assert_eq!(hiding, [&"vllm", &"sglang", &"tgi"]);
}

#[test]
fn llama_cpp_refuses() {
    let loading = r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;
    let no_slot = r#"{"error":{"code":503,"message":"no slot available","type":"unavailable_error"}}"#;
    for name in ["llama_cpp", "llama_cpp_router"] {
        assert_eq!(head(known(name), 503, "", loading), certain(ModelLoading));
        assert_eq!(head(known(name), 503, "", no_slot), certain(Saturated));
        assert_eq!(head(known(name), 400, "", r#"{"error":{"type":"exceed_context_size_error","message":"x"}}"#), None);
    }
    let not_loaded = r#"{"error":{"code":400,"message":"model is not loaded","type":"invalid_request_error"}}"#;
    let raced = r#"{"error":{"code":400,"message":"model name=org/m is not running","type":"invalid_request_error"}}"#;
    let failed = r#"{"error":{"code":500,"message":"model name=org/m failed to load","type":"server_error"}}"#;
    let quoted = r#"{"error":{"code":500,"message":"Failed to parse input at pos 3: model name=m failed to load","type":"server_error"}}"#;
    let unknown = r#"{"error":{"code":400,"message":"model 'x' not found","type":"invalid_request_error"}}"#;
    let router = known("llama_cpp_router");
    assert_eq!(head(router, 400, "", not_loaded), certain(ModelLoading));
    assert_eq!(head(router, 400, "", raced), certain(ModelLoading));
    assert_eq!(head(router, 500, "", failed), certain(Unhealthy));
    assert_eq!(head(router, 500, "", quoted), None, "what a model wrote");
    assert_eq!(head(router, 500, "", "proxy error: Could not establish connection"), ambiguous(Unhealthy));
    assert_eq!(head(router, 400, "", unknown), None);
    for body in [not_loaded, raced, failed] {
        assert_eq!(head(known("llama_cpp"), 400, "", body), None, "one model has no router's answers");
    }
}

#[test]
fn sie_refuses_in_every_form_it_ever_had() {
    const TIMED_OUT: &str =
        r#"{"error":{"code":"MODEL_LOADING","message":"Model 'm' did not respond within 30s; retry."}}"#;
    const RELAYED: &str = r#"{"error":{"code":"MODEL_LOADING","message":"loading"}}"#;
    for (status, headers, body, wanted) in [
        (
            202,
            "Retry-After: 120\r\n",
            r#"{"status":"provisioning","gpu":"l4","estimated_wait_s":180}"#,
            certain(Provisioning),
        ),
        (503, "X-SIE-Error-Code: PROVISIONING\r\nRetry-After: 60\r\n", "", certain(Provisioning)),
        (503, "X-SIE-Error-Code: MODEL_LOADING\r\nRetry-After: 5\r\n", TIMED_OUT, ambiguous(ModelLoading)),
        (503, "X-SIE-Error-Code: MODEL_LOADING\r\nRetry-After: 5\r\n", RELAYED, certain(ModelLoading)),
        (503, "X-SIE-Error-Code: LORA_LOADING\r\nRetry-After: 5\r\n", r#"{"error":{"code":"LORA_LOADING"}}"#, None),
        (503, "X-SIE-Error-Code: RESOURCE_EXHAUSTED\r\n", r#"{"error":{"code":"RESOURCE_EXHAUSTED"}}"#, None),
        (503, "X-SIE-Error-Code: RESOURCE_EXHAUSTED\r\n", RELAYED, None),
        (503, "x-sie-error-code:model_loading \r\n", "", certain(ModelLoading)),
        (
            503,
            "Retry-After: 120\r\n",
            r#"{"message":"Queue publish failed: no consumers on l4"}"#,
            certain(Provisioning),
        ),
        (503, "Retry-After: 5\r\n", r#"{"message":"Queue publish failed: backpressure"}"#, certain(Saturated)),
        (503, "", r#"{"message":"Queue publish failed: no consumers on l4"}"#, ambiguous(Unhealthy)),
        (503, "", r#"{"message":"Queue publish failed: broken pipe"}"#, ambiguous(Unhealthy)),
        (504, "", r#"{"message":"Result channel closed"}"#, None),
        (500, "", r#"{"error":{"code":"all_items_failed"}}"#, None),
        (503, "Retry-After: 5\r\n", r#"{"detail":{"code":"MODEL_LOADING","message":"x"}}"#, certain(ModelLoading)),
        (503, "Retry-After: 1\r\n", r#"{"detail":{"code":"LORA_LOADING"}}"#, None),
        (503, "", r#"{"detail":{"code":"MODEL_NOT_LOADED"}}"#, certain(ModelLoading)),
        (502, "", r#"{"detail":{"code":"MODEL_LOAD_FAILED"}}"#, certain(Unhealthy)),
        (503, "Retry-After: 5\r\n", r#"{"detail":{"code":"RESOURCE_EXHAUSTED"}}"#, None),
        (503, "", r#"{"detail":{"error":{"code":"model_not_available"}}}"#, certain(Unhealthy)),
        (503, "", r#"{"error":{"code":"server_overloaded"}}"#, None),
        (503, "", "not ready", None),
        (500, "", r#"{"detail":{"code":"MODEL_LOADING"}}"#, None),
        (504, "X-SIE-Error-Code: MODEL_LOADING\r\n", RELAYED, None),
        (200, "", r#"{"detail":{"code":"MODEL_LOADING"}}"#, None),
        (503, "", r#"{"error":{"code":"weird"},"detail":{"code":"RESOURCE_EXHAUSTED"}}"#, None),
    ] {
        let lines = format!("HTTP/1.1 {status} Any: reason\r\nserver: uvicorn\r\n{headers}\r\n");
        assert_eq!(head(known("sie"), status, &lines, body), wanted, "{status} {headers} {body}");
    }
}

#[derive(serde::Deserialize)]
struct Examples {
    examples: Vec<Example>,
    non_sie_hints: Vec<Example>,
}

#[derive(serde::Deserialize)]
struct Example {
    name: String,
    family: String,
    status: u16,
    headers: std::collections::BTreeMap<String, String>,
    body: serde_json::Value,
    trigger: Option<String>,
}

#[test]
fn the_contracts_examples_mean_what_they_say() {
    let text = include_str!("fixtures/refusal_examples.json");
    let examples: Examples = serde_json::from_str(text).expect("the fixture is JSON");
    assert_eq!(examples.examples.len(), 50);
    for example in &examples.examples {
        let lines: String = example.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        // `ambiguous` in the fixture: audio hides which trigger it was, so there is none.
        let wanted = example.trigger.as_deref().and_then(Trigger::from_token).map(Refusal::certain);
        let found = head(known("sie"), example.status, &lines, &example.body.to_string());
        assert_eq!(found, wanted, "{} ({})", example.name, example.family);
    }
    let llama = examples.non_sie_hints.iter().find(|hint| hint.name.contains("llama")).expect("the fixture has it");
    assert_eq!(head(known("llama_cpp"), llama.status, "", &llama.body.to_string()), certain(ModelLoading));
}

#[derive(serde::Deserialize)]
struct Codes {
    codes: Vec<CodeRow>,
}

#[derive(serde::Deserialize)]
struct CodeRow {
    /// None: a refusal without a code.
    code: Option<String>,
    status: u16,
    bridge_trigger: Option<String>,
}

#[test]
fn every_code_has_its_trigger_wherever_it_stands() {
    let codes: Codes = serde_json::from_str(include_str!("fixtures/error_codes.json")).expect("the fixture is JSON");
    assert!(codes.codes.len() > 50);
    for CodeRow { code, status, bridge_trigger } in codes.codes {
        let wanted = bridge_trigger.as_deref().and_then(Trigger::from_token).map(Refusal::certain);
        let Some(code) = code else {
            assert_eq!(head(known("sie"), status, "Retry-After: 5\r\n", r#"{"error":"x","detail":"x"}"#), wanted);
            continue;
        };
        let header = format!("X-SIE-Error-Code: {code}\r\n");
        let bodies = [
            format!(r#"{{"error":{{"code":"{code}"}}}}"#),
            format!(r#"{{"detail":{{"code":"{code}"}}}}"#),
            format!(r#"{{"detail":{{"error":{{"code":"{code}"}}}}}}"#),
        ];
        assert_eq!(head(known("sie"), status, &header, ""), wanted, "{code} in the header");
        for body in bodies {
            assert_eq!(head(known("sie"), status, "", &body), wanted, "{body}");
        }
    }
}

#[test]
fn an_unknown_server_refuses_nothing_until_the_operator_says_so() {
    let openai = known("openai");
    let body = r#"{"error":{"code":"model_not_ready","message":"x"}}"#;
    assert_eq!(head(openai, 503, "", body), None);
    assert!(!may_refuse(openai, &[], 503));
    let rule = Rule {
        status: Cow::Borrowed(&[503]),
        json: Cow::Borrowed(&[(Cow::Borrowed("/error/code"), Cow::Borrowed("MODEL_NOT_READY"))]),
        trigger: Some(ModelLoading),
        ..Rule::HEAD
    };
    let answer = in_head(503, b"", body.as_bytes());
    assert_eq!(recognise(openai, std::slice::from_ref(&rule), &answer), certain(ModelLoading));
    assert!(may_refuse(openai, std::slice::from_ref(&rule), 503) && !may_refuse(openai, &[rule], 200));
}

#[test]
fn the_operators_rules_are_asked_first() {
    let never = Rule { status: Cow::Borrowed(&[503]), ..Rule::HEAD };
    let answer = in_head(503, b"", br#"{"detail":{"code":"MODEL_LOADING"}}"#);
    assert_eq!(recognise(known("sie"), &[never], &answer), None);
    assert_eq!(recognise(known("sie"), &[], &answer), certain(ModelLoading));
}

#[test]
fn each_condition_counts() {
    let openai = known("openai");
    let ask = |rule: Rule, head: &str, body: &str| {
        let answer = in_head(503, head.as_bytes(), body.as_bytes());
        recognise(openai, &[Rule { trigger: Some(Saturated), ..rule }], &answer).is_some()
    };
    let pairs = |name: &'static str, value: &'static str| Cow::Owned(vec![(Cow::Borrowed(name), Cow::Borrowed(value))]);
    let json = |value| Rule { json: pairs("/a/b", value), ..Rule::HEAD };
    for (value, body, wanted) in [
        ("X", r#"{"a":{"b":"x"}}"#, true),
        ("5", r#"{"a":{"b":5}}"#, true),
        ("TRUE", r#"{"a":{"b":true}}"#, true),
        ("*", r#"{"a":{"b":{}}}"#, true),
        ("*", r#"{"a":{"b":null}}"#, false),
        ("*", r#"{"a":{}}"#, false),
        ("be*", r#"{"a":{"b":"Begins"}}"#, true),
        ("begins*", r#"{"a":{"b":"begins"}}"#, true),
        ("be*", r#"{"a":{"b":"it begins"}}"#, false),
        ("begins*", r#"{"a":{"b":"be"}}"#, false),
        ("\u{fc}b*", r#"{"a":{"b":"\u00fcber"}}"#, true),
        ("u*", r#"{"a":{"b":"\u00fcber"}}"#, false),
        ("5*", r#"{"a":{"b":55}}"#, false),
        ("", r#"{"a":{"b":null}}"#, true),
        ("", r#"{"a":{"b":""}}"#, true),
        ("", r#"{"a":{"b":[]}}"#, true),
        ("", "{}", true),
        ("", r#"{"a":{"b":0}}"#, false),
        ("", "no JSON", false),
        ("x", r#"{"a":{"b":["x"]}}"#, false),
    ] {
        assert_eq!(ask(json(value), "", body), wanted, "{value:?} {body}");
    }
    let typed = Rule { content_type: Some(Cow::Borrowed("text/html")), ..Rule::HEAD };
    assert!(ask(typed.clone(), "Content-Type: Text/HTML; charset=utf-8\r\n", ""));
    assert!(!ask(typed.clone(), "Content-Type: text/html5\r\n", "") && !ask(typed, "", ""));
    let text = Rule { text: Cow::Owned(vec!["IS NOT".into(), "ready".into()]), ..Rule::HEAD };
    assert!(ask(text.clone(), "", "<title>503: m is not Ready</title>") && !ask(text, "", "is not there"));
    let header = Rule { header: pairs("X-A", "b"), ..Rule::HEAD };
    assert!(ask(header.clone(), "x-a: c\r\nx-a:  B \r\n", "") && !ask(header, "x-ab: b\r\n", ""));
    let any = Rule { any_json: Cow::Owned([&*pairs("/a", "1"), &*pairs("/b", "1")].concat()), ..Rule::HEAD };
    assert!(ask(any.clone(), "", r#"{"b":1}"#) && !ask(any, "", r#"{"b":2}"#));
    assert!(ask(Rule::HEAD, "", "anything"));
}

#[test]
fn a_body_over_the_bound_has_no_json_and_its_start_as_text() {
    let mut body = br#"{"detail":{"code":"MODEL_LOADING"},"x":""#.to_vec();
    body.resize(MAX_BODY_BYTES - 2, b'x');
    body.extend_from_slice(b"\"}");
    let ask = |body: &[u8]| recognise(known("sie"), &[], &in_head(503, b"", body));
    assert_eq!(ask(&body), certain(ModelLoading));
    body.push(b' ');
    assert_eq!(ask(&body), None);
}

proptest! {
    #[test]
    fn arbitrary_answers_never_panic(
        status in 100_u16..600,
        head in prop::collection::vec(any::<u8>(), 0..80),
        body in prop_oneof![prop::collection::vec(any::<u8>(), 0..80), "[\\[\\]{}\":,a-z0-9]{0,80}".prop_map(String::into_bytes)],
    ) {
        for name in NAMES {
            for phase in [Phase::Head, Phase::Prime] {
                let _ = recognise(known(name), &[], &Answer { phase, ..in_head(status, &head, &body) });
            }
        }
    }
}

/// What a transcription's answer means when its model is in `state`.
fn transcription(status: u16, head: &str, state: &str) -> Option<Refusal> {
    const BODY: &str = r#"{"error":{"message":"m","type":"server_error","param":null,"code":"transport_failure"}}"#;
    let answer = in_head(status, head.as_bytes(), BODY.as_bytes());
    assert_eq!(recognise(known("sie"), &[], &answer), None, "the wire alone does not tell");
    assert!(may_refuse(known("sie"), &[], status) || !matches!(status, 502 | 503), "{status}: it must be read at all");
    let described = format!(r#"{{"name":"org/m","loaded":false,"state":"{state}","last_error":null,"dims":{{}}}}"#);
    veiled(known("sie"), Surface::Audio, &answer)?.reveal(described.as_bytes())
}

#[test]
fn the_state_of_the_model_says_what_a_transcription_hides() {
    const WAIT: &str = "HTTP/1.1 503 x\r\nRetry-After: 5\r\n";
    for (status, head, state, wanted) in [
        (503, WAIT, "loading", certain(ModelLoading)),
        (503, WAIT, "failed", certain(Unhealthy)),
        // RESOURCE_EXHAUSTED and QUEUE_FULL have a wait too: work may have been done.
        (503, WAIT, "loaded", None),
        (503, WAIT, "unloading", None),
        (503, WAIT, "available", None),
        // Without a wait it was MODEL_NOT_LOADED.
        (503, "", "unloading", certain(ModelLoading)),
        (503, "", "available", certain(ModelLoading)),
        (503, "", "loading", certain(ModelLoading)),
        (503, "", "failed", certain(Unhealthy)),
        (503, "", "loaded", None),
        (502, "", "failed", certain(Unhealthy)),
        (502, "", "loading", None),
        (500, "", "loading", None),
        (504, "", "loading", None),
        (503, "", "LOADING", None),
        (503, "", "", None),
    ] {
        assert_eq!(transcription(status, head, state), wanted, "{status} {head:?} {state}");
    }
}

#[test]
fn only_what_hides_its_code_is_veiled() {
    let sie = known("sie");
    let loading = r#"{"error":{"message":"m","type":"server_error","code":"transport_failure"}}"#;
    let answer = |body: &'static str| in_head(503, b"", body.as_bytes());
    assert!(veiled(sie, Surface::Audio, &answer(loading)).is_some());
    for surface in Surface::ALL.into_iter().filter(|surface| *surface != Surface::Audio) {
        assert!(veiled(sie, surface, &answer(loading)).is_none(), "{surface:?}");
    }
    for body in [
        r#"{"error":"server is shutting down","detail":"server is shutting down"}"#,
        r#"{"error":{"type":"server_error","code":"internal_error"}}"#,
        r#"{"detail":{"code":"transport_failure"}}"#,
        "",
    ] {
        assert!(veiled(sie, Surface::Audio, &answer(body)).is_none(), "{body}");
    }
    let elsewhere = Answer { served_remotely: true, ..answer(loading) };
    assert!(veiled(sie, Surface::Audio, &elsewhere).is_none(), "somebody else said it");
    let coded = Answer { head: b"X-SIE-Error-Code: RESOURCE_EXHAUSTED\r\n", ..answer(loading) };
    assert!(veiled(sie, Surface::Audio, &coded).is_none(), "a code in the header hides nothing");
    for name in NAMES.iter().filter(|name| **name != "sie") {
        assert!(veiled(known(name), Surface::Audio, &answer(loading)).is_none(), "{name}");
    }
    let rule = veiled(sie, Surface::Audio, &answer(loading)).expect("veiled");
    for gateway in [r#"{"state":"loading","id":"org/m"}"#, r#"{"state":"loading","pending_generation":{"total":0}}"#] {
        assert_eq!(rule.reveal(gateway.as_bytes()), None, "a gateway's transport_failure is its own code: {gateway}");
    }
    for described in ["", "[]", "{}", r#"{"state":null}"#, r#"{"state":"unloading""#, r#"{"state":["unloading"]}"#] {
        assert_eq!(rule.reveal(described.as_bytes()), None, "{described}");
    }
}
