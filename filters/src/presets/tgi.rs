//! How does Text Generation Inference refuse (engines 2.3)?

use super::{Health, Launch, Listens, Origin, Preset, Queue, Wake, Watch};
use crate::refusal::{Claim, Rule};
use spillway_policies::Trigger;

const SERVER: Origin = Origin::read("TGI db931fcf, router/src/server.rs and infer/mod.rs");
const STREAMED: Origin = Origin::read("TGI db931fcf, router/src/infer/mod.rs, traced and not run");

// It binds its port when the shards are warm.
pub(super) static PRESET: Preset = Preset {
    name: "tgi",
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
            running: &["tgi_batch_current_size"],
            waiting: &["tgi_queue_size"],
            wakes: false,
            origin: Origin::read("TGI db931fcf, backends/v3/src/backend.rs and queue.rs"),
        }),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["text-generation-launcher", "text-generation-router"],
        port_flags: &["--port", "-p"],
        // HOSTNAME too, but that is mostly the name of a container, with which it listens everywhere.
        host_flags: &["--hostname"],
        model_flags: &["--model-id"],
        revision_flags: &["--revision"],
        dtype_flags: &["--dtype"],
        progress: &[
            "Starting check and download process",
            "Downloaded ",
            "Successfully downloaded weights",
            "Starting shard",
            "Waiting for shard to be ready",
            "Shard ready in",
            "Starting Webserver",
            "Warming up model",
        ],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

// A stream is refused after its 200 went out. 424 is a failure in the middle of the work. Each prompt of a list is refused by itself.
static RULES: &[Rule] = &[
    Rule {
        status: statuses![429],
        json: pairs!["/error_type" => "overloaded"],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::CertainOfOnePiece,
        origin: SERVER,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error_type" => "healthcheck"],
        trigger: Some(Trigger::Unhealthy),
        origin: SERVER,
        ..Rule::HEAD
    },
    Rule {
        json: pairs!["/error_type" => "overloaded"],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::CertainOfOnePiece,
        origin: STREAMED,
        ..Rule::PRIME
    },
    // The OpenAI surface says 422 in every such event, so only its message tells.
    Rule {
        json: pairs!["/error/message" => "Model is overloaded"],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::CertainOfOnePiece,
        origin: STREAMED,
        ..Rule::PRIME
    },
];
