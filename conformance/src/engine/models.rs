//! Which models has an engine of several loaded? One load at a time per model; whoever asks meanwhile waits for it.

use std::collections::BTreeMap;

use tokio::sync::watch;

use super::world::World;

/// Each model that is there, and whether it is loaded rather than on its way.
#[derive(Debug, Default)]
pub(super) struct Models {
    loaded: watch::Sender<BTreeMap<String, bool>>,
}

impl Models {
    /// The models and whether each is loaded.
    pub(super) fn list(&self) -> Vec<(String, bool)> {
        self.loaded.borrow().iter().map(|(name, loaded)| (name.clone(), *loaded)).collect()
    }

    /// Whether this model is loaded.
    pub(super) fn has(&self, model: &str) -> bool {
        self.loaded.borrow().get(model) == Some(&true)
    }

    fn put(&self, model: &str, loaded: bool) {
        self.loaded.send_modify(|models| {
            models.insert(model.to_owned(), loaded);
        });
    }
}

impl World {
    /// Loads a model, or waits until it is loaded.
    pub(super) async fn load(&self, model: &str) {
        let models = &self.models;
        if models.loaded.borrow().contains_key(model) {
            models.loaded.subscribe().wait_for(|models| models.get(model) != Some(&false)).await.ok();
            return;
        }
        models.put(model, false);
        self.tell(&format!("loads {model}"));
        self.cues.step(&format!("load {model}")).await;
        self.fill();
        models.put(model, true);
        self.tell(&format!("loaded {model}"));
    }

    /// Gives a model's memory back.
    pub(super) fn unload(&self, model: &str) {
        self.models.loaded.send_modify(|models| {
            models.remove(model);
        });
        if self.models.list().is_empty() {
            self.empty();
        }
        self.tell(&format!("unloaded {model} under {}", self.running()));
    }
}
