//! Refusals of the engines that engines 2.2, 2.3, 2.5 and 2.6 describe, row by row with near misses; and of real servers, as recorded.

use spillway_filters::presets::{NAMES, preset};
use spillway_filters::refusal::{Answer, Phase, may_hide, may_refuse, recognise, recognise_event};
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

fn in_head(name: &str, rows: &[Row]) {
    let preset = preset(name).expect("the preset is listed");
    for (status, lines, body, wanted) in rows {
        let head = format!("HTTP/1.1 {status} x\r\nserver: x\r\n{lines}\r\n");
        let answer = Answer { phase: Phase::Head, status: *status, head: head.as_bytes(), body: body.as_bytes() };
        assert_eq!(recognise(preset, &[], &answer), *wanted, "{name}: {status} {lines} {body}");
        assert!(wanted.is_none() || may_refuse(preset, &[], *status), "{name}: {status} is read at all");
    }
}

fn in_events(name: &str, rows: &[(&str, Option<Refusal>)]) {
    let preset = preset(name).expect("the preset is listed");
    assert!(may_hide(preset, &[]), "{name}");
    for (data, wanted) in rows {
        assert_eq!(recognise_event(preset, &[], data.as_bytes()), *wanted, "{name}: {data}");
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
                certain(Saturated),
            ),
            (
                503,
                "",
                r#"{"error":{"message":"The request queue is full.","type":"Service Unavailable","param":null,"code":503}}"#,
                certain(Saturated),
            ),
            (
                503,
                "",
                r#"{"object":"error","message":"The request is aborted by a higher priority request.","code":503}"#,
                certain(Saturated),
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
                certain(Saturated),
            ),
            (
                r#"{"error":{"object":"error","message":"The request is aborted by a higher priority request.","code":503}}"#,
                certain(Saturated),
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
            (503, "", r#"{"error":"Server overloaded, please retry shortly"}"#, certain(Saturated)),
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
                certain(Saturated),
            ),
            (
                503,
                WAIT,
                r#"{"error":{"code":503,"message":"model \"m\" load is in cooldown after a recent failure; retry after 30s","type":""}}"#,
                certain(Unhealthy),
            ),
            (503, "Retry-After: 30\r\nContent-Length: 0\r\n", "", certain(ModelLoading)),
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
            (400, "", r#"{"error":"Model is unloaded."}"#, certain(ModelLoading)),
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
fn triton_refuses() {
    in_head(
        "triton",
        &[
            (
                503,
                "",
                r#"{"error":"Request for unknown model: 'm' version 2 is not at ready state"}"#,
                certain(ModelLoading),
            ),
            (404, "", r#"{"error":"Request for unknown model: 'm' has no available versions"}"#, certain(ModelLoading)),
            (404, "", r#"{"error":"Identifier of model 'm' is not found in global map"}"#, certain(ModelLoading)),
            (503, "", r#"{"error":"[request id: 7] Exceeds maximum queue size"}"#, certain(Saturated)),
            (404, "", r#"{"error":"Request for unknown model: 'm' is not found"}"#, None),
            (400, "", r#"{"error":"Request for unknown model: 'm' is not found"}"#, None),
            (400, "", r#"{"error":"Model version not ready"}"#, None),
            (500, "", r#"{"error":"Exceeds maximum queue size"}"#, None),
            (503, "", r#"{"error":"Server exiting"}"#, None),
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
        let answer = Answer { phase: Phase::Head, status, head: head.as_bytes(), body: body.as_bytes() };
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
                let answer = Answer { phase: Phase::Head, status, head: head.as_bytes(), body: body.as_bytes() };
                assert_eq!(recognise(preset, &[], &answer), None, "{name}: {status} {body:?}");
            }
        }
    }
}
