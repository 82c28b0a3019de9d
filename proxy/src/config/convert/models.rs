//! Every model of the deployment file and of the model files: which names there are, and that each stands once.

use super::model;
use super::surroundings::Surroundings;
use crate::config::table::{Node, Place};
use spillway_policies::{Model, Routes, Upstream};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The upstreams that models may name. One that has mistakes of its own is defined, and usable by nobody.
pub(crate) type Upstreams = BTreeMap<String, Option<Arc<Upstream>>>;

/// The models read so far.
pub(crate) struct Models<'u> {
    upstreams: &'u Upstreams,
    /// Whether more upstreams may be defined in a part that could not be read.
    upstreams_uncertain: bool,
    read: BTreeMap<String, Entry>,
}

struct Entry {
    model: Option<Model>,
    place: String,
}

impl<'u> Models<'u> {
    pub(crate) fn new(upstreams: &'u Upstreams, upstreams_uncertain: bool) -> Self {
        Self { upstreams, upstreams_uncertain, read: BTreeMap::new() }
    }

    /// Reads a `[models]` table.
    pub(crate) fn read(&mut self, node: &Node<'_>, surroundings: &Surroundings<'_>) {
        let Some(table) = node.table() else { return };
        for (name, node) in table.each() {
            self.read_one(name, &node, surroundings);
        }
    }

    fn read_one(&mut self, name: &str, node: &Node<'_>, surroundings: &Surroundings<'_>) {
        check_name(name, &node.name);
        let model = model::model(node, self, surroundings);
        if let Some(first) = self.read.get(name) {
            node.name.wrong(format!("is defined twice: first at {}", first.place), "keep one of them");
            return;
        }
        self.check_suffix(name, model.as_ref(), &node.name);
        self.read.insert(name.into(), Entry { model, place: node.name.locate() });
    }

    /// `a:b` is either a model, or the profile `b` of the model `a`: both at once would hide the profile.
    fn check_suffix(&self, name: &str, model: Option<&Model>, place: &Place<'_>) {
        let has =
            |model: Option<&Model>, profile: &str| model.is_some_and(|model| model.profiles.contains_key(profile));
        let shorter = name.rsplit_once(':').and_then(|(other, profile)| Some((self.read.get(other)?, profile)));
        let hidden = shorter.filter(|(entry, profile)| has(entry.model.as_ref(), profile)).map(|(entry, _)| entry);
        let prefix = format!("{name}:");
        let mut longer = self.read.range(prefix.clone()..).take_while(|(other, _)| other.starts_with(&prefix));
        let hidden =
            hidden.or_else(|| longer.find(|(other, _)| has(model, &other[prefix.len()..])).map(|(_, entry)| entry));
        if let Some(entry) = hidden {
            let problem = format!("makes model:profile mean two things, together with the model at {}", entry.place);
            place.wrong(problem, "rename the profile that the longer model name ends in");
        }
    }

    /// The upstream of a name. None when it is not defined, or when its definition has mistakes; only the first is noted here.
    pub(super) fn upstream(&self, written: &str, place: &Place<'_>) -> Option<Arc<Upstream>> {
        if let Some(defined) = self.upstreams.get(written) {
            return defined.clone();
        }
        if !self.upstreams_uncertain {
            super::upstream::undefined(place, written, &self.upstreams.keys().map(String::as_str).collect::<Vec<_>>());
        }
        None
    }

    /// The routes of every model that has no mistakes.
    pub(crate) fn into_routes(self) -> Routes {
        Routes::new(self.read.into_iter().filter_map(|(name, entry)| Some((name, entry.model?))).collect())
    }
}

fn check_name(name: &str, place: &Place<'_>) {
    let well_formed =
        !name.is_empty() && name.chars().count() <= 256 && !name.chars().any(|c| c.is_control() || c.is_whitespace());
    if !well_formed {
        place.wrong(
            "a model's name must have 1 to 256 characters, none of them a space",
            "write the name that callers use",
        );
    }
}
