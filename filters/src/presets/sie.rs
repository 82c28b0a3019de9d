//! How does SIE refuse: the single node, and the gateway in front of a cluster (contract section 2, engines 2.7)?
//!
//! Only the code decides. It may stand in `X-SIE-Error-Code`, which wins, or in one of three places of the body. A transcription hides its
//! code, so there the state of the model decides. What SIE's own upstream said is none: `X-SIE-Served-By: remote` tells it, for every engine
//! and before any rule, and through a gateway's queue, where that header is lost, the words do.

use super::{Call, Health, Launch, Listens, Method, ModelList, Origin, Preset, Wake, Watch};
use crate::refusal::{Claim, Rule, Veiled};
use spillway_policies::{State, Surface, Trigger};

const RECORDED: Origin = Origin::seen("sie-server 0.10.1, filters/tests/fixtures");
const AUDIO: Origin = Origin::seen("sie-server 0.10.1, conformance/realparts");
const SERVER: Origin = Origin::read("SIE 0.10.1, sie-server and gateway");
const UPSTREAM: Origin = Origin::read("sie-server 0.10.1, sie_server/queue_executor.py and api/helpers.py");
const APRIL: Origin = Origin::read("SIE of April 2026 (8634c1b7), sie_gateway/src/handlers/proxy.rs");
const APRIL_SERVER: Origin = Origin::read("SIE of April 2026 (8634c1b7), sie_server/api/openai_compat.py");

pub(super) static PRESET: Preset = Preset {
    name: "sie",
    port: 8080,
    rules: RULES,
    veiled: VEILED,
    idle_ms: 4_000,
    wake: Wake::ByRefusal,
    sleep: None,
    watch: Watch {
        listens: Listens::First,
        health: Some(Health { path: "/readyz", loading: &[], origin: RECORDED }),
        models: Some(MODELS),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["sie-server", "sie_server.cli", "sie_server"],
        port_flags: &["--port", "-p"],
        port_variable: "",
        ..Launch::UNKNOWN
    },
    validates_first: true,
};

// Shown and not acted on: only a refused request starts a load.
const MODELS: ModelList = ModelList {
    call: Call { method: Method::Get, path: "/v1/models", body: "", already: None, origin: RECORDED },
    list: "/models",
    names: &["/name"],
    state: "/state",
    states: &[
        ("available", State::Absent),
        ("loading", State::Loading),
        ("loaded", State::Ready),
        ("unloading", State::Absent),
        ("failed", State::Unhealthy),
    ],
    failed: "",
    unlisted: None,
    optional_ending: "",
    never_listed: &[],
    gates: false,
};

const CODE: &str = "x-sie-error-code";

/// A code in the header.
macro_rules! header_rule {
    ($status:expr, $code:expr, $trigger:expr) => {
        Rule {
            status: statuses![$status],
            header: pairs![CODE => $code],
            trigger: $trigger,
            origin: SERVER,
            ..Rule::HEAD
        }
    };
}

/// A code in the body.
macro_rules! body_rule {
    ($status:expr, $code:expr, $trigger:expr, $origin:expr) => {
        Rule {
            status: statuses![$status],
            any_json: pairs!["/error/code" => $code, "/detail/code" => $code, "/detail/error/code" => $code],
            trigger: $trigger,
            origin: $origin,
            ..Rule::HEAD
        }
    };
}

static RULES: &[Rule] = &[
    Rule { text: texts!["is loading on its upstream"], origin: UPSTREAM, ..Rule::HEAD },
    Rule { text: texts!["The upstream serving"], origin: UPSTREAM, ..Rule::HEAD },
    // A gateway of April 2026 gave up waiting for a result: the work item was published and may still run.
    Rule {
        status: statuses![503],
        any_json: pairs!["/error/code" => "MODEL_LOADING"],
        text: texts!["did not respond within"],
        trigger: Some(Trigger::ModelLoading),
        certainty: Claim::Ambiguous,
        origin: APRIL,
        ..Rule::HEAD
    },
    // A publish that the queue turned away under load; without a wait it may have been published after all.
    Rule {
        status: statuses![503],
        header: pairs![CODE => "QUEUE_UNAVAILABLE", "retry-after" => "*"],
        trigger: Some(Trigger::Saturated),
        origin: SERVER,
        ..Rule::HEAD
    },
    header_rule!(503, "PROVISIONING", Some(Trigger::Provisioning)),
    header_rule!(503, "MODEL_LOADING", Some(Trigger::ModelLoading)),
    header_rule!(503, "MODEL_NOT_LOADED", Some(Trigger::ModelLoading)),
    header_rule!(503, "QUEUE_FULL", Some(Trigger::Saturated)),
    header_rule!(502, "MODEL_LOAD_FAILED", Some(Trigger::Unhealthy)),
    // Any other code in the header is no refusal, whatever the body says.
    Rule { header: pairs![CODE => "*"], origin: SERVER, ..Rule::HEAD },
    // Inference was attempted and ran out of memory: never a refusal.
    body_rule!(503, "RESOURCE_EXHAUSTED", None, RECORDED),
    body_rule!(503, "PROVISIONING", Some(Trigger::Provisioning), SERVER),
    body_rule!(503, "MODEL_LOADING", Some(Trigger::ModelLoading), RECORDED),
    body_rule!(503, "MODEL_NOT_LOADED", Some(Trigger::ModelLoading), SERVER),
    body_rule!(503, "QUEUE_FULL", Some(Trigger::Saturated), SERVER),
    body_rule!(502, "MODEL_LOAD_FAILED", Some(Trigger::Unhealthy), RECORDED),
    body_rule!(503, "model_not_available", Some(Trigger::Unhealthy), APRIL_SERVER),
    Rule {
        status: statuses![503],
        header: pairs!["retry-after" => "*"],
        any_json: pairs!["/error/code" => "QUEUE_UNAVAILABLE", "/detail/code" => "QUEUE_UNAVAILABLE"],
        trigger: Some(Trigger::Saturated),
        origin: SERVER,
        ..Rule::HEAD
    },
    // Any other code in the body is no refusal either; what follows are answers of April 2026, which have none.
    Rule {
        any_json: pairs!["/error/code" => "*", "/detail/code" => "*", "/detail/error/code" => "*"],
        origin: SERVER,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![202],
        json: pairs!["/status" => "provisioning"],
        trigger: Some(Trigger::Provisioning),
        origin: APRIL,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        header: pairs!["retry-after" => "*"],
        json: pairs!["/message" => "*"],
        text: texts!["Queue publish failed", "no consumers"],
        trigger: Some(Trigger::Provisioning),
        origin: APRIL,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        header: pairs!["retry-after" => "*"],
        json: pairs!["/message" => "*"],
        text: texts!["Queue publish failed", "backpressure"],
        trigger: Some(Trigger::Saturated),
        origin: APRIL,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/message" => "*"],
        text: texts!["Queue publish failed"],
        trigger: Some(Trigger::Unhealthy),
        certainty: Claim::Ambiguous,
        origin: APRIL,
        ..Rule::HEAD
    },
];

/// Every 5xx of a transcription says `transport_failure`, whatever code was behind it.
macro_rules! hidden_rule {
    ($status:expr, $origin:expr) => {
        Rule {
            status: statuses![$status],
            json: pairs!["/error/code" => "transport_failure", "/error/type" => "server_error"],
            origin: $origin,
            ..Rule::HEAD
        }
    };
}

/// A veil over a transcription's answer.
macro_rules! veiled {
    ($when:expr, [$($state:expr => $trigger:expr),* $(,)?] $(,)?) => {
        Veiled {
            surface: Surface::Audio,
            when: $when,
            states: &[$(($state, $trigger)),*],
            unless: OF_A_GATEWAY,
        }
    };
}

/// What a gateway adds to the description of a model (contract section 1.5). `transport_failure` is a code of its own there: what was to be
/// done may have been handed on.
const OF_A_GATEWAY: &[&str] = &["id", "pending_generation"];

/// What can be behind it: 502 is MODEL_LOAD_FAILED alone. A 503 with a wait is MODEL_LOADING, which leaves the model loading; or QUEUE_FULL
/// or RESOURCE_EXHAUSTED, where it is loaded, or being unloaded under the same shortage of memory: work may have been done, so no state but
/// loading tells them apart. A 503 without a wait is MODEL_NOT_LOADED alone; by now that model may be gone, or on its way back.
static VEILED: &[Veiled] = &[
    // A code in the header hides nothing.
    veiled!(Rule { header: pairs![CODE => "*"], origin: SERVER, ..Rule::HEAD }, []),
    veiled!(hidden_rule!(502, SERVER), ["failed" => Trigger::Unhealthy]),
    veiled!(
        Rule { header: pairs!["retry-after" => "*"], ..hidden_rule!(503, AUDIO) },
        ["failed" => Trigger::Unhealthy, "loading" => Trigger::ModelLoading],
    ),
    veiled!(
        hidden_rule!(503, SERVER),
        [
            "available" => Trigger::ModelLoading,
            "failed" => Trigger::Unhealthy,
            "loading" => Trigger::ModelLoading,
            "unloading" => Trigger::ModelLoading,
        ],
    ),
];
