//! How does llama.cpp's server refuse in router mode, where it starts one child per model (engines 2.4)?

use super::llama_cpp::{LAUNCH, LOADING, NO_SLOT, RECORDED};
use super::{Already, Call, Health, Listens, Method, ModelList, Origin, Preset, Sleep, Wake, Watch};
use crate::refusal::{Claim, Rule};
use spillway_policies::{State, Trigger};

const SOURCE: Origin = Origin::read("llama.cpp of September 2026, tools/server/server-models.cpp");

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
            origin: RECORDED,
        },
        blocks: false,
    },
    sleep: Some(Sleep {
        sleep: Call {
            method: Method::Post,
            path: "/models/unload",
            body: r#"{"model":"$model"}"#,
            already: Some(Already { status: 400, text: "model is not running" }),
            origin: RECORDED,
        },
        wake: None,
        per_model: true,
    }),
    watch: Watch {
        listens: Listens::First,
        // Says that the router is up, and nothing of any model.
        health: Some(Health {
            path: "/health",
            loading: &[],
            origin: Origin::seen("llama-server 7e4c0a9, recorded run"),
        }),
        models: Some(MODELS),
        // `/metrics` is a child's, and asking keeps that child awake.
        ..Watch::USUAL
    },
    launch: LAUNCH,
    validates_first: false,
};

const MODELS: ModelList = ModelList {
    call: Call { method: Method::Get, path: "/models", body: "", already: None, origin: RECORDED },
    list: "/data",
    names: &["/id", "/aliases/*"],
    state: "/status/value",
    states: &[
        ("downloading", State::Loading),
        ("downloaded", State::Absent),
        ("unloaded", State::Absent),
        ("loading", State::Loading),
        ("loaded", State::Ready),
        // A request wakes it. Nothing else does: to a load call it is "already running".
        ("sleeping", State::Ready),
    ],
    failed: "/status/failed",
    unlisted: None,
    optional_ending: "",
    never_listed: &[],
    gates: true,
};

static RULES: &[Rule] = &[
    // A child that still loads answers as the single-model server does.
    Rule { origin: SOURCE, ..LOADING },
    Rule { origin: SOURCE, ..NO_SLOT },
    Rule {
        status: statuses![400],
        json: pairs!["/error/type" => "invalid_request_error", "/error/message" => "model is not loaded"],
        trigger: Some(Trigger::ModelLoading),
        origin: RECORDED,
        ..Rule::HEAD
    },
    // Unloaded between the router's look-up and its use.
    Rule {
        status: statuses![400],
        json: pairs!["/error/message" => "model name=*"],
        text: texts![" is not running"],
        trigger: Some(Trigger::ModelLoading),
        origin: SOURCE,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![500],
        json: pairs!["/error/type" => "server_error", "/error/message" => "model name=*"],
        text: texts![" failed to load"],
        trigger: Some(Trigger::Unhealthy),
        origin: RECORDED,
        ..Rule::HEAD
    },
    // The child died or refused; it may have read the request.
    Rule {
        status: statuses![500],
        text: texts!["proxy error: "],
        trigger: Some(Trigger::Unhealthy),
        certainty: Claim::Ambiguous,
        origin: SOURCE,
        ..Rule::HEAD
    },
];
