//! What does each engine tell of itself, and what must not be concluded from it?

/// What is known of one engine.
pub(super) struct Known {
    /// What it is asked.
    pub(super) asks: &'static [Ask],
    /// How its weights are told.
    pub(super) weights: Weights,
    /// It computes everything on the GPU that it holds. Otherwise nobody can tell how it is shared with the CPU.
    pub(super) is_whole_on_gpu: bool,
    /// Flags and variables (written `$NAME`) with which the weights are others than the model's.
    pub(super) weights_not_with: &'static [&'static str],
    /// As above, the tokenizer.
    pub(super) tokenizer_not_with: &'static [&'static str],
    /// As above, the number format.
    pub(super) dtype_not_with: &'static [&'static str],
    /// As above: it computes on other machines too.
    pub(super) device_not_with: &'static [&'static str],
}

/// How the weights of an engine are told.
pub(super) enum Weights {
    /// By the digest of a file that also holds the tokenizer.
    Gguf,
    /// By a revision of the hub: one that the engine states and loads exactly, or the one of its command.
    Hub {
        /// The revision that it states is the one it has loaded.
        states_revision: bool,
    },
    /// It serves several models, or does not tell.
    Many,
}

/// One question, and where its answer has what: JSON pointers, empty where it lacks it.
pub(super) struct Ask {
    /// GET; the first that is answered with 200 counts.
    pub(super) paths: &'static [&'static str],
    pub(super) version: &'static str,
    pub(super) build: &'static str,
    pub(super) model: &'static str,
    pub(super) revision: &'static str,
    pub(super) dtype: &'static str,
    /// The weights are the model's only if these are so: a text, or empty for absent, null, false or an empty list.
    pub(super) settled_if: &'static [(&'static str, &'static str)],
}

impl Ask {
    const NOTHING: Self =
        Self { paths: &[], version: "", build: "", model: "", revision: "", dtype: "", settled_if: &[] };
}

const NOTHING: Known = Known {
    asks: &[],
    weights: Weights::Many,
    is_whole_on_gpu: false,
    weights_not_with: &[],
    tokenizer_not_with: &[],
    dtype_not_with: &[],
    device_not_with: &[],
};

/// What is known of the engine of a preset. SIE tells the identity of each model itself; its OpenAPI version is a constant.
pub(super) fn of(preset: &str) -> &'static Known {
    match preset {
        "infinity" => &INFINITY,
        "kserve" | "triton" => &OPEN_INFERENCE,
        "llama_cpp" => &LLAMA_CPP,
        "llama_cpp_router" => &LLAMA_CPP_ROUTER,
        "llama_swap" => &LLAMA_SWAP,
        "localai" => &LOCALAI,
        "ollama" => &OLLAMA,
        "sglang" => &SGLANG,
        "tei" => &TEI,
        "tgi" => &TGI,
        "vllm" => &VLLM,
        _ => &NOTHING,
    }
}

// llama-server b1-7e4c0a9 as it runs: `build_info` is `b1-7e4c0a9`, `model_path` is as it was given.
static LLAMA_CPP: Known = Known {
    asks: &[
        Ask { paths: &["/props"], version: "/build_info", model: "/model_path", ..Ask::NOTHING },
        // The whole answer is the list of adapters.
        Ask { paths: &["/lora-adapters"], settled_if: &[("", "")], ..Ask::NOTHING },
    ],
    weights: Weights::Gguf,
    weights_not_with: &[
        "--lora*",
        "--control-vector*",
        "--override-kv",
        "--rope-*",
        "--yarn-*",
        "$LLAMA_ARG_ROPE_*",
        "$LLAMA_ARG_YARN_*",
    ],
    dtype_not_with: &["-ctk", "-ctv", "--cache-type-*", "$LLAMA_ARG_CACHE_TYPE_*"],
    device_not_with: &["--rpc", "$LLAMA_ARG_RPC"],
    ..NOTHING
};

// The same server; its `model_path` is `none`.
static LLAMA_CPP_ROUTER: Known =
    Known { asks: &[Ask { paths: &["/props"], version: "/build_info", ..Ask::NOTHING }], ..NOTHING };

// vLLM 0.11.0, openai/serving_models.py and api_server.py: a second entry is an adapter, or another name.
static VLLM: Known = Known {
    asks: &[
        Ask { paths: &["/version"], version: "/version", ..Ask::NOTHING },
        Ask { paths: &["/v1/models"], model: "/data/0/root", settled_if: &[("/data/1", "")], ..Ask::NOTHING },
    ],
    weights: Weights::Hub { states_revision: false },
    is_whole_on_gpu: true,
    weights_not_with: &[
        "--config",
        "--enable-lora",
        "--hf-overrides",
        "--load-format",
        "--lora-modules",
        "--model-loader-extra-config",
        "$VLLM_USE_MODELSCOPE",
    ],
    tokenizer_not_with: &["--tokenizer*"],
    dtype_not_with: &["-q", "--quantization", "--kv-cache-dtype", "--hf-overrides"],
    device_not_with: &[
        "--nnodes",
        "--node-rank",
        "--distributed-executor-backend",
        "--data-parallel-*",
        "$RAY_ADDRESS",
    ],
};

// SGLang 0.5.23, http_server.py; older ones know only the second path. `model_info` follows a change of the weights while it runs.
static SGLANG: Known = Known {
    asks: &[
        Ask {
            paths: &["/server_info", "/get_server_info"],
            version: "/version",
            dtype: "/dtype",
            settled_if: &[("/lora_paths", ""), ("/enable_lora", ""), ("/json_model_override_args", "{}")],
            ..Ask::NOTHING
        },
        Ask {
            paths: &["/model_info", "/get_model_info"],
            model: "/model_path",
            settled_if: &[("/weight_version", "default"), ("/load_format", "auto")],
            ..Ask::NOTHING
        },
    ],
    weights: Weights::Hub { states_revision: false },
    is_whole_on_gpu: true,
    weights_not_with: &["--config", "--load-format", "$SGLANG_USE_MODELSCOPE"],
    tokenizer_not_with: &["--tokenizer-path", "--tokenizer-mode"],
    dtype_not_with: &["--quantization", "--torchao-config", "--kv-cache-dtype"],
    device_not_with: &["--nnodes", "--dist-init-addr", "--cpu-offload-gb"],
};

// TEI 0d124dc, router/src/lib.rs: `model_sha` is the revision it was told, which is what it loads.
static TEI: Known = Known {
    asks: &[Ask {
        paths: &["/info"],
        version: "/version",
        build: "/sha",
        model: "/model_id",
        revision: "/model_sha",
        dtype: "/model_dtype",
        ..Ask::NOTHING
    }],
    weights: Weights::Hub { states_revision: true },
    is_whole_on_gpu: true,
    ..NOTHING
};

// TGI db931fcf, router/src/server.rs: `model_sha` is what the hub says now, not what was loaded, so only the command counts.
static TGI: Known = Known {
    asks: &[Ask { paths: &["/info"], version: "/version", build: "/sha", model: "/model_id", ..Ask::NOTHING }],
    weights: Weights::Hub { states_revision: false },
    is_whole_on_gpu: true,
    weights_not_with: &["--lora-adapters", "$LORA_ADAPTERS"],
    tokenizer_not_with: &["--tokenizer-config-path", "$TOKENIZER_CONFIG_PATH"],
    dtype_not_with: &["--quantize", "--kv-cache-dtype", "$QUANTIZE", "$KV_CACHE_DTYPE"],
    ..NOTHING
};

// infinity_server.py: the version of its OpenAPI document is the package's.
static INFINITY: Known = Known {
    asks: &[Ask { paths: &["/openapi.json"], version: "/info/version", ..Ask::NOTHING }],
    weights: Weights::Hub { states_revision: false },
    ..NOTHING
};

// ollama, server/routes.go.
static OLLAMA: Known =
    Known { asks: &[Ask { paths: &["/api/version"], version: "/version", ..Ask::NOTHING }], ..NOTHING };

// LocalAI, core/http/routes/localai.go: `VERSION (COMMIT)`.
static LOCALAI: Known = Known { asks: &[Ask { paths: &["/version"], version: "/version", ..Ask::NOTHING }], ..NOTHING };

// llama-swap, internal/server/apigroup.go.
static LLAMA_SWAP: Known = Known {
    asks: &[Ask { paths: &["/api/version"], version: "/version", build: "/commit", ..Ask::NOTHING }],
    ..NOTHING
};

// Server metadata of the Open Inference Protocol: triton core/src/tritonserver.cc, kserve protocol/dataplane.py.
static OPEN_INFERENCE: Known =
    Known { asks: &[Ask { paths: &["/v2"], version: "/version", ..Ask::NOTHING }], ..NOTHING };

/// Whether a version says which build it is: `dev`, `0.0.0`, `b0-unknown` and a changed work tree do not.
pub(super) fn is_definite(version: &str) -> bool {
    let lower = version.to_ascii_lowercase();
    version.len() <= 100
        && version.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        && version.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
        && !["unknown", "dirty", "untracked", "n/a"].iter().any(|word| lower.contains(word))
        && !has_date_of_a_change(&lower)
}

/// setuptools-scm marks a changed work tree with `.dYYYYMMDD`.
fn has_date_of_a_change(version: &str) -> bool {
    let is_date = |part: &str| {
        part.strip_prefix('d').is_some_and(|date| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
    };
    version.split(['.', '+', '-']).any(is_date)
}

/// A number format that is one, by its usual name; none for `auto`.
pub(super) fn dtype(stated: &str) -> Option<String> {
    match stated.to_ascii_lowercase().trim_start_matches("torch.") {
        "bfloat16" => Some("bfloat16".into()),
        "float16" | "half" => Some("float16".into()),
        "float32" | "float" => Some("float32".into()),
        _ => None,
    }
}
