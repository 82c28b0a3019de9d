//! How does infinity refuse (engines 2.6)?

use super::{Health, Launch, Listens, Origin, Preset, Queue, Wake, Watch};
use crate::refusal::Rule;
use spillway_policies::Trigger;

const SERVER: Origin = Origin::read("infinity fcb951c, infinity_emb/infinity_server.py");

// It loads before it binds its port. Its idle limit is uvicorn's 5 s.
pub(super) static PRESET: Preset = Preset {
    name: "infinity",
    port: 7_997,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    sleep: None,
    watch: Watch {
        listens: Listens::Loaded,
        health: Some(Health { path: "/health", loading: &[], origin: SERVER }),
        queue: Some(Queue {
            path: "/models",
            // What it calls pending holds what waits too.
            running: &[],
            waiting: &["/data/*/stats/queue_absolute"],
            wakes: false,
            origin: SERVER,
        }),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["infinity_emb"],
        port_variable: "INFINITY_PORT",
        host_variable: "INFINITY_HOST",
        model_flags: &["--model-id"],
        revision_flags: &["--revision"],
        dtype_flags: &["--dtype"],
        progress: &["creating batching engine", "ready to batch requests"],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

static RULES: &[Rule] = &[Rule {
    status: statuses![429],
    json: pairs!["/error/code" => "429", "/error/message" => "model *"],
    text: texts!["is currently overloaded"],
    trigger: Some(Trigger::Saturated),
    origin: SERVER,
    ..Rule::HEAD
}];
