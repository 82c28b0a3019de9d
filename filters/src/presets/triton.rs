//! How is Triton seen and told to load over its own HTTP surface (engines 2.6)?
//!
//! What it says on `/v2/models/{m}/infer` is no refusal: nobody else serves that path, so such a call is never bridged.

use super::{Call, Health, Launch, Listens, Method, ModelList, Origin, Preset, Sleep, Wake, Watch};
use spillway_policies::State;

const HTTP: Origin = Origin::read("Triton server e1db8a603, src/http_server.cc");
const CONTROL: Origin =
    Origin::read("Triton server e1db8a603, src/http_server.cc; only with --model-control-mode=explicit");

// It loads what it is told to at its start before it binds its port.
pub(super) static PRESET: Preset = Preset {
    name: "triton",
    port: 8_000,
    rules: &[],
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::Call {
        call: Call {
            method: Method::Post,
            path: "/v2/repository/models/$model/load",
            body: "{}",
            already: None,
            origin: CONTROL,
        },
        blocks: true,
    },
    sleep: Some(Sleep {
        sleep: Call {
            method: Method::Post,
            path: "/v2/repository/models/$model/unload",
            body: "{}",
            already: None,
            origin: CONTROL,
        },
        wake: None,
        per_model: true,
    }),
    watch: Watch {
        listens: Listens::Loaded,
        // `ready` would say that the whole server is not when one of its models loads.
        health: Some(Health { path: "/v2/health/live", loading: &[], origin: HTTP }),
        models: Some(MODELS),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["tritonserver"],
        port_flags: &["--http-port"],
        port_variable: "",
        host_flags: &["--http-address"],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

// One entry for each version of a model; one that was never loaded has no state. Triton refuses by itself what is not loaded.
const MODELS: ModelList = ModelList {
    call: Call { method: Method::Post, path: "/v2/repository/index", body: "{}", already: None, origin: HTTP },
    list: "",
    names: &["/name"],
    state: "/state",
    states: &[
        ("READY", State::Ready),
        ("LOADING", State::Loading),
        ("UNLOADING", State::Absent),
        ("UNAVAILABLE", State::Absent),
    ],
    failed: "",
    unlisted: None,
    optional_ending: "",
    never_listed: &[],
    gates: false,
};
