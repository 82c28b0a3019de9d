//! What is remembered by name without end in a table that has one?

use std::collections::{HashMap, VecDeque};

/// A table by name of at most so many entries, which drops its oldest one when it is full.
#[derive(Debug)]
pub(crate) struct Bounded<V, const MOST: usize> {
    entries: HashMap<String, V>,
    order: VecDeque<String>,
}

impl<V, const MOST: usize> Default for Bounded<V, MOST> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new() }
    }
}

impl<V: Default, const MOST: usize> Bounded<V, MOST> {
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

    /// Keeps what is still of use; whether anything was not.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&V) -> bool) -> bool {
        let before = self.entries.len();
        self.entries.retain(|_, value| is_kept(value));
        let dropped = self.entries.len() != before;
        if dropped {
            self.order.retain(|name| self.entries.contains_key(name));
        }
        dropped
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
        let mut table = Bounded::<u32, 100>::default();
        for name in 0..102 {
            *table.entry(&name.to_string()) += 1;
        }
        assert_eq!(table.iter().count(), 100);
        assert_eq!(table.get("0").or_else(|| table.get("1")), None);
        assert_eq!(table.get("2"), Some(&1));
        assert!(table.remove("2") && !table.remove("2"));
        *table.entry("new") = 7;
        assert_eq!((table.get("3"), table.get("new")), (Some(&1), Some(&7)));
        assert!(table.retain(|value| *value == 7) && !table.retain(|value| *value == 7));
        *table.entry("newer") = 8;
        assert_eq!((table.iter().count(), table.order.len(), table.get("3")), (2, 2, None));
    }
}
