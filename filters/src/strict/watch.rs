//! Does a text keep a schema, when it only comes bit by bit?

use super::{LONGEST_OUTPUT, Strict};
use std::fmt;
use std::sync::Arc;

/// Remembers the text of one choice until it has ended. One that has seen nothing is copied for every choice.
#[derive(Clone)]
pub struct Watch {
    strict: Arc<Strict>,
    most: usize,
    said: String,
}

impl Watch {
    /// A watch over one of `choices` texts, which share what may be remembered.
    #[must_use]
    pub fn new(strict: Arc<Strict>, choices: usize) -> Self {
        Self { strict, most: LONGEST_OUTPUT / choices.max(1), said: String::new() }
    }

    /// The next piece of the text. Once it is too much, more of it changes nothing.
    pub(crate) fn say(&mut self, text: &str) {
        if self.said.len() <= self.most {
            self.said.push_str(text);
        }
    }

    /// Whether there was no text at all.
    pub(crate) const fn has_heard_nothing(&self) -> bool {
        self.said.is_empty()
    }

    /// Whether the schema accepts the whole text.
    pub(crate) fn is_met(&self) -> bool {
        self.said.len() <= self.most && self.strict.is_met_by(&self.said)
    }
}

impl fmt::Debug for Watch {
    /// Without the schema and the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_held_against_its_schema_when_it_is_whole() {
        let strict = Arc::new(Strict::compile(br#"{"type":"integer"}"#).expect("a schema"));
        let met = |choices: usize, pieces: &[&str]| {
            let mut watch = Watch::new(strict.clone(), choices);
            pieces.iter().for_each(|piece| watch.say(piece));
            watch.is_met()
        };
        assert!(met(1, &["1", "2"]) && !met(1, &["1", "x"]) && !met(1, &[]));
        assert!(!met(usize::MAX, &["1"]), "too much to remember");
    }
}
