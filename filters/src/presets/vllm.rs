//! How does vLLM refuse (engines 2.1)?

use super::{Call, Flag, Health, Launch, Listens, Method, Origin, Preset, Queue, Sleep, Wake, Watch};
use crate::refusal::{Claim, Rule};
use spillway_policies::Trigger;

const EXCEPTIONS: Origin = Origin::read("vLLM 0.33.0, vllm/exceptions.py and serve/exception_handling");
const SCALING: Origin = Origin::read("vLLM 0.33.0, serve/elastic_ep/middleware.py");
const CORE: Origin = Origin::read("vLLM 0.33.0, v1/engine/core.py and async_llm.py, traced and not run");
const SLEEP: Origin = Origin::read("vLLM 0.33.0, serve/dev/sleep/api_router.py; only with VLLM_SERVER_DEV_MODE=1");

// The process's start is its load. Sleep and wake need its unauthenticated developer mode; its idle limit is uvicorn's 5 s. Left to its
// default, sleep aborts what runs. What comes while it sleeps is queued until it is woken.
pub(super) static PRESET: Preset = Preset {
    name: "vllm",
    port: 8000,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    sleep: Some(Sleep {
        sleep: Call { method: Method::Post, path: "/sleep?level=1&mode=wait", body: "", already: None, origin: SLEEP },
        wake: Some(Call { method: Method::Post, path: "/wake_up", body: "", already: None, origin: SLEEP }),
        per_model: false,
    }),
    watch: Watch {
        listens: Listens::Loaded,
        health: Some(Health {
            path: "/health",
            loading: &[],
            origin: Origin::read("vLLM 0.33.0, serve/instrumentator/health.py"),
        }),
        queue: Some(Queue {
            path: "/metrics",
            running: &["vllm:num_requests_running"],
            waiting: &["vllm:num_requests_waiting"],
            wakes: false,
            origin: Origin::read("vLLM 0.33.0, serve/instrumentator/metrics.py"),
        }),
        asleep: Some(Flag { path: "/is_sleeping", pointer: "/is_sleeping", origin: SLEEP }),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["vllm", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main"],
        // VLLM_PORT is a port for its own processes.
        port_variable: "",
        socket_flags: &["--uds"],
        // `vllm serve MODEL`.
        model_flags: &["serve", "--model"],
        revision_flags: &["--revision"],
        dtype_flags: &["--dtype"],
        progress: &[
            "Starting to load model",
            "checkpoint shards:",
            "Loading weights took",
            "Model loading took",
            "torch.compile takes",
            "KV cache memory",
            "Capturing CUDA graphs",
            "Graph capturing finished",
            "init engine",
        ],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

// A list of inputs, or a search, is one request to the core for each: some may have run when a later one is refused.
static RULES: &[Rule] = &[
    Rule {
        status: statuses![503],
        json: pairs![
            "/error/type" => "Service Unavailable",
            "/error/message" => "The engine is currently busy and cannot accept new requests*",
        ],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::CertainOfOnePiece,
        origin: EXCEPTIONS,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs![
            "/error/type" => "Service Unavailable",
            "/error/message" => "The engine has reached its prefill token backlog limit*",
        ],
        trigger: Some(Trigger::Saturated),
        certainty: Claim::CertainOfOnePiece,
        origin: EXCEPTIONS,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error/type" => "ServiceUnavailableError", "/error/message" => PAUSED],
        trigger: Some(Trigger::ModelLoading),
        certainty: Claim::CertainOfOnePiece,
        origin: CORE,
        ..Rule::HEAD
    },
    // These two come before the call is read, with a string where the error object stands otherwise.
    Rule {
        status: statuses![503],
        json: pairs!["/error" => "The model is currently scaling*"],
        trigger: Some(Trigger::Provisioning),
        origin: SCALING,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error" => "This data-parallel rank has been retired*"],
        trigger: Some(Trigger::Unhealthy),
        origin: SCALING,
        ..Rule::HEAD
    },
    // The engine core died; it may have been in the middle of this request.
    Rule {
        status: statuses![500],
        json: pairs![
            "/error/type" => "InternalServerError",
            "/error/message" => "The server had an error while processing your request*",
        ],
        trigger: Some(Trigger::Unhealthy),
        certainty: Claim::Ambiguous,
        origin: EXCEPTIONS,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![500],
        json: pairs!["/error/type" => "InternalServerError", "/error/message" => "EngineCore encountered an issue*"],
        trigger: Some(Trigger::Unhealthy),
        certainty: Claim::Ambiguous,
        origin: EXCEPTIONS,
        ..Rule::HEAD
    },
    // A paused engine core rejects streamed calls after the 200 went out.
    Rule {
        json: pairs!["/error/type" => "ServiceUnavailableError", "/error/code" => "503", "/error/message" => PAUSED],
        trigger: Some(Trigger::ModelLoading),
        certainty: Claim::CertainOfOnePiece,
        origin: CORE,
        ..Rule::PRIME
    },
    // A draining engine core aborts what it is given before it runs, and what runs when its patience is over or it is paused.
    Rule {
        json: pairs![
            "/choices/0/finish_reason" => "abort",
            "/choices/1" => "",
            "/choices/0/text" => "",
            "/choices/0/delta/content" => "",
            "/choices/0/delta/reasoning" => "",
            "/choices/0/delta/reasoning_content" => "",
            "/choices/0/delta/tool_calls" => "",
            "/choices/0/message/content" => "",
            "/choices/0/message/reasoning" => "",
            "/choices/0/message/reasoning_content" => "",
            "/choices/0/message/tool_calls" => "",
        ],
        trigger: Some(Trigger::Unhealthy),
        certainty: Claim::Ambiguous,
        origin: CORE,
        ..Rule::PRIME
    },
];

const PAUSED: &str = "Generation is paused*";
