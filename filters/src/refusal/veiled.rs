//! Which answers hide why the engine refuses, and what does the state of its model say instead?

use super::evidence::Evidence;
use super::{Answer, Rule};
use crate::answer::{Content, Members};
use crate::presets::Preset;
use spillway_policies::{Refusal, Surface, Trigger};

/// An answer that does not say why: the engine is asked for the state of its model, and that decides (contract section 0 item 10).
#[derive(Clone, Debug)]
pub struct Veiled {
    /// The surface that answers so.
    pub surface: Surface,
    /// The answer. What this rule itself would mean counts for nothing.
    pub when: Rule,
    /// The states in which it is certainly a refusal, and which one. In every other state it stands as an answer; without any, nobody asks.
    pub states: &'static [(&'static str, Trigger)],
    /// Members of the description that another kind of server writes. Such a server hides nothing, and its answer stands.
    pub unless: &'static [&'static str],
}

/// The veil over an answer that no rule made a refusal of; none: it is an answer, whatever state the model is in.
#[must_use]
pub fn veiled(preset: &Preset, surface: Surface, answer: &Answer<'_>) -> Option<&'static Veiled> {
    if answer.served_remotely {
        return None;
    }
    let evidence = Evidence::new(answer);
    let mut matching = preset.veiled.iter().filter(|veiled| {
        veiled.surface == surface && veiled.when.is_for(answer.phase, answer.status) && evidence.satisfies(&veiled.when)
    });
    matching.next().filter(|veiled| !veiled.states.is_empty())
}

impl Veiled {
    /// What the answer means, now that the engine has described its model (`GET /v1/models/{m}`, contract section 1.5).
    #[must_use]
    pub fn reveal(&self, described: &[u8]) -> Option<Refusal> {
        let model = Members::read(Content::Json, described)?;
        if self.unless.iter().any(|member| model.raw(member).is_some()) {
            return None;
        }
        let stated: String = model.read_member("state")?;
        let (_, trigger) = self.states.iter().find(|(state, _)| *state == stated)?;
        Some(Refusal::certain(*trigger))
    }
}
