//! Which revision of which hub model is loaded?

use super::hash::is_hex;
use super::local::Local;
use super::machine::Machine;
use super::place;
use super::stated::Stated;
use super::table::{Known, Weights};
use spillway_filters::presets::Launch;

/// `hub:ORG/NAME@COMMIT`; only a commit is a revision that nobody can move.
pub(super) fn of(machine: &Machine, local: &Local, known: &Known, launch: &Launch, stated: &Stated) -> Option<String> {
    if !stated.is_settled || local.has_any(known.weights_not_with) {
        return None;
    }
    let model = stated.model.clone().or_else(|| local.flag(launch.model_flags))?;
    let path = local.resolve(machine, &model)?;
    if path.try_exists().ok()? {
        // A folder of that name is what engines load, whatever revision they were told.
        return Some(format!("hub:{}", place::snapshot(&path.canonicalize().ok()?)?));
    }
    let revision = match known.weights {
        Weights::Hub { states_revision: true } => stated.revision.clone(),
        _ => local.flag(launch.revision_flags),
    };
    let revision = revision.filter(|revision| is_hex(revision, 40) && place::is_model(&model))?;
    Some(format!("hub:{model}@{revision}"))
}
