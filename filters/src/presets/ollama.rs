//! How does Ollama refuse (engines 2.5)?

use super::{Call, Health, Launch, Listens, Method, ModelList, Origin, Preset, Sleep, Wake, Watch};
use crate::refusal::{Claim, Rule};
use spillway_policies::{State, Trigger};

const SCHEDULER: Origin = Origin::read("Ollama fb3076099, server/sched.go and routes.go");
const ROUTES: Origin = Origin::read("Ollama fb3076099, server/routes.go");

// It holds a request until its model is loaded. A model that is loaded queues without bound.
pub(super) static PRESET: Preset = Preset {
    name: "ollama",
    port: 11_434,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::Call {
        // Without an input this only loads, whatever kind of model it is. `/api/generate` does the same, and refuses embedding models.
        call: Call {
            method: Method::Post,
            path: "/api/embed",
            body: r#"{"model":"$model"}"#,
            already: None,
            origin: ROUTES,
        },
        blocks: true,
    },
    sleep: Some(Sleep {
        sleep: Call {
            method: Method::Post,
            path: "/api/generate",
            body: r#"{"model":"$model","keep_alive":0}"#,
            already: None,
            origin: ROUTES,
        },
        wake: None,
        per_model: true,
    }),
    watch: Watch {
        listens: Listens::First,
        health: Some(Health { path: "/api/version", loading: &[], origin: ROUTES }),
        models: Some(MODELS),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["ollama"],
        port_flags: &[],
        port_variable: "OLLAMA_HOST",
        host_flags: &[],
        host_variable: "OLLAMA_HOST",
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

// A model is listed as soon as its load has begun; while one loads with the MLX runner the list may not answer, and then nothing is known.
// What runs in Ollama's cloud is never listed.
const MODELS: ModelList = ModelList {
    call: Call { method: Method::Get, path: "/api/ps", body: "", already: None, origin: ROUTES },
    list: "/models",
    names: &["/name", "/model"],
    state: "",
    states: &[],
    failed: "",
    unlisted: Some(State::Absent),
    optional_ending: ":latest",
    never_listed: &[":cloud", "-cloud"],
    gates: true,
};

static RULES: &[Rule] = &[
    // Both surfaces have the text, before version 0.1.34 with status 500.
    Rule {
        status: statuses![500, 503],
        any_json: pairs!["/error" => BUSY, "/error/message" => BUSY],
        trigger: Some(Trigger::Saturated),
        origin: SCHEDULER,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![500],
        any_json: pairs!["/error" => TIMED_OUT, "/error/message" => TIMED_OUT],
        trigger: Some(Trigger::Unhealthy),
        origin: Origin::read("Ollama fb3076099, llm/llama_server.go"),
        ..Rule::HEAD
    },
    Rule {
        status: statuses![500],
        any_json: pairs!["/error" => TOO_LARGE, "/error/message" => TOO_LARGE],
        trigger: Some(Trigger::Saturated),
        origin: Origin::inferred("a text of older versions that fb3076099 no longer has"),
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        any_json: pairs!["/error" => OVERLOADED, "/error/message" => OVERLOADED],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::Ambiguous,
        origin: Origin::inferred("its cloud's answer for cloud models, known from reports"),
        ..Rule::HEAD
    },
];

const BUSY: &str = "server busy, please try again.  maximum pending requests exceeded";
const TIMED_OUT: &str = "timed out waiting for llama*";
const TOO_LARGE: &str = "model requires more system memory*";
const OVERLOADED: &str = "Server overloaded, please retry shortly*";
