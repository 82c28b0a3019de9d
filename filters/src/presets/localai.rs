//! How does LocalAI refuse (engines 2.5)?

use super::{Call, Health, Launch, Listens, Method, ModelList, Origin, Preset, Sleep, Wake, Watch};
use crate::refusal::{Claim, Rule};
use spillway_policies::{State, Trigger};

const APP: Origin = Origin::read("LocalAI 82c191afa, core/http/app.go");
const LOADER: Origin = Origin::read("LocalAI 82c191afa, pkg/model/loader.go and initializers.go");

// A single node holds a request until its model is loaded; a cluster refuses when its time to wait is over.
pub(super) static PRESET: Preset = Preset {
    name: "localai",
    port: 8_080,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::Call {
        call: Call {
            method: Method::Post,
            path: "/backend/load",
            body: r#"{"model":"$model"}"#,
            already: None,
            origin: Origin::read("LocalAI 82c191afa, core/http/endpoints/localai/backend_load.go; for administrators"),
        },
        blocks: true,
    },
    sleep: Some(Sleep {
        sleep: Call {
            method: Method::Post,
            path: "/backend/shutdown",
            body: r#"{"model":"$model"}"#,
            already: None,
            origin: Origin::read(
                "LocalAI 82c191afa, core/http/endpoints/localai/backend_monitor.go; for administrators",
            ),
        },
        wake: None,
        per_model: true,
    }),
    watch: Watch {
        listens: Listens::First,
        // 503 while it prepares itself, and only then.
        health: Some(Health {
            path: "/readyz",
            loading: &[503],
            origin: Origin::read("LocalAI 82c191afa, core/http/routes/health.go"),
        }),
        models: Some(MODELS),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["local-ai", "localai"],
        port_flags: &["--address"],
        port_variable: "LOCALAI_ADDRESS",
        host_flags: &["--address"],
        host_variable: "LOCALAI_ADDRESS",
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

const MODELS: ModelList = ModelList {
    call: Call {
        method: Method::Get,
        path: "/system",
        body: "",
        already: None,
        origin: Origin::read("LocalAI 82c191afa, core/http/endpoints/localai/system.go; for administrators"),
    },
    list: "/loaded_models",
    names: &["/id"],
    state: "",
    states: &[],
    failed: "",
    unlisted: Some(State::Absent),
    optional_ending: "",
    never_listed: &[],
    gates: true,
};

/// A load that failed before the input was handed on. Each input of a list looks for its model again.
macro_rules! load_failure {
    ($text:expr) => {
        Rule {
            status: statuses![500],
            json: pairs!["/error/message" => $text],
            trigger: Some(Trigger::Unhealthy),
            certainty: Claim::CertainOfOnePiece,
            origin: LOADER,
            ..Rule::HEAD
        }
    };
}

static RULES: &[Rule] = &[
    Rule {
        status: statuses![503],
        json: pairs!["/error/code" => "model_loading"],
        trigger: Some(Trigger::ModelLoading),
        certainty: Claim::CertainOfOnePiece,
        origin: APP,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error/type" => "admission_rejected"],
        trigger: Some(Trigger::Saturated),
        origin: Origin::read("LocalAI 82c191afa, core/http/middleware/admission.go"),
        ..Rule::HEAD
    },
    // Also when it tries again, after an answer that it did not like.
    Rule {
        status: statuses![503],
        json: pairs!["/error/message" => "backend inference capacity reached*"],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::Ambiguous,
        origin: Origin::read("LocalAI 82c191afa, core/backend/global_admission.go"),
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error/message" => "model *"],
        text: texts!["load is in cooldown after a recent failure"],
        trigger: Some(Trigger::Unhealthy),
        certainty: Claim::CertainOfOnePiece,
        origin: LOADER,
        ..Rule::HEAD
    },
    // With opaque errors all of these have no body. Loading is the one that says least about the engine.
    Rule {
        status: statuses![503],
        header: pairs!["retry-after" => "*", "content-length" => "0"],
        trigger: Some(Trigger::ModelLoading),
        certainty: Claim::Ambiguous,
        origin: APP,
        ..Rule::HEAD
    },
    load_failure!("could not load model*"),
    load_failure!("failed to load model*"),
    load_failure!("grpc service not ready*"),
];
