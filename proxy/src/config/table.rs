//! Walking a spanned TOML tree: every read says what it expects, and what does not fit is noted, never returned early.

use super::error::Severity;
use super::file::Notes;
use super::suggest::{nearest, quoted};
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

/// One value and the key it stands under.
pub(super) struct Node<'t> {
    /// The key.
    pub(super) name: Place<'t>,
    /// The value.
    pub(super) place: Place<'t>,
    value: &'t DeValue<'t>,
}

impl<'t> Node<'t> {
    /// A string.
    pub(super) fn text(&self) -> Option<&'t str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => self.unfit("a string"),
        }
    }

    /// True or false.
    pub(super) fn flag(&self) -> Option<bool> {
        self.value.as_bool().or_else(|| self.unfit("true or false"))
    }

    /// A whole number within bounds. `true`, `"3"` and `3.0` are not whole numbers here.
    pub(super) fn whole(&self, bounds: RangeInclusive<u64>) -> Option<u64> {
        let DeValue::Integer(digits) = self.value else { return self.unfit("a whole number") };
        let number = u64::from_str_radix(digits.as_str(), digits.radix()).ok();
        let within = number.filter(|number| bounds.contains(number));
        if within.is_none() {
            self.place.wrong(format!("must be a whole number from {} to {}", bounds.start(), bounds.end()), "");
        }
        within
    }

    /// [`Node::whole`] for the 32-bit sizes of policies.
    pub(super) fn count(&self, bounds: RangeInclusive<u32>) -> Option<u32> {
        let number = self.whole(u64::from(*bounds.start())..=u64::from(*bounds.end()))?;
        Some(u32::try_from(number).expect("the bounds are 32-bit numbers"))
    }

    /// A finite number above zero, whole or not.
    pub(super) fn positive(&self) -> Option<f64> {
        let number = self.number()?;
        if number > 0.0 && number.is_finite() {
            return Some(number);
        }
        self.place.wrong("must be a number above 0", "");
        None
    }

    /// A time in seconds, whole or not, as milliseconds within bounds.
    pub(super) fn seconds(&self, bounds_ms: RangeInclusive<u64>) -> Option<u64> {
        let millis = self.number()? * 1000.0;
        let (least, most) = (*bounds_ms.start(), *bounds_ms.end());
        // The bounds are far below 2^53, so the comparison and the cast are exact.
        if millis >= least as f64 && millis <= most as f64 {
            return Some(millis.round() as u64);
        }
        let from = if least == 0 { "from 0".into() } else { format!("from {}", least as f64 / 1000.0) };
        self.place.wrong(format!("must be a number of seconds {from} to {}", most as f64 / 1000.0), "");
        None
    }

    fn number(&self) -> Option<f64> {
        match self.value {
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
                .map_or(Some(f64::INFINITY), |whole| Some(whole as f64)),
            DeValue::Float(digits) => Some(digits.as_str().parse().unwrap_or(f64::NAN)),
            _ => self.unfit("a number"),
        }
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let written = self.text()?;
        let chosen = choices.iter().find(|(word, _)| *word == written).map(|(_, meaning)| *meaning);
        if chosen.is_none() {
            let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
            self.place.wrong(format!("must be {}", quoted(&words, "or")), did_you_mean(written, words));
        }
        chosen
    }

    /// A table.
    pub(super) fn table(&self) -> Option<Table<'t>> {
        match self.value {
            DeValue::Table(entries) => Some(Table::new(self.place.clone(), entries)),
            _ => self.unfit("a table"),
        }
    }

    /// A list, empty or not.
    pub(super) fn list(&self) -> Option<Vec<Self>> {
        let DeValue::Array(items) = self.value else { return self.unfit("a list") };
        Some(items.iter().enumerate().map(|(index, item)| self.item(index, item)).collect())
    }

    /// A list of strings; what is not a string is noted and left out.
    pub(super) fn texts(&self) -> Option<Vec<(&'t str, Place<'t>)>> {
        Some(self.list()?.into_iter().filter_map(|item| Some((item.text()?, item.place))).collect())
    }

    /// The value as it was parsed, for what has no type of its own.
    pub(super) fn raw(&self) -> &'t DeValue<'t> {
        self.value
    }

    fn item(&self, index: usize, item: &'t Spanned<DeValue<'t>>) -> Self {
        let path = format!("{}[{index}]", self.place.path);
        let place = Place { notes: self.place.notes, path, span: item.span() };
        Self { name: place.clone(), place, value: item.get_ref() }
    }

    fn unfit<T>(&self, expected: &str) -> Option<T> {
        let found = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.place.wrong(format!("must be {expected}, not {found}"), "");
        None
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
    nearest(written, known).map_or_else(String::new, |near| format!("did you mean \"{near}\"?"))
}

/// A key path, each part as TOML writes it. A name that could hide a URL or is far too long is not repeated.
pub(super) fn join(path: &str, name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let part = match name {
        _ if name.contains("://") || name.chars().count() > 80 => "\"…\"".to_owned(),
        _ if bare => name.to_owned(),
        _ => format!("{name:?}"),
    };
    if path.is_empty() { part } else { format!("{path}.{part}") }
}
