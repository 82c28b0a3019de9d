//! Would the engine refuse this call, as its state tells, and in which words?
//!
//! What is not known is not foreseen: then the engine is tried (product section 4 item 4).

use crate::error_answer::ErrorAnswer;
use crate::feed::{Condition, Snapshot, State, Why};
use crate::presets::preset;
use spillway_policies::Trigger;

/// The longest wait that a caller is told, in seconds: a longer one makes some clients give up at once.
const LONGEST_WAIT_S: u64 = 60;

/// The wait when nothing was learned, or when what was learned is over (product section 8).
const USUAL_WAIT_S: u64 = 5;

/// A refusal that the engine would give, made without asking it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// Why.
    pub trigger: Trigger,
    /// How it reads.
    pub answer: ErrorAnswer,
    /// The engine might serve after all, or holds the call until it can: it is only spared the call when an upstream takes it.
    pub only_if_bridged: bool,
}

/// What the engine would say. `model` is the model that is asked for; none: only the engine as a whole counts.
///
/// `elapsed_ms` is the age of the snapshot.
#[must_use]
pub fn foresee(snapshot: &Snapshot, model: Option<&str>, elapsed_ms: u64) -> Option<Foreseen> {
    let engine = &snapshot.engine;
    if let Some(trigger) = engine.state.trigger() {
        let only_if_bridged = engine.state == State::Unhealthy && engine.why != Some(Why::LoadFailed);
        return Some(Foreseen { trigger, answer: answer(trigger, engine, elapsed_ms), only_if_bridged });
    }
    let model = model?;
    if snapshot.models.get(model).is_some_and(|condition| condition.state == State::Draining) {
        // On its way down it would break a call off, whoever sends it.
        let (trigger, answer) = (Trigger::ModelLoading, ErrorAnswer::model_loading());
        return Some(Foreseen { trigger, answer, only_if_bridged: false });
    }
    if !snapshot.gates {
        return None;
    }
    let unlisted = snapshot.unlisted.filter(|_| lists(snapshot, model)).map(Condition::of);
    let condition = snapshot.models.get(model).or(unlisted.as_ref())?;
    let trigger = condition.state.model_trigger()?;
    Some(Foreseen { trigger, answer: answer(trigger, condition, elapsed_ms), only_if_bridged: true })
}

/// Whether a wish to load is needed before this model is served.
#[must_use]
pub fn needs_a_wish(snapshot: &Snapshot, model: Option<&str>) -> bool {
    if snapshot.engine.state != State::Ready {
        return snapshot.engine.state.waits_for_a_wish();
    }
    let Some(model) = model else { return false };
    let needs = |condition: &Condition| condition.state.waits_for_a_wish() || condition.state == State::Draining;
    // What is not listed may have to be loaded too.
    snapshot.models.get(model).map_or_else(|| lists(snapshot, model), needs)
}

/// Whether the engine would list the model if it was loaded.
fn lists(snapshot: &Snapshot, model: &str) -> bool {
    let list = preset(&snapshot.preset).and_then(|preset| preset.watch.models);
    list.is_none_or(|list| list.lists(model))
}

fn answer(trigger: Trigger, condition: &Condition, elapsed_ms: u64) -> ErrorAnswer {
    // What is not on its way takes a whole load, whenever that begins.
    let comes = matches!(condition.state, State::Starting | State::Loading);
    let wait = wait_s(condition.ready_in_ms, if comes { elapsed_ms } else { 0 });
    match trigger {
        Trigger::Provisioning => ErrorAnswer::provisioning().after(wait),
        Trigger::ModelLoading => ErrorAnswer::model_loading().after(wait),
        Trigger::Saturated => ErrorAnswer::queue_full(),
        Trigger::Unhealthy if condition.state == State::Draining => ErrorAnswer::engine_draining(),
        Trigger::Unhealthy if condition.why == Some(Why::LoadFailed) => ErrorAnswer::load_failed(),
        Trigger::Unhealthy => ErrorAnswer::engine_unreachable(),
    }
}

/// Seconds until it is worth another try.
fn wait_s(ready_in_ms: Option<u64>, elapsed_ms: u64) -> u64 {
    let left = ready_in_ms.map_or(0, |ready| ready.saturating_sub(elapsed_ms));
    if left == 0 { USUAL_WAIT_S } else { left.div_ceil(1_000).min(LONGEST_WAIT_S) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn snapshot(state: State) -> Snapshot {
        Snapshot::of("ollama", state)
    }

    fn code(snapshot: &Snapshot, model: Option<&str>) -> Option<(u16, &'static str, Option<u64>, bool)> {
        foresee(snapshot, model, 0)
            .map(|seen| (seen.answer.status, seen.answer.code, seen.answer.retry_after_s, seen.only_if_bridged))
    }

    #[test]
    fn each_state_of_the_engine_has_its_refusal() {
        let of = |state| code(&snapshot(state), Some("m"));
        assert_eq!(of(State::Ready), None);
        assert_eq!(of(State::Absent), Some((503, "PROVISIONING", Some(5), false)));
        assert_eq!(of(State::Starting), Some((503, "PROVISIONING", Some(5), false)));
        assert_eq!(of(State::Loading), Some((503, "MODEL_LOADING", Some(5), false)));
        assert_eq!(of(State::Asleep), Some((503, "MODEL_LOADING", Some(5), false)));
        assert_eq!(of(State::Saturated), Some((503, "QUEUE_FULL", Some(1), false)));
        assert_eq!(of(State::Draining), Some((503, "ENGINE_UNREACHABLE", Some(5), false)));
        // It may serve after all: nobody is turned away who has nowhere else to go.
        assert_eq!(of(State::Unhealthy), Some((503, "ENGINE_UNREACHABLE", Some(5), true)));
        let mut latched = snapshot(State::Unhealthy);
        latched.engine.why = Some(Why::LoadFailed);
        assert_eq!(code(&latched, None), Some((502, "MODEL_LOAD_FAILED", None, false)));
    }

    #[test]
    fn a_model_counts_only_where_the_engine_would_hold_its_call() {
        let mut ready = snapshot(State::Ready);
        ready.models = BTreeMap::from([
            ("warm".into(), Condition::of(State::Ready)),
            ("cold".into(), Condition::of(State::Absent)),
        ]);
        ready.unlisted = Some(State::Absent);
        assert_eq!(code(&ready, Some("cold")), None);
        ready.gates = true;
        assert_eq!(code(&ready, Some("warm")), None);
        assert_eq!(code(&ready, None), None);
        for model in ["cold", "unlisted"] {
            assert_eq!(code(&ready, Some(model)), Some((503, "MODEL_LOADING", Some(5), true)), "{model}");
        }
        // Ollama's cloud is on no list.
        assert_eq!(code(&ready, Some("m:120b-cloud")), None);
        ready.preset = "llama_swap".into();
        assert_eq!(code(&ready, Some("m:120b-cloud")), Some((503, "MODEL_LOADING", Some(5), true)));
        ready.unlisted = None;
        assert_eq!(code(&ready, Some("unlisted")), None);
        // On its way down it would break every call off.
        ready.models.insert("leaves".into(), Condition::of(State::Draining));
        for gates in [true, false] {
            ready.gates = gates;
            assert_eq!(code(&ready, Some("leaves")), Some((503, "MODEL_LOADING", Some(5), false)), "{gates}");
        }
    }

    #[test]
    fn the_wait_is_what_is_left_of_an_earlier_load() {
        let waits = [
            (None, 0, 5),
            (Some(8_200), 0, 9),
            (Some(8_200), 1_200, 7),
            (Some(900), 0, 1),
            (Some(900), 900, 5),
            (Some(0), 0, 5),
            (Some(900_000), 0, 60),
        ];
        for (ready_in_ms, elapsed_ms, wanted) in waits {
            assert_eq!(wait_s(ready_in_ms, elapsed_ms), wanted, "{ready_in_ms:?} after {elapsed_ms}");
        }
    }

    #[test]
    fn the_wait_for_what_sleeps_does_not_run_out_while_it_sleeps() {
        for (state, wanted) in [(State::Asleep, 30), (State::Absent, 30), (State::Loading, 20)] {
            let mut snapshot = snapshot(state);
            snapshot.engine.ready_in_ms = Some(30_000);
            let seen = foresee(&snapshot, None, 10_000).expect("it is not ready");
            assert_eq!(seen.answer.retry_after_s, Some(wanted), "{state:?}");
        }
    }

    #[test]
    fn only_what_nobody_is_loading_needs_a_wish() {
        for state in [State::Absent, State::Asleep, State::Unhealthy] {
            assert!(needs_a_wish(&snapshot(state), None), "{state:?}");
        }
        for state in [State::Starting, State::Loading, State::Saturated, State::Draining, State::Ready] {
            assert!(!needs_a_wish(&snapshot(state), None), "{state:?}");
        }
        let mut ready = snapshot(State::Ready);
        ready.models = BTreeMap::from([
            ("comes".into(), Condition::of(State::Loading)),
            ("sleeps".into(), Condition::of(State::Asleep)),
            ("leaves".into(), Condition::of(State::Draining)),
        ]);
        assert!(needs_a_wish(&ready, Some("leaves")), "it is wanted again");
        assert!(!needs_a_wish(&ready, Some("comes")));
        assert!(needs_a_wish(&ready, Some("sleeps")) && needs_a_wish(&ready, Some("unlisted")));
        assert!(!needs_a_wish(&ready, Some("m:cloud")), "it is never loaded here");
    }
}
