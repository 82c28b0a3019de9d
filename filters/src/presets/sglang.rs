//! How does SGLang refuse (engines 2.2)?

use super::{Health, Launch, Listens, Origin, Preset, Queue, Wake, Watch};
use crate::refusal::{Claim, Rule};
use spillway_policies::Trigger;

const SERVER: Origin = Origin::read("SGLang 0.5.23, srt/entrypoints/http_server.py");
const SCHEDULER: Origin = Origin::read("SGLang 0.5.23, srt/managers/scheduler.py");
const STREAMED: Origin = Origin::read("SGLang 0.5.23, srt/entrypoints/openai/serving_base.py, traced and not run");

// It binds its port when the weights are there, and takes requests while it warms up. Its idle limit is uvicorn's 5 s.
pub(super) static PRESET: Preset = Preset {
    name: "sglang",
    port: 30_000,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    // Its memory can be released over HTTP, and a request that is there at that moment ends the server: its process is ended instead.
    sleep: None,
    watch: Watch {
        listens: Listens::Loaded,
        // Its own `/health` generates a token on an idle server unless SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION is off, and `/ready` is
        // new. This one is in every version and asks the scheduler nothing; when that ends, the server does.
        health: Some(Health { path: "/v1/models", loading: &[], origin: SERVER }),
        queue: Some(Queue {
            path: "/metrics",
            running: &["sglang:num_running_reqs"],
            waiting: &["sglang:num_queue_reqs"],
            wakes: false,
            origin: Origin::read("SGLang 0.5.23, metrics; only with --enable-metrics"),
        }),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["sglang", "sglang.launch_server", "launch_server.py"],
        port_variable: "",
        model_flags: &["--model-path", "--model"],
        revision_flags: &["--revision"],
        dtype_flags: &["--dtype"],
        progress: &[
            "Load weight begin",
            "checkpoint shards:",
            "Load weight end",
            "KV Cache is allocated",
            "Capture cuda graph",
            "The server is fired up",
        ],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

// Nothing here is certain: a request that was retracted in the middle of its work stands in the same queue and ends in the same words. A
// message about a queue or running timeout is not even that.
static RULES: &[Rule] = &[
    Rule {
        status: statuses![503],
        // The responses surface wraps its errors.
        any_json: pairs!["/message" => FULL, "/error/message" => FULL],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::Ambiguous,
        origin: SCHEDULER,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        any_json: pairs!["/message" => OUTRANKED, "/error/message" => OUTRANKED],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::Ambiguous,
        origin: SCHEDULER,
        ..Rule::HEAD
    },
    Rule {
        json: pairs!["/error/message" => FULL],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::Ambiguous,
        origin: STREAMED,
        ..Rule::PRIME
    },
    Rule {
        json: pairs!["/error/message" => OUTRANKED],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::Ambiguous,
        origin: STREAMED,
        ..Rule::PRIME
    },
];

const FULL: &str = "The request queue is full.";
const OUTRANKED: &str = "The request is aborted by a higher priority request.";
