//! How does Text Embeddings Inference refuse (engines 2.3)?

use super::{Health, Launch, Listens, Origin, Preset, Queue, Wake, Watch};
use crate::refusal::Rule;
use spillway_policies::Trigger;

const SERVER: Origin = Origin::read("TEI 0d124dc, router/src/http/server.rs and types.rs");

// It warms up before it binds its port. On `/v1/embeddings` a list has its place in the queue text by text before any of them runs; older
// versions let a list wait instead. Its own paths, which nobody else serves, take each text by itself.
pub(super) static PRESET: Preset = Preset {
    name: "tei",
    port: 3_000,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    sleep: None,
    watch: Watch {
        listens: Listens::Loaded,
        health: Some(Health { path: "/health", loading: &[], origin: SERVER }),
        queue: Some(Queue {
            path: "/metrics",
            running: &[],
            waiting: &["te_queue_size"],
            wakes: false,
            origin: Origin::read("TEI 0d124dc, core/src/queue.rs"),
        }),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["text-embeddings-router"],
        port_flags: &["--port", "-p"],
        // HOSTNAME too, but that is mostly the name of a container, with which it listens everywhere.
        host_flags: &["--hostname"],
        model_flags: &["--model-id"],
        revision_flags: &["--revision"],
        dtype_flags: &["--dtype"],
        progress: &[
            "Starting download",
            "Downloading `",
            "downloaded in",
            "Starting model backend",
            "finish warmup for batch",
            "Warming up model",
            "Ready",
        ],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

// The types are written with a capital, and documented without.
static RULES: &[Rule] = &[
    Rule {
        status: statuses![429],
        // Its OpenAI surface has other members, and no wrapper around them.
        any_json: pairs!["/error_type" => "Overloaded", "/type" => "Overloaded"],
        trigger: Some(Trigger::Saturated),
        origin: SERVER,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error_type" => "Unhealthy"],
        trigger: Some(Trigger::Unhealthy),
        origin: SERVER,
        ..Rule::HEAD
    },
];
