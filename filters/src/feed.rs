//! What does the shim say about its engine, and how is that written on its socket?
//!
//! One snapshot holds everything: `GET /state` gives it as JSON, `GET /state/stream` pushes it as a server-sent event whenever it changes,
//! a full one first (product section 8). Both ends are Spillway's, so both use these types; unknown fields are left for later versions.

use serde::{Deserialize, Serialize};
pub use spillway_policies::{Moment, State};
use std::collections::BTreeMap;

/// Where the shim's socket answers.
pub mod paths {
    /// GET: a [`Snapshot`](super::Snapshot).
    pub const STATE: &str = "/state";
    /// GET: a [`Snapshot`](super::Snapshot) per event. `?as=NAME` says who subscribes.
    pub const STREAM: &str = "/state/stream";
    /// POST: a [`Wish`](super::Wish) to load a model, or the engine.
    pub const LOAD: &str = "/load";
    /// POST: a [`Wish`](super::Wish) to give the memory back.
    pub const SLEEP: &str = "/sleep";
    /// POST: an [`Activity`](super::Activity) of a subscriber.
    pub const ACTIVITY: &str = "/activity";
    /// GET: the last lines that the engine wrote, as text.
    pub const LOG: &str = "/log";
}

/// How often the stream says that it lives when nothing changes, in milliseconds: a comment line.
pub const HEARTBEAT_MS: u64 = 5_000;

/// A stream that was silent for this long is lost, and what it said is unknown, in milliseconds.
pub const STALE_MS: u64 = 15_000;

/// Largest event that a subscriber reads, in bytes.
pub const MAX_SNAPSHOT_BYTES: usize = 4 * 1024 * 1024;

/// Everything the shim knows, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Grows with every change.
    pub seq: u64,
    /// The preset of the engine.
    pub preset: String,
    /// The engine as a whole.
    pub engine: Condition,
    /// The models of an engine that serves several; empty where there is one.
    #[serde(default)]
    pub models: BTreeMap<String, Condition>,
    /// Whether the engine holds a request for a model that is not loaded: only then is a call refused by the state of its model.
    #[serde(default)]
    pub gates: bool,
    /// What a model is that `models` lacks; none: that is not known.
    #[serde(default, with = "optional_token", skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<State>,
    /// Requests that the engine says it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<u64>,
    /// Requests that the engine says wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// How often the engine was started again after it ended by itself.
    #[serde(default)]
    pub restarts: u64,
    /// What the local side is; none until all of it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

impl Snapshot {
    /// An engine in this state of which nothing else is known; nothing was told before.
    #[must_use]
    pub fn of(preset: &str, state: State) -> Self {
        Self {
            seq: 0,
            preset: preset.to_owned(),
            engine: Condition::of(state),
            models: BTreeMap::new(),
            gates: false,
            unlisted: None,
            running: None,
            waiting: None,
            restarts: 0,
            identity: None,
        }
    }
}

/// One state with what is known of its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The state.
    #[serde(with = "token")]
    pub state: State,
    /// Why, where the state alone does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// Milliseconds until it will be ready, counted from this snapshot, as earlier loads took. Zero: any moment. None: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_in_ms: Option<u64>,
    /// How far a load is, in the engine's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
}

impl Condition {
    /// A state of which nothing else is known.
    #[must_use]
    pub const fn of(state: State) -> Self {
        Self { state, why: None, ready_in_ms: None, progress: None }
    }
}

/// Why an engine or a model is in its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Its process ended by itself and is started again.
    Crashed,
    /// It ended or failed to load too often: nothing is tried for a while.
    LoadFailed,
    /// It says so itself.
    Health,
    /// It does not answer.
    Silent,
    /// It had nothing to do.
    Idle,
    /// Somebody asked.
    Asked,
    /// What a later version says.
    #[serde(other)]
    Other,
}

/// A wish to load or to sleep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// The model, for engines that serve several; none: the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What a subscriber tells about its own requests, so that nothing is put to sleep or ended under them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Who subscribes, as in the stream's `?as=`.
    pub r#as: String,
    /// The newest snapshot that it acts on; the greatest number of all in the last word of one that sends nothing any more.
    pub seq: u64,
    /// Its requests at the engine now.
    pub in_flight: u64,
    /// How many it has sent since it runs.
    pub started: u64,
}

/// What the local side was observed to be, part by part, and all of it as one digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// SHA-256 over the parts, in hexadecimal; none as long as one part is unknown.
    pub digest: Option<String>,
    /// Each part by name: `engine`, `version`, `weights`, `tokenizer`, `device`, `driver`, `dtype`. None: it could not be observed.
    pub parts: BTreeMap<String, Option<String>>,
}

mod token {
    use super::State;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(state.token())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<State, D::Error> {
        let token = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        State::from_token(&token).ok_or_else(|| D::Error::custom("no state has this name"))
    }
}

mod optional_token {
    use super::State;
    use serde::{Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(state: &Option<State>, serializer: S) -> Result<S::Ok, S::Error> {
        state.map(State::token).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<State>, D::Error> {
        #[derive(serde::Deserialize)]
        struct Wrapped(#[serde(with = "super::token")] State);
        let wrapped: Option<Wrapped> = serde::Deserialize::deserialize(deserializer)?;
        Ok(wrapped.map(|Wrapped(state)| state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_reads_back_and_leaves_out_what_is_not_known() {
        let mut snapshot = Snapshot {
            seq: 7,
            preset: "ollama".into(),
            engine: Condition::of(State::Ready),
            models: BTreeMap::from([(
                "m".into(),
                Condition { why: Some(Why::LoadFailed), ..Condition::of(State::Unhealthy) },
            )]),
            gates: true,
            unlisted: Some(State::Absent),
            running: None,
            waiting: None,
            restarts: 0,
            identity: None,
        };
        let text = serde_json::to_string(&snapshot).expect("it renders");
        let wanted = r#"{"seq":7,"preset":"ollama","engine":{"state":"ready"},"models":{"m":{"state":"unhealthy","why":"load_failed"}},"gates":true,"unlisted":"absent","restarts":0}"#;
        assert_eq!(text, wanted);
        assert_eq!(serde_json::from_str::<Snapshot>(&text).expect("it reads back"), snapshot);
        snapshot.unlisted = None;
        let text = serde_json::to_string(&snapshot).expect("it renders");
        assert_eq!(serde_json::from_str::<Snapshot>(&text).expect("it reads back"), snapshot);
    }

    #[test]
    fn what_a_later_version_adds_is_left_alone_and_a_state_it_adds_is_an_error() {
        let text = r#"{"seq":1,"preset":"sie","engine":{"state":"ready","later":1},"later":{}}"#;
        assert_eq!(serde_json::from_str::<Snapshot>(text).expect("it reads").engine, Condition::of(State::Ready));
        let text = r#"{"seq":1,"preset":"sie","engine":{"state":"unhealthy","why":"a_later_reason"}}"#;
        assert_eq!(serde_json::from_str::<Snapshot>(text).expect("it reads").engine.why, Some(Why::Other));
        let text = r#"{"seq":1,"preset":"sie","engine":{"state":"dreaming"}}"#;
        assert!(serde_json::from_str::<Snapshot>(text).is_err());
    }
}
