//! Which models does an engine list, and in which state is each?

use super::pointer;
use crate::presets::ModelList;
use serde_json::Value;
use spillway_policies::State;
use std::collections::BTreeMap;

/// Most names that are taken from one list, which is in memory as long as the engine is watched.
const MAX_NAMES: usize = 10_000;

/// One model of an engine that serves several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// A name that callers use.
    pub name: String,
    /// What it is doing.
    pub state: State,
    /// Whether its last load failed.
    pub failed: bool,
}

/// The models that a list names, once each and in the order of their names; a model with several names is there under each of them. None
/// when there is no such list in the answer, or when it is longer than 10,000 names: half of a list would say that the rest is not loaded.
#[must_use]
pub fn models(list: &ModelList, body: &[u8]) -> Option<Vec<Model>> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let mut found = BTreeMap::new();
    for entry in entries(answer.pointer(list.list)?)? {
        let Some(sighted) = sighted(list, entry) else { continue };
        for name in names(list, entry) {
            keep(&mut found, name, sighted);
            if found.len() > MAX_NAMES {
                return None;
            }
        }
    }
    Some(found.into_iter().map(|(name, (state, failed))| Model { name: name.to_owned(), state, failed }).collect())
}

/// The entries of a list. An engine in Go may write an empty one as `null`.
fn entries(list: &Value) -> Option<&[Value]> {
    match list {
        Value::Array(entries) => Some(entries),
        Value::Null => Some(&[]),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    }
}

/// What an entry says of its model, and whether it says that its load failed.
fn sighted(list: &ModelList, entry: &Value) -> Option<(State, bool)> {
    let pointer = |pointer: &str| if pointer.is_empty() { None } else { entry.pointer(pointer) };
    if pointer(list.failed).and_then(Value::as_bool) == Some(true) {
        return Some((State::Unhealthy, true));
    }
    if list.state.is_empty() {
        return Some((State::Ready, false));
    }
    let said = match pointer(list.state)? {
        Value::String(said) => said.clone(),
        said @ (Value::Bool(_) | Value::Number(_)) => said.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let (_, state) = list.states.iter().find(|(value, _)| value.eq_ignore_ascii_case(&said))?;
    Some((*state, false))
}

/// The names of an entry's model, with the one that leaves off the optional ending.
fn names<'a>(list: &'a ModelList, entry: &'a Value) -> impl Iterator<Item = &'a str> {
    let written = list.names.iter().flat_map(|path| pointer::all(entry, path)).filter_map(Value::as_str);
    let short = |name: &'a str| {
        let ending = list.optional_ending;
        if ending.is_empty() { None } else { name.strip_suffix(ending) }
    };
    written.flat_map(move |name| [Some(name), short(name)]).flatten().filter(|name| !name.is_empty())
}

/// Keeps the best of what is said of one name: Triton lists each version of a model, and one that serves is enough.
fn keep<'a>(found: &mut BTreeMap<&'a str, (State, bool)>, name: &'a str, sighted: (State, bool)) {
    let kept = found.entry(name).or_insert(sighted);
    if distance(sighted.0) < distance(kept.0) {
        *kept = sighted;
    }
}

/// How far a state is from serving, to tell the better of two.
const fn distance(state: State) -> u8 {
    match state {
        State::Ready => 0,
        State::Saturated => 1,
        State::Loading => 2,
        State::Starting => 3,
        State::Draining => 4,
        State::Asleep => 5,
        State::Unhealthy => 6,
        State::Absent => 7,
    }
}
