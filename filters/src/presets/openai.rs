//! How does an OpenAI-compatible server refuse whose make is not known?
//!
//! No status or text means the same on every such server, so nothing but a refused connection is a refusal here; operators add rules.
//! Its health is not asked either: there is no path that all of them have.

use super::{Launch, Listens, Preset, Wake, Watch};

pub(super) static PRESET: Preset = Preset {
    name: "openai",
    port: 8000,
    rules: &[],
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    sleep: None,
    watch: Watch { listens: Listens::Loaded, ..Watch::USUAL },
    launch: Launch::UNKNOWN,
    validates_first: false,
};
