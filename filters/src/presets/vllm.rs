//! How does vLLM refuse (engines 2.1)?

use super::{Health, Launch, Listens, Origin, Preset, Wake, Watch};
use crate::refusal::Rule;
use spillway_policies::Trigger;
use spillway_policies::refusal::Certainty;

// Waking a sleeping server needs its unauthenticated developer mode, so there is no wake call; its idle limit is uvicorn's 5 s.
pub(super) static PRESET: Preset = Preset {
    name: "vllm",
    port: 8000,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    sleep: None,
    watch: Watch {
        every_ms: 2_000,
        eager_ms: 200,
        listens: Listens::Loaded,
        health: Some(Health {
            path: "/health",
            loading: &[],
            origin: Origin::read("vLLM 0.33.0, serve/instrumentator/health.py"),
        }),
        models: None,
        queue: None,
        asleep: None,
    },
    launch: Launch::UNKNOWN,
    validates_first: false,
};

static RULES: &[Rule] = &[
    Rule {
        status: statuses![503],
        json: pairs!["/error/type" => "Service Unavailable"],
        text: texts!["currently busy and cannot accept new requests"],
        trigger: Some(Trigger::Saturated),
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error/type" => "Service Unavailable"],
        text: texts!["prefill token backlog limit"],
        trigger: Some(Trigger::Saturated),
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error/type" => "ServiceUnavailableError"],
        text: texts!["Generation is paused"],
        trigger: Some(Trigger::ModelLoading),
        ..Rule::HEAD
    },
    // These two have a string where the error object stands otherwise.
    Rule {
        status: statuses![503],
        json: pairs!["/error" => "*"],
        text: texts!["The model is currently scaling"],
        trigger: Some(Trigger::Provisioning),
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error" => "*"],
        text: texts!["This data-parallel rank has been retired"],
        trigger: Some(Trigger::Unhealthy),
        ..Rule::HEAD
    },
    // The engine core died; it may have been in the middle of this request.
    Rule {
        status: statuses![500],
        json: pairs!["/error/type" => "InternalServerError"],
        text: texts!["The server had an error while processing your request"],
        trigger: Some(Trigger::Unhealthy),
        certainty: Certainty::Ambiguous,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![500],
        json: pairs!["/error/type" => "InternalServerError"],
        text: texts!["EngineCore encountered an issue"],
        trigger: Some(Trigger::Unhealthy),
        certainty: Certainty::Ambiguous,
        ..Rule::HEAD
    },
    // A paused engine core rejects streamed calls after the 200 went out.
    Rule {
        json: pairs!["/error/type" => "ServiceUnavailableError", "/error/code" => "503"],
        trigger: Some(Trigger::ModelLoading),
        ..Rule::PRIME
    },
    // A draining engine core aborts what it is given before it runs.
    Rule {
        json: pairs![
            "/choices/0/finish_reason" => "abort",
            "/choices/1" => "",
            "/choices/0/text" => "",
            "/choices/0/delta/content" => "",
            "/choices/0/delta/reasoning" => "",
            "/choices/0/delta/reasoning_content" => "",
            "/choices/0/delta/tool_calls" => "",
            "/choices/0/message/content" => "",
            "/choices/0/message/reasoning" => "",
            "/choices/0/message/reasoning_content" => "",
            "/choices/0/message/tool_calls" => "",
        ],
        trigger: Some(Trigger::Unhealthy),
        ..Rule::PRIME
    },
];
