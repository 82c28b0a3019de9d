//! What does an engine's answer to a probe say about its state? The tables are the preset's ([`Watch`](crate::presets::Watch)).
