//! How does an OpenAI-compatible server refuse whose make is not known?
//!
//! No status or text means the same on every such server, so nothing but a refused connection is a refusal here; operators add rules.

use super::{Preset, Wake};

pub(super) static PRESET: Preset = Preset {
    name: "openai",
    port: 8000,
    rules: &[],
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::None,
    validates_first: false,
};
