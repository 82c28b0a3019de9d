//! What does an engine's list of its models say of them, and of what we did to them?

use spillway_filters::feed::{Moment, State};
use spillway_filters::sighting;
use std::collections::BTreeMap;

use super::{LATE_LOOKS, Listed, MOST_ALIASES, Models};

impl Models {
    /// Takes in what the engine lists now.
    pub(in crate::state) fn list(&mut self, models: &[sighting::Model], now: Moment) {
        self.missed = 0;
        let before = self.listed.take();
        let mut listed = BTreeMap::new();
        for model in models {
            let old = before.as_ref().and_then(|before| before.get(&model.name));
            let same = old.filter(|old| old.state == model.state && old.failed == model.failed);
            if let Some(old) = old
                && (old.state, model.state) == (State::Loading, State::Ready)
                && !self.loads.contains_key(&model.name)
            {
                self.times.entry(&model.name).learn(now.since(old.since));
            }
            let since = same.map_or(now, |same| same.since);
            listed.insert(model.name.clone(), Listed { state: model.state, failed: model.failed, since });
        }
        let unloaded = |(name, old): (&String, &Listed)| old.state == State::Ready && !listed.contains_key(name);
        if before.iter().flatten().any(unloaded) {
            // It may have been the one behind another name.
            self.changed |= !self.aliases.is_empty();
            self.aliases.clear();
        }
        self.changed |= before.as_ref() != Some(&listed);
        self.listed = Some(listed);
        self.follow_loads(now);
        self.follow_naps();
        self.forgive();
    }

    /// A well engine did not list its models. When that lasts, what it listed earlier is not believed any more, and nobody waits for it.
    pub(in crate::state) fn not_listed(&mut self, now: Moment) {
        self.missed = self.missed.saturating_add(1);
        if self.missed < LATE_LOOKS {
            return;
        }
        self.changed |= self.listed.take().is_some();
        let before = self.loads.len();
        self.loads.retain(|_, load| load.order.is_some());
        self.changed |= self.loads.len() != before;
        for name in self.take_wanted() {
            self.fail(&name, now);
        }
    }

    /// What the list says of our loads. Only what was asked after a call was answered counts against it.
    fn follow_loads(&mut self, now: Moment) {
        let listed = self.listed.as_ref().expect("it was just listed");
        let (mut ready, mut failed, mut aliases) = (Vec::new(), Vec::new(), Vec::new());
        for (name, load) in &mut self.loads {
            let (state, is_failed) = listed.get(name).map_or((State::Absent, false), |at| (at.state, at.failed));
            load.seen_loading |= matches!(state, State::Loading | State::Starting);
            if load.order.is_some() {
                continue;
            }
            load.looks += 1;
            match state {
                State::Ready | State::Saturated => ready.push(name.clone()),
                State::Loading | State::Starting => {}
                // Its call was answered when it was loaded, and the list never had the name.
                _ if self.lists_loaded
                    && !load.seen_loading
                    && load.looks >= LATE_LOOKS
                    && !listed.contains_key(name) =>
                {
                    aliases.push(name.clone());
                }
                _ if is_failed || load.seen_loading || load.looks >= LATE_LOOKS => failed.push(name.clone()),
                _ => {}
            }
        }
        for name in aliases {
            self.succeed(&name, now);
            if self.aliases.len() < MOST_ALIASES {
                self.aliases.insert(name);
            }
        }
        ready.iter().for_each(|name| self.succeed(name, now));
        failed.iter().for_each(|name| self.fail(name, now));
    }

    fn follow_naps(&mut self) {
        let listed = self.listed.as_ref().expect("it was just listed");
        let before = self.naps.len();
        self.naps.retain(|name, (_, looks)| {
            let is_up = listed.get(name).is_some_and(|at| matches!(at.state, State::Ready | State::Loading));
            let was_late = is_up && *looks > 0;
            *looks = if was_late { *looks - 1 } else { 0 };
            was_late || !is_up
        });
        self.changed |= self.naps.len() != before;
    }

    /// A model that is ready has not failed, whoever loaded it.
    fn forgive(&mut self) {
        let is_ready = |name: &&String| {
            self.listed.as_ref().and_then(|listed| listed.get(*name)).is_some_and(|at| at.state == State::Ready)
        };
        let forgiven: Vec<String> = self.faults.iter().map(|(name, _)| name).filter(is_ready).cloned().collect();
        for name in forgiven {
            self.changed |= self.faults.remove(&name);
        }
    }
}
