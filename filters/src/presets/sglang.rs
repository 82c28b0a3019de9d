//! How does SGLang refuse (engines 2.2)?

use super::{Call, Health, Launch, Listens, Method, Origin, Preset, Queue, Sleep, Wake, Watch};
use crate::refusal::Rule;
use spillway_policies::Trigger;

const SERVER: Origin = Origin::read("SGLang 0.5.23, srt/entrypoints/http_server.py");
const MEMORY: Origin =
    Origin::read("SGLang 0.5.23, srt/entrypoints/http_server.py; frees memory only with --enable-memory-saver");
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
    sleep: Some(Sleep {
        sleep: Call {
            method: Method::Post,
            path: "/release_memory_occupation",
            body: "{}",
            already: None,
            origin: MEMORY,
        },
        wake: Some(Call {
            method: Method::Post,
            path: "/resume_memory_occupation",
            body: "{}",
            already: None,
            origin: MEMORY,
        }),
        per_model: false,
    }),
    watch: Watch {
        // Before 0.5.23 each probe of an idle server generates a token.
        every_ms: 5_000,
        eager_ms: 500,
        listens: Listens::Loaded,
        health: Some(Health { path: "/health", loading: &[], origin: SERVER }),
        models: None,
        queue: Some(Queue {
            path: "/metrics",
            running: &["sglang:num_running_reqs"],
            waiting: &["sglang:num_queue_reqs"],
            wakes: false,
            origin: Origin::read("SGLang 0.5.23, metrics; only with --enable-metrics"),
        }),
        asleep: None,
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

// A message about a queue or running timeout is no refusal: the work may have run.
static RULES: &[Rule] = &[
    Rule {
        status: statuses![503],
        // The responses surface wraps its errors.
        any_json: pairs!["/message" => FULL, "/error/message" => FULL],
        trigger: Some(Trigger::Saturated),
        origin: SCHEDULER,
        ..Rule::HEAD
    },
    // It was only queued.
    Rule {
        status: statuses![503],
        any_json: pairs!["/message" => OUTRANKED, "/error/message" => OUTRANKED],
        trigger: Some(Trigger::Saturated),
        origin: SCHEDULER,
        ..Rule::HEAD
    },
    Rule { json: pairs!["/error/message" => FULL], trigger: Some(Trigger::Saturated), origin: STREAMED, ..Rule::PRIME },
    Rule {
        json: pairs!["/error/message" => OUTRANKED],
        trigger: Some(Trigger::Saturated),
        origin: STREAMED,
        ..Rule::PRIME
    },
];

const FULL: &str = "The request queue is full.";
const OUTRANKED: &str = "The request is aborted by a higher priority request.";
