//! How does llama.cpp's server refuse when it serves one model (engines 2.4)?

use super::{Flag, Health, Launch, Listens, Origin, Preset, Queue, Wake, Watch};
use crate::refusal::Rule;
use spillway_policies::Trigger;

pub(super) const RECORDED: Origin = Origin::seen("llama-server 7e4c0a9, filters/tests/fixtures");
const SEEN_LOADING: Origin = Origin::seen("llama-server 7e4c0a9, conformance/realparts");

pub(super) static PRESET: Preset = Preset {
    name: "llama_cpp",
    port: 8080,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    sleep: None,
    watch: Watch {
        listens: Listens::First,
        // Its 503 says "Loading model" and nothing else, also when it wakes.
        health: Some(Health { path: "/health", loading: &[503], origin: SEEN_LOADING }),
        queue: Some(Queue {
            path: "/metrics",
            running: &["llamacpp:requests_processing"],
            waiting: &["llamacpp:requests_deferred"],
            wakes: true,
            origin: Origin::seen("llama-server 7e4c0a9, recorded run with --metrics"),
        }),
        // With `--sleep-idle-seconds`. No call wakes it: a request does, or asking for its queue.
        asleep: Some(Flag {
            path: "/props",
            pointer: "/is_sleeping",
            origin: Origin::seen("llama-server 7e4c0a9, recorded run with --sleep-idle-seconds"),
        }),
        ..Watch::USUAL
    },
    launch: Launch {
        only_with: &[
            "--embd-gemma-default",
            "--fim-qwen-1.5b-default",
            "--fim-qwen-3b-default",
            "--fim-qwen-7b-default",
            "--fim-qwen-30b-default",
            "--gpt-oss-20b-default",
            "--gpt-oss-120b-default",
            "--vision-gemma-4b-default",
            "--vision-gemma-12b-default",
            "-m",
            "--model",
            "-mu",
            "--model-url",
            "-dr",
            "--docker-repo",
            "-hf",
            "-hfr",
            "--hf-repo",
            "-hff",
            "--hf-file",
            "$LLAMA_ARG_MODEL",
            "$LLAMA_ARG_MODEL_URL",
            "$LLAMA_ARG_DOCKER_REPO",
            "$LLAMA_ARG_HF_REPO",
        ],
        ..LAUNCH
    },
    validates_first: false,
};

pub(super) const LAUNCH: Launch = Launch {
    programs: &["llama-server"],
    port_flags: &["--port"],
    port_variable: "LLAMA_ARG_PORT",
    host_variable: "LLAMA_ARG_HOST",
    model_flags: &["-m", "--model", "-hf", "-hfr", "--hf-repo", "-mu", "--model-url", "-dr", "--docker-repo"],
    progress: &["load_model: ", "llama_server: model loaded", "\"state\":\"loading\""],
    ..Launch::UNKNOWN
};

// There is no rule for a full server: it defers requests without bound.
static RULES: &[Rule] = &[LOADING, NO_SLOT];

pub(super) const LOADING: Rule = Rule {
    status: statuses![503],
    json: pairs!["/error/type" => "unavailable_error", "/error/message" => "Loading model"],
    trigger: Some(Trigger::ModelLoading),
    origin: SEEN_LOADING,
    ..Rule::HEAD
};

pub(super) const NO_SLOT: Rule = Rule {
    status: statuses![503],
    json: pairs!["/error/type" => "unavailable_error", "/error/message" => "no slot available"],
    trigger: Some(Trigger::Saturated),
    origin: RECORDED,
    ..Rule::HEAD
};
