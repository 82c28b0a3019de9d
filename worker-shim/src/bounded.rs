//! What is remembered by name without end in a table that has one?

use std::collections::{HashMap, VecDeque};

/// How many names a table holds: more than engines list, and a few megabytes at worst.
const MOST: usize = 10_000;

/// A table by name that drops its oldest entry when it is full.
#[derive(Debug)]
pub(crate) struct Bounded<V> {
    entries: HashMap<String, V>,
    order: VecDeque<String>,
}

impl<V> Default for Bounded<V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new() }
    }
}

impl<V: Default> Bounded<V> {
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.entries.get(name)
    }

    /// The entry of a name, which is made when it is not there.
    pub(crate) fn entry(&mut self, name: &str) -> &mut V {
        if !self.entries.contains_key(name) {
            if self.order.len() >= MOST
                && let Some(oldest) = self.order.pop_front()
            {
                self.entries.remove(&oldest);
            }
            self.order.push_back(name.to_owned());
        }
        self.entries.entry(name.to_owned()).or_default()
    }

    /// Takes an entry out; whether there was one.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let found = self.entries.remove(name).is_some();
        if found {
            self.order.retain(|kept| kept != name);
        }
        found
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &V)> {
        self.entries.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_name_makes_room() {
        let mut table = Bounded::<u32>::default();
        for name in 0..MOST + 2 {
            *table.entry(&name.to_string()) += 1;
        }
        assert_eq!(table.iter().count(), MOST);
        assert_eq!(table.get("0").or_else(|| table.get("1")), None);
        assert_eq!(table.get("2"), Some(&1));
        assert!(table.remove("2") && !table.remove("2"));
        *table.entry("new") = 7;
        assert_eq!((table.get("3"), table.get("new")), (Some(&1), Some(&7)));
    }
}
