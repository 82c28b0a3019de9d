//! How does mlx-lm's server refuse (engines 2.6)?
//!
//! It does not: a request for another model waits until that is loaded, and whatever goes wrong has the same answer.

use super::{Health, Launch, Listens, Origin, Preset, Wake, Watch};

pub(super) static PRESET: Preset = Preset {
    name: "mlx",
    port: 8_080,
    rules: &[],
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    sleep: None,
    watch: Watch {
        listens: Listens::First,
        health: Some(Health { path: "/health", loading: &[], origin: Origin::read("mlx-lm 0.32.2, mlx_lm/server.py") }),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["mlx_lm.server", "mlx_lm"],
        port_variable: "",
        model_flags: &["--model"],
        progress: &["Fetching "],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};
