//! How does llama-swap refuse, which starts another server for each model (engines 2.5)?

use super::{Call, Health, Launch, Listens, Method, ModelList, Origin, Preset, Sleep, Wake, Watch};
use crate::refusal::{Claim, Rule};
use spillway_policies::{State, Trigger};
use std::borrow::Cow;

const ERRORS: Origin = Origin::read("llama-swap 0bdb3720, internal/swaputil/http.go and httperror.go");
const API: Origin = Origin::read("llama-swap 0bdb3720, internal/server/api.go");

// It holds a request until the model's server is ready, for as long as its healthCheckTimeout.
pub(super) static PRESET: Preset = Preset {
    name: "llama_swap",
    port: 8_080,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::Call {
        call: Call { method: Method::Get, path: "/upstream/$model/health", body: "", already: None, origin: API },
        blocks: true,
    },
    sleep: Some(Sleep {
        sleep: Call {
            method: Method::Post,
            path: "/api/models/unload/$model",
            body: "",
            already: None,
            origin: Origin::read("llama-swap 0bdb3720, internal/server/apigroup.go"),
        },
        wake: None,
        per_model: true,
    }),
    watch: Watch {
        listens: Listens::First,
        // Says that llama-swap is up, and nothing of any model.
        health: Some(Health { path: "/health", loading: &[], origin: API }),
        models: Some(MODELS),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["llama-swap"],
        port_flags: &["--listen", "-listen"],
        port_variable: "",
        host_flags: &["--listen", "-listen"],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

const MODELS: ModelList = ModelList {
    call: Call { method: Method::Get, path: "/running", body: "", already: None, origin: API },
    list: "/running",
    names: &["/model"],
    state: "/state",
    states: &[
        ("starting", State::Loading),
        ("ready", State::Ready),
        ("stopping", State::Absent),
        ("stopped", State::Absent),
        // It is never started again.
        ("shutdown", State::Draining),
    ],
    failed: "",
    unlisted: Some(State::Absent),
    optional_ending: "",
    never_listed: &[],
    gates: true,
};

// `src` tells its own errors from those of the servers behind it. A caller who accepts `text/plain` gets them as text.
static RULES: &[Rule] = &[
    Rule {
        status: statuses![429],
        json: pairs!["/src" => SRC, "/error/code" => "concurrency_limit"],
        trigger: Some(Trigger::Saturated),
        origin: ERRORS,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/src" => SRC],
        text: texts!["process is not ready"],
        trigger: Some(Trigger::ModelLoading),
        origin: ERRORS,
        ..Rule::HEAD
    },
    // The model's server did not start, or not in time.
    Rule {
        status: statuses![500],
        json: pairs!["/src" => SRC, "/error/message" => "unspecific error:*"],
        trigger: Some(Trigger::Unhealthy),
        origin: ERRORS,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![502],
        json: pairs!["/src" => SRC, "/error/message" => "peer proxy error*"],
        trigger: Some(Trigger::Unhealthy),
        certainty: Claim::Ambiguous,
        origin: ERRORS,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![500],
        content_type: Some(Cow::Borrowed("text/plain")),
        text: texts!["llama-swap: unspecific error:"],
        trigger: Some(Trigger::Unhealthy),
        origin: ERRORS,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![502],
        content_type: Some(Cow::Borrowed("text/plain")),
        text: texts!["llama-swap: peer proxy error"],
        trigger: Some(Trigger::Unhealthy),
        certainty: Claim::Ambiguous,
        origin: ERRORS,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        content_type: Some(Cow::Borrowed("text/plain")),
        text: texts!["llama-swap: [", "process is not ready"],
        trigger: Some(Trigger::ModelLoading),
        origin: ERRORS,
        ..Rule::HEAD
    },
    // Older ones always answer so.
    Rule {
        status: statuses![503],
        text: texts!["process is not ready"],
        trigger: Some(Trigger::ModelLoading),
        origin: Origin::inferred("the same text without `src`, as before its error envelope"),
        ..Rule::HEAD
    },
];

const SRC: &str = "llama-swap";
