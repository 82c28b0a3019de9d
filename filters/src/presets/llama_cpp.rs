//! How does llama.cpp's server refuse when it serves one model (engines 2.4)?

use super::{Health, Launch, Listens, Origin, Preset, Wake, Watch};
use crate::refusal::Rule;
use spillway_policies::Trigger;

pub(super) static PRESET: Preset = Preset {
    name: "llama_cpp",
    port: 8080,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
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

// There is no rule for a full server: it defers requests without bound.
static RULES: &[Rule] = &[LOADING, NO_SLOT];

pub(super) const LOADING: Rule = Rule {
    status: statuses![503],
    json: pairs!["/error/type" => "unavailable_error", "/error/message" => "Loading model"],
    trigger: Some(Trigger::ModelLoading),
    ..Rule::HEAD
};

pub(super) const NO_SLOT: Rule = Rule {
    status: statuses![503],
    json: pairs!["/error/type" => "unavailable_error", "/error/message" => "no slot available"],
    trigger: Some(Trigger::Saturated),
    ..Rule::HEAD
};
