//! How does llama.cpp's server refuse in router mode, where it starts one child per model (engines 2.4)?

use super::llama_cpp::{LOADING, NO_SLOT};
use super::{Already, Call, Health, Launch, Listens, Method, Origin, Preset, Wake, Watch};
use crate::refusal::Rule;
use spillway_policies::Trigger;
use spillway_policies::refusal::Certainty;

pub(super) static PRESET: Preset = Preset {
    name: "llama_cpp_router",
    port: 8080,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::Call {
        call: Call {
            method: Method::Post,
            path: "/models/load",
            body: r#"{"model":"$model"}"#,
            already: Some(Already { status: 400, text: "already running" }),
            origin: Origin::read("llama.cpp of September 2026, tools/server/server-models.cpp"),
        },
        blocks: false,
    },
    sleep: None,
    watch: Watch {
        every_ms: 2_000,
        eager_ms: 200,
        listens: Listens::First,
        health: Some(Health {
            path: "/health",
            loading: &[],
            origin: Origin::seen("llama-server, conformance/realparts"),
        }),
        models: None,
        queue: None,
        asleep: None,
    },
    launch: Launch::UNKNOWN,
    validates_first: false,
};

static RULES: &[Rule] = &[
    // A child that still loads answers as the single-model server does.
    LOADING,
    NO_SLOT,
    Rule {
        status: statuses![400],
        json: pairs!["/error/type" => "invalid_request_error", "/error/message" => "model is not loaded"],
        trigger: Some(Trigger::ModelLoading),
        ..Rule::HEAD
    },
    // Unloaded between the router's look-up and its use.
    Rule {
        status: statuses![400],
        json: pairs!["/error/message" => "*"],
        text: texts!["model name=", " is not running"],
        trigger: Some(Trigger::ModelLoading),
        ..Rule::HEAD
    },
    Rule {
        status: statuses![500],
        json: pairs!["/error/type" => "server_error"],
        text: texts!["model name=", " failed to load"],
        trigger: Some(Trigger::Unhealthy),
        ..Rule::HEAD
    },
    // The child died or refused; it may have read the request.
    Rule {
        status: statuses![500],
        text: texts!["proxy error: "],
        trigger: Some(Trigger::Unhealthy),
        certainty: Certainty::Ambiguous,
        ..Rule::HEAD
    },
];
