//! Refusals of the engines that engines 2.2, 2.3, 2.5 and 2.6 describe, row by row with near misses; and of real servers, as recorded.

use spillway_filters::call::{Format, Work};
use spillway_filters::presets::{NAMES, Preset, preset};
use spillway_filters::refusal::{Answer, Phase, may_hide, may_refuse, recognise};
use spillway_policies::Surface;
use spillway_policies::refusal::{Certainty, Refusal};
use spillway_policies::trigger::Trigger::{self, ModelLoading, Provisioning, Saturated, Unhealthy};
use std::collections::BTreeMap;

/// Status, further header lines, body, and what it means.
type Row = (u16, &'static str, &'static str, Option<Refusal>);

const fn certain(trigger: Trigger) -> Option<Refusal> {
    Some(Refusal::certain(trigger))
}

const fn ambiguous(trigger: Trigger) -> Option<Refusal> {
    Some(Refusal { trigger, certainty: Certainty::Ambiguous })
}

/// A call that is one piece of work, and one that is two.
const ONE: Work<'_> = Work { surface: Surface::Embeddings, format: Format::Json, body: br#"{"input":"a"}"# };
const TWO: Work<'_> = Work { body: br#"{"input":["a","b"]}"#, ..ONE };

fn answer<'a>(status: u16, head: &'a str, body: &'a str) -> Answer<'a> {
    let (head, body) = (head.as_bytes(), body.as_bytes());
    Answer { phase: Phase::Head, status, head, body, served_remotely: false, work: Some(ONE) }
}

fn event(preset: &Preset, data: &str, work: Work<'_>) -> Option<Refusal> {
    recognise(preset, &[], &Answer { phase: Phase::Prime, work: Some(work), ..answer(200, "", data) })
}

fn in_head(name: &str, rows: &[Row]) {
    let preset = preset(name).expect("the preset is listed");
    for (status, lines, body, wanted) in rows {
        let head = format!("HTTP/1.1 {status} x\r\nserver: x\r\n{lines}\r\n");
        let answer = answer(*status, &head, body);
        assert_eq!(recognise(preset, &[], &answer), *wanted, "{name}: {status} {lines} {body}");
        assert_eq!(
            recognise(preset, &[], &Answer { served_remotely: true, ..answer }),
            None,
            "{name}: somebody else said it"
        );
        assert!(wanted.is_none() || may_refuse(preset, &[], *status), "{name}: {status} is read at all");
    }
}

fn in_events(name: &str, rows: &[(&str, Option<Refusal>)]) {
    let preset = preset(name).expect("the preset is listed");
    assert!(may_hide(preset, &[]), "{name}");
    for (data, wanted) in rows {
        assert_eq!(event(preset, data, ONE), *wanted, "{name}: {data}");
    }
}

#[test]
fn sglang_refuses() {
    in_head(
        "sglang",
        &[
            (
                503,
                "",
                r#"{"object":"error","message":"The request queue is full.","type":"503","param":null,"code":503}"#,
                ambiguous(Saturated),
            ),
            (
                503,
                "",
                r#"{"error":{"message":"The request queue is full.","type":"Service Unavailable","param":null,"code":503}}"#,
                ambiguous(Saturated),
            ),
            (
                503,
                "",
                r#"{"object":"error","message":"The request is aborted by a higher priority request.","code":503}"#,
                ambiguous(Saturated),
            ),
            (503, "", r#"{"object":"error","message":"Request running timeout reached.","code":503}"#, None),
            (503, "", "", None),
            (400, "", r#"{"object":"error","message":"The request queue is full.","code":400}"#, None),
            (500, "", r#"{"object":"error","message":"The request queue is full.","code":500}"#, None),
        ],
    );
    in_events(
        "sglang",
        &[
            (
                r#"{"error":{"object":"error","message":"The request queue is full.","type":"SERVICE_UNAVAILABLE","code":503}}"#,
                ambiguous(Saturated),
            ),
            (
                r#"{"error":{"object":"error","message":"The request is aborted by a higher priority request.","code":503}}"#,
                ambiguous(Saturated),
            ),
            (r#"{"error":{"object":"error","message":"Request waiting timeout reached.","code":503}}"#, None),
            (r#"{"choices":[{"index":0,"delta":{"content":"The request queue is full."}}]}"#, None),
            ("[DONE]", None),
        ],
    );
}

#[test]
fn tei_refuses() {
    in_head(
        "tei",
        &[
            (429, "", r#"{"error":"Model is overloaded","error_type":"Overloaded"}"#, certain(Saturated)),
            (429, "", r#"{"error":"Model is overloaded","error_type":"overloaded"}"#, certain(Saturated)),
            (429, "", r#"{"message":"Model is overloaded","code":429,"type":"Overloaded"}"#, certain(Saturated)),
            (503, "", r#"{"error":"unhealthy","error_type":"Unhealthy"}"#, certain(Unhealthy)),
            (429, "", r#"{"error":{"type":"Overloaded"}}"#, None),
            (429, "", "Model is overloaded", None),
            (424, "", r#"{"error":"Inference failed","error_type":"Backend"}"#, None),
            (413, "", "length limit exceeded", None),
            (422, "", r#"{"error":"inputs must have less than 512 tokens","error_type":"Validation"}"#, None),
            (400, "", r#"{"error":"Batch is empty","error_type":"Empty"}"#, None),
            (503, "", "", None),
        ],
    );
}

#[test]
fn tgi_refuses() {
    in_head(
        "tgi",
        &[
            (429, "", r#"{"error":"Model is overloaded","error_type":"overloaded"}"#, certain(Saturated)),
            (503, "", r#"{"error":"unhealthy","error_type":"healthcheck"}"#, certain(Unhealthy)),
            (424, "", r#"{"error":"Request failed during generation","error_type":"generation"}"#, None),
            (422, "", r#"{"error":"Input validation error","error_type":"validation"}"#, None),
            (429, "", "", None),
        ],
    );
    in_events(
        "tgi",
        &[
            (r#"{"error":"Model is overloaded","error_type":"overloaded"}"#, certain(Saturated)),
            (r#"{"error":{"message":"Model is overloaded","http_status_code":422}}"#, certain(Saturated)),
            (r#"{"error":{"message":"Input validation error","http_status_code":422}}"#, None),
            (r#"{"error":"Request failed during generation","error_type":"generation"}"#, None),
            (r#"{"index":1,"token":{"id":1,"text":"Model is overloaded"},"generated_text":null}"#, None),
        ],
    );
}

#[test]
fn llama_swap_refuses_in_its_own_name_only() {
    const TEXT: &str = "Content-Type: text/plain\r\n";
    in_head(
        "llama_swap",
        &[
            (
                429,
                "Retry-After: 1\r\n",
                r#"{"src":"llama-swap","error":{"message":"Too many requests","type":"rate_limit_error","param":null,"code":"concurrency_limit"}}"#,
                certain(Saturated),
            ),
            (
                503,
                "",
                r#"{"src":"llama-swap","error":{"message":"[m] process is not ready","type":"server_error","param":null,"code":"service_unavailable"}}"#,
                certain(ModelLoading),
            ),
            (503, "", "[m] process is not ready", certain(ModelLoading)),
            (503, TEXT, "llama-swap: [m] process is not ready", certain(ModelLoading)),
            (500, TEXT, "llama-swap: unspecific error: m is shutting down", certain(Unhealthy)),
            (502, TEXT, "llama-swap: peer proxy error: EOF", ambiguous(Unhealthy)),
            (404, TEXT, "llama-swap: no router for requested model", None),
            (500, "", "llama-swap: unspecific error: x", None),
            (500, "", r#"{"src":"llama-swap","error":{"message":"x, unspecific error: y"}}"#, None),
            (
                500,
                "",
                r#"{"src":"llama-swap","error":{"message":"unspecific error: health check timed out","type":"server_error","code":"internal_error"}}"#,
                certain(Unhealthy),
            ),
            (
                502,
                "",
                r#"{"src":"llama-swap","error":{"message":"peer proxy error: EOF","type":"server_error","code":"bad_gateway"}}"#,
                ambiguous(Unhealthy),
            ),
            // What the server behind it says is its own.
            (429, "Retry-After: 1\r\n", r#"{"error":{"message":"x","code":"concurrency_limit"}}"#, None),
            (500, "", r#"{"error":{"message":"unspecific error: x"}}"#, None),
            (502, "", r#"{"error":{"message":"peer proxy error: EOF"}}"#, None),
            (404, "", r#"{"src":"llama-swap","error":{"message":"no router for requested model"}}"#, None),
        ],
    );
}

#[test]
fn ollama_refuses() {
    const BUSY: &str = "server busy, please try again.  maximum pending requests exceeded";
    let native = r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#;
    let openai = r#"{"error":{"message":"server busy, please try again.  maximum pending requests exceeded","type":"api_error","param":null,"code":null}}"#;
    assert!(native.contains(BUSY) && openai.contains(BUSY));
    in_head(
        "ollama",
        &[
            (503, "", native, certain(Saturated)),
            (503, "", openai, certain(Saturated)),
            (500, "", native, certain(Saturated)),
            (500, "", r#"{"error":"timed out waiting for llama-server to start - "}"#, certain(Unhealthy)),
            (
                500,
                "",
                r#"{"error":"model requires more system memory (9.2 GiB) than is available (4.1 GiB)"}"#,
                certain(Saturated),
            ),
            (503, "", r#"{"error":"Server overloaded, please retry shortly"}"#, ambiguous(Saturated)),
            // What a model wrote, quoted.
            (
                500,
                "",
                r#"{"error":"error parsing tool call: raw='server busy, please try again.  maximum pending requests exceeded', err=x"}"#,
                None,
            ),
            (500, "", r#"{"error":"error parsing tool call: raw='timed out waiting for llama', err=x"}"#, None),
            (
                500,
                "",
                r#"{"error":{"message":"error parsing tool call: raw='model requires more system memory', err=x","type":"api_error"}}"#,
                None,
            ),
            (404, "", r#"{"error":"model \"m\" not found, try pulling it first"}"#, None),
            (500, "", r#"{"error":"an error was encountered while running the model"}"#, None),
            (400, "", native, None),
            (503, "", "", None),
        ],
    );
}

#[test]
fn localai_refuses() {
    const WAIT: &str = "Retry-After: 30\r\n";
    in_head(
        "localai",
        &[
            (
                503,
                WAIT,
                r#"{"error":{"code":"model_loading","message":"m is loading","type":"model_loading"},"loading":{"model":"m","state":"staging","progress":0.4}}"#,
                certain(ModelLoading),
            ),
            (
                503,
                WAIT,
                r#"{"error":{"type":"admission_rejected","message":"model \"m\" is at capacity (max_concurrent=2); retry after 1s"}}"#,
                certain(Saturated),
            ),
            (
                503,
                WAIT,
                r#"{"error":{"code":503,"message":"backend inference capacity reached (max_concurrent=8); retry after 1s","type":""}}"#,
                ambiguous(Saturated),
            ),
            (
                503,
                WAIT,
                r#"{"error":{"code":503,"message":"model \"m\" load is in cooldown after a recent failure; retry after 30s","type":""}}"#,
                certain(Unhealthy),
            ),
            // Any of these, opaque.
            (503, "Retry-After: 30\r\nContent-Length: 0\r\n", "", ambiguous(ModelLoading)),
            (
                500,
                "",
                r#"{"error":{"code":500,"message":"could not load model - all backends returned error: x","type":""}}"#,
                certain(Unhealthy),
            ),
            (
                500,
                "",
                r#"{"error":{"code":500,"message":"failed to load model with internal loader: x","type":""}}"#,
                certain(Unhealthy),
            ),
            (
                500,
                "",
                r#"{"error":{"code":500,"message":"grpc service not ready: backend process exited before becoming ready","type":""}}"#,
                certain(Unhealthy),
            ),
            (503, "Content-Length: 0\r\n", "", None),
            (503, WAIT, r#"{"error":{"code":503,"message":"x","type":""}}"#, None),
            (500, "", r#"{"error":{"code":500,"message":"rpc error: code = Unknown","type":""}}"#, None),
            (500, "", "could not load model", None),
            (500, "", r#"{"error":{"code":500,"message":"cannot parse: could not load model","type":""}}"#, None),
            (500, "", r#"{"error":{"code":500,"message":"x failed to load model","type":""}}"#, None),
            (500, "", r#"{"error":{"code":500,"message":"x: grpc service not ready","type":""}}"#, None),
            (404, "", r#"{"error":{"code":"model_loading"}}"#, None),
        ],
    );
}

#[test]
fn lm_studio_refuses() {
    in_head(
        "lm_studio",
        &[
            (
                404,
                "",
                r#"{"error":{"message":"No models loaded. Please load a model in the developer page or use the `lms load` command.","code":"model_not_found"}}"#,
                certain(ModelLoading),
            ),
            (400, "", r#"{"error":"Model is unloaded."}"#, ambiguous(ModelLoading)),
            (404, "", r#"{"error":{"message":"Invalid model identifier","code":"model_not_found"}}"#, None),
            (500, "", r#"{"error":"Model is unloaded."}"#, None),
        ],
    );
}

#[test]
fn infinity_and_mlx_refuse_little() {
    in_head(
        "infinity",
        &[
            (
                429,
                "",
                r#"{"error":{"message":"model org/m is currently overloaded","type":null,"param":null,"code":429}}"#,
                certain(Saturated),
            ),
            (400, "", r#"{"error":{"message":"Invalid model: x","type":null,"param":null,"code":400}}"#, None),
            (429, "", "is currently overloaded", None),
            (429, "", r#"{"error":{"message":"a text that is currently overloaded","code":429}}"#, None),
            (500, "", r#"{"error":{"message":"InternalServerError: is currently overloaded","code":500}}"#, None),
        ],
    );
    in_head(
        "mlx",
        &[
            (404, "", r#"{"error":"No such model"}"#, None),
            (411, "", r#"{"error":"Content-Length header is required"}"#, None),
            (503, "", r#"{"error":"out of memory"}"#, None),
        ],
    );
}

#[test]
fn nothing_that_triton_says_can_be_bridged() {
    in_head(
        "triton",
        &[
            (503, "", r#"{"error":"Request for unknown model: 'm' version 2 is not at ready state"}"#, None),
            (
                503,
                "",
                r#"{"error":"in ensemble 'e', Request for unknown model: 'm' version 2 is not at ready state"}"#,
                None,
            ),
        ],
    );
}

#[test]
fn kserve_and_what_stands_before_it_refuse() {
    const TEXT: &str = "Content-Type: text/plain; charset=utf-8\r\n";
    const HTML: &str = "Content-Type: text/html; charset=UTF-8\r\n";
    in_head(
        "kserve",
        &[
            (503, "", r#"{"error":"Model with name m is not ready."}"#, certain(ModelLoading)),
            (503, HTML, "<html><title>503: Model with name m is not ready.</title></html>", certain(ModelLoading)),
            (503, TEXT, "pending request queue full\n", certain(Saturated)),
            (503, TEXT, "context deadline exceeded\n", certain(Provisioning)),
            (503, TEXT, "no healthy upstream", certain(Provisioning)),
            (
                503,
                TEXT,
                "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure, transport failure reason: x",
                certain(Provisioning),
            ),
            // An earlier try may have arrived.
            (
                503,
                TEXT,
                "upstream connect error or disconnect/reset before headers. retried and the latest reset reason: remote connection failure, transport failure reason: x",
                None,
            ),
            (503, TEXT, "no healthy upstream. retried and the latest reset reason: x", None),
            // What a step of an inference graph says of another.
            (503, "", r#"{"error":"step 2: Model with name m is not ready."}"#, None),
            (503, TEXT, "Model with name m is not ready.", None),
            // The connection was there, and the request may have been too.
            (
                503,
                TEXT,
                "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
                None,
            ),
            (503, "Content-Type: application/json\r\n", r#"{"error":"context deadline exceeded"}"#, None),
            (504, TEXT, "activator request timeout\n", None),
            (502, TEXT, "dial tcp: connection refused", None),
            (404, "", r#"{"error":"Model with name m does not exist."}"#, None),
            (500, "", r#"{"error":"Model with name m is not ready."}"#, None),
        ],
    );
}

#[derive(serde::Deserialize)]
struct Recorded {
    preset: String,
    source: String,
    note: String,
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
    trigger: Option<String>,
    certain: bool,
}

#[test]
fn real_servers_refuse_as_recorded() {
    let recorded: Vec<Recorded> =
        serde_json::from_str(include_str!("fixtures/recorded_refusals.json")).expect("the fixture is JSON");
    for Recorded { preset: name, source, note, status, headers, body, trigger, certain } in recorded {
        let preset = preset(&name).expect("the preset is listed");
        let head: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let answer = answer(status, &head, &body);
        let certainty = if certain { Certainty::Certain } else { Certainty::Ambiguous };
        let wanted = trigger.map(|token| Refusal {
            trigger: Trigger::from_token(&token).unwrap_or_else(|| panic!("{token} is a trigger")),
            certainty,
        });
        assert_eq!(recognise(preset, &[], &answer), wanted, "{source}: {note}");
    }
}

#[test]
fn an_answer_that_says_nothing_is_no_refusal_of_any_engine() {
    for name in NAMES {
        let preset = preset(name).expect("the preset is listed");
        for status in [400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 500, 502, 503, 504] {
            for (head, body) in [("", ""), ("content-type: text/html\r\n", "<html></html>"), ("", "{}"), ("", "null")] {
                let answer = answer(status, head, body);
                assert_eq!(recognise(preset, &[], &answer), None, "{name}: {status} {body:?}");
            }
        }
    }
}

/// What is refused of a call that is several requests to the engine may come after some of them ran.
#[test]
fn a_part_of_a_call_is_not_certainly_refused_whole() {
    const TGI: &str = r#"{"error":"Model is overloaded","error_type":"overloaded"}"#;
    for (name, status, body, trigger) in [
        (
            "vllm",
            503,
            r#"{"error":{"message":"The engine is currently busy and cannot accept new requests. x","type":"Service Unavailable"}}"#,
            Saturated,
        ),
        (
            "vllm",
            503,
            r#"{"error":{"message":"The engine has reached its prefill token backlog limit. x","type":"Service Unavailable"}}"#,
            Saturated,
        ),
        (
            "vllm",
            503,
            r#"{"error":{"message":"Generation is paused. x","type":"ServiceUnavailableError"}}"#,
            ModelLoading,
        ),
        ("tgi", 429, TGI, Saturated),
        ("localai", 503, r#"{"error":{"code":"model_loading"}}"#, ModelLoading),
        ("localai", 500, r#"{"error":{"message":"could not load model: x"}}"#, Unhealthy),
        (
            "localai",
            503,
            r#"{"error":{"message":"model \"m\" load is in cooldown after a recent failure"}}"#,
            Unhealthy,
        ),
    ] {
        let preset = preset(name).expect("the preset is listed");
        let answer = answer(status, "", body);
        assert_eq!(recognise(preset, &[], &answer), certain(trigger), "{name}: {body}");
        for work in [Some(TWO), None] {
            assert_eq!(recognise(preset, &[], &Answer { work, ..answer }), ambiguous(trigger), "{name}: {body}");
        }
    }
    let paused = r#"{"error":{"message":"Generation is paused. x","type":"ServiceUnavailableError","code":503}}"#;
    for (name, data, trigger) in [("vllm", paused, ModelLoading), ("tgi", TGI, Saturated)] {
        let preset = preset(name).expect("the preset is listed");
        assert_eq!(
            (event(preset, data, ONE), event(preset, data, TWO)),
            (certain(trigger), ambiguous(trigger)),
            "{name}"
        );
    }
    // These are refused before any part of them is looked at.
    for (name, status, body, trigger) in [
        ("vllm", 503, r#"{"error":"The model is currently scaling. Please try again later."}"#, Provisioning),
        ("tei", 429, r#"{"message":"Model is overloaded","code":429,"type":"Overloaded"}"#, Saturated),
        ("localai", 503, r#"{"error":{"type":"admission_rejected","message":"x"}}"#, Saturated),
    ] {
        let preset = preset(name).expect("the preset is listed");
        let whole = Answer { work: Some(TWO), ..answer(status, "", body) };
        assert_eq!(recognise(preset, &[], &whole), certain(trigger), "{name}: {body}");
    }
}

#[test]
fn what_sies_own_upstream_says_is_no_refusal() {
    in_head(
        "sie",
        &[
            (
                503,
                "X-SIE-Error-Code: MODEL_LOADING\r\nRetry-After: 5\r\n",
                r#"{"error":{"code":"MODEL_LOADING","message":"The model is loading on its upstream, please retry"}}"#,
                None,
            ),
            (
                503,
                "X-SIE-Error-Code: QUEUE_FULL\r\n",
                r#"{"error":{"code":"QUEUE_FULL","message":"The upstream serving the model is rate_limited, please retry"}}"#,
                None,
            ),
            (
                503,
                "",
                r#"{"detail":{"code":"MODEL_LOADING","message":"Model 'm' is loading on its upstream, please retry"}}"#,
                None,
            ),
            (
                503,
                "",
                r#"{"detail":{"code":"MODEL_LOADING","message":"Model 'm' is loading, please retry"}}"#,
                certain(ModelLoading),
            ),
        ],
    );
}
