//! Walking a spanned TOML tree: every read says what it expects, and what does not fit is noted, never returned early.

mod node;

pub(super) use node::Node;

use super::error::Severity;
use super::file::Notes;
use super::suggest::nearest;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where something stands: what a diagnostic about it points at.
#[derive(Clone)]
pub(super) struct Place<'t> {
    notes: &'t Notes<'t>,
    path: String,
    span: Range<usize>,
}

impl Place<'_> {
    /// Notes a mistake.
    pub(super) fn wrong(&self, problem: impl Into<String>, hint: impl Into<String>) {
        self.notes.add(Severity::Error, &self.path, &self.span, problem.into(), hint.into());
    }

    /// Notes a warning.
    pub(super) fn warn(&self, problem: impl Into<String>, hint: impl Into<String>) {
        self.notes.add(Severity::Warning, &self.path, &self.span, problem.into(), hint.into());
    }

    /// Notes that something is not there, a key or a dotted path, unless the file has parts that could not be read.
    pub(super) fn missing(&self, key: &str, hint: impl Into<String>) {
        if !self.is_uncertain() {
            let path = key.split('.').fold(self.path.clone(), |path, part| join(&path, part));
            self.notes.add(Severity::Error, &path, &self.span, "is required".into(), hint.into());
        }
    }

    /// `file:line:column`.
    pub(super) fn locate(&self) -> String {
        self.notes.locate(&self.span)
    }

    /// How many mistakes the file has so far: what was built while the count grew is not judged further.
    pub(super) fn mistakes(&self) -> usize {
        self.notes.mistakes()
    }

    /// Whether parts of the file could not be read.
    pub(super) fn is_uncertain(&self) -> bool {
        self.notes.is_broken()
    }
}

/// A table whose known keys are taken one by one; [`Table::finish`] notes what is left.
pub(super) struct Table<'t> {
    /// Its header, or the braces of an inline table.
    pub(super) place: Place<'t>,
    entries: Vec<(&'t str, Range<usize>, &'t Spanned<DeValue<'t>>)>,
    known: Vec<&'static str>,
}

impl<'t> Table<'t> {
    pub(super) fn root(notes: &'t Notes<'t>, entries: &'t DeTable<'t>) -> Self {
        Self::new(Place { notes, path: String::new(), span: 0..0 }, entries)
    }

    fn new(place: Place<'t>, entries: &'t DeTable<'t>) -> Self {
        let entries = entries.iter().map(|(name, value)| (name.get_ref().as_ref(), name.span(), value)).collect();
        Self { place, entries, known: Vec::new() }
    }

    /// Takes a key that may be absent.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Node<'t>> {
        self.known.push(name);
        let at = self.entries.iter().position(|(written, ..)| *written == name)?;
        let (name, key, value) = self.entries.swap_remove(at);
        Some(self.node(name, key, value))
    }

    /// Takes a key that must be there.
    pub(super) fn need(&mut self, name: &'static str, hint: &str) -> Option<Node<'t>> {
        let node = self.take(name);
        if node.is_none() {
            self.place.missing(name, hint);
        }
        node
    }

    /// Takes a table that counts as empty when it is absent.
    pub(super) fn section(&mut self, name: &'static str) -> Self {
        let written = self.take(name).and_then(|node| node.table());
        written.unwrap_or_else(|| {
            let place = Place { path: join(&self.place.path, name), ..self.place.clone() };
            Self { place, entries: Vec::new(), known: Vec::new() }
        })
    }

    /// Takes every key: the names are the operator's own.
    pub(super) fn each(self) -> Vec<(&'t str, Node<'t>)> {
        self.entries.iter().map(|(name, key, value)| (*name, self.node(name, key.clone(), value))).collect()
    }

    /// A time that may be absent, in milliseconds.
    pub(super) fn seconds_or(&mut self, name: &'static str, bounds_ms: RangeInclusive<u64>, default_ms: u64) -> u64 {
        self.take(name).and_then(|node| node.seconds(bounds_ms)).unwrap_or(default_ms)
    }

    /// A whole number that may be absent.
    pub(super) fn whole_or(&mut self, name: &'static str, bounds: RangeInclusive<u64>, default: u64) -> u64 {
        self.take(name).and_then(|node| node.whole(bounds)).unwrap_or(default)
    }

    /// A flag that may be absent.
    pub(super) fn flag_or(&mut self, name: &'static str, default: bool) -> bool {
        self.take(name).and_then(|node| node.flag()).unwrap_or(default)
    }

    /// One of a few words, which may be absent.
    pub(super) fn choice_or<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)], default: T) -> T {
        self.take(name).and_then(|node| node.choice(choices)).unwrap_or(default)
    }

    /// Notes every key that nobody took.
    pub(super) fn finish(self) {
        self.finish_with(|_| None);
    }

    /// [`Table::finish`] with a hint of its own for some keys.
    pub(super) fn finish_with(self, hint: impl Fn(&str) -> Option<String>) {
        for (name, key, value) in self.entries.iter().filter(|(_, key, _)| self.place.notes.is_certain(key.start)) {
            let hint = hint(name).unwrap_or_else(|| match did_you_mean(name, self.known.iter().copied()) {
                near if near.is_empty() => self.known_keys(),
                near => near,
            });
            self.node(name, key.clone(), value).name.wrong("is not a known key", hint);
        }
    }

    fn known_keys(&self) -> String {
        if self.known.is_empty() {
            "no key is known here".into()
        } else {
            format!("known here: {}", self.known.join(", "))
        }
    }

    fn node(&self, name: &str, key: Range<usize>, value: &'t Spanned<DeValue<'t>>) -> Node<'t> {
        let (notes, path) = (self.place.notes, join(&self.place.path, name));
        let name = Place { notes, path: path.clone(), span: key };
        Node { name, place: Place { notes, path, span: value.span() }, value: value.get_ref() }
    }
}

/// A hint that names the nearest known word, or nothing.
pub(super) fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, known.into_iter().filter(|name| is_showable(name)))
        .map_or_else(String::new, |near| format!("did you mean \"{near}\"?"))
}

/// Whether a name of the operator's may be repeated: not when it could hide a URL, or is far too long for a line.
pub(super) fn is_showable(name: &str) -> bool {
    let has_userinfo = name.split_once('@').is_some_and(|(before, _)| before.contains(':'));
    !name.contains("://") && !has_userinfo && name.chars().count() <= 80
}

/// A key path, each part as TOML writes it. A name that may not be repeated is left out.
pub(super) fn join(path: &str, name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let part = match name {
        _ if !is_showable(name) => "\"…\"".to_owned(),
        _ if bare => name.to_owned(),
        _ => format!("{name:?}"),
    };
    if path.is_empty() { part } else { format!("{path}.{part}") }
}
