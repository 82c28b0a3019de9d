//! What each preset makes of its engine's own answers to probes: recorded, or made from its source.

use serde::Deserialize;
use spillway_filters::presets::{NAMES, Preset, preset};
use spillway_filters::sighting::{count, flag, models};
use spillway_policies::State;
use std::collections::{BTreeMap, BTreeSet};

/// Every body that `cases.json` names.
const BODIES: &[(&str, &str)] = &[
    ("llama_cpp_router.json", include_str!("fixtures/engine_states/llama_cpp_router.json")),
    ("llama_cpp_router_downloads.json", include_str!("fixtures/engine_states/llama_cpp_router_downloads.json")),
    ("llama_swap.json", include_str!("fixtures/engine_states/llama_swap.json")),
    ("llama_swap_empty.json", include_str!("fixtures/engine_states/llama_swap_empty.json")),
    ("lm_studio.json", include_str!("fixtures/engine_states/lm_studio.json")),
    ("localai.json", include_str!("fixtures/engine_states/localai.json")),
    ("ollama.json", include_str!("fixtures/engine_states/ollama.json")),
    ("ollama_empty.json", include_str!("fixtures/engine_states/ollama_empty.json")),
    ("sie.json", include_str!("fixtures/engine_states/sie.json")),
    ("triton.json", include_str!("fixtures/engine_states/triton.json")),
];

#[derive(Deserialize)]
struct Case {
    preset: String,
    body_file: String,
    source: String,
    expected: BTreeMap<String, String>,
    #[serde(default)]
    failed: BTreeSet<String>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("fixtures/engine_states/cases.json")).expect("the fixture is JSON")
}

fn known(name: &str) -> &'static Preset {
    preset(name).expect("the preset is listed")
}

#[test]
fn each_list_is_read_as_what_it_says() {
    for Case { preset, body_file, source, expected, failed } in cases() {
        let (_, body) = BODIES.iter().find(|(file, _)| *file == body_file).expect("the body is there");
        let list = known(&preset).watch.models.expect("the preset reads a list");
        let read = models(&list, body.as_bytes()).unwrap_or_else(|| panic!("{body_file}: no list"));
        let found: BTreeMap<_, _> =
            read.iter().map(|model| (model.name.clone(), model.state.token().to_owned())).collect();
        assert_eq!(found, expected, "{body_file}: {source}");
        let found: BTreeSet<_> = read.into_iter().filter(|model| model.failed).map(|model| model.name).collect();
        assert_eq!(found, failed, "{body_file}: {source}");
    }
}

#[test]
fn every_list_has_a_case_and_every_body_is_used() {
    let cases = cases();
    for name in NAMES.iter().filter(|name| known(name).watch.models.is_some()) {
        assert!(cases.iter().any(|case| case.preset == *name && !case.expected.is_empty()), "{name}");
    }
    for (file, _) in BODIES {
        assert!(cases.iter().any(|case| case.body_file == *file), "{file}");
    }
}

#[derive(Deserialize)]
struct Queue {
    preset: String,
    source: String,
    running: Option<u64>,
    waiting: Option<u64>,
    body: String,
}

#[test]
fn each_queue_is_counted() {
    let queues: Vec<Queue> =
        serde_json::from_str(include_str!("fixtures/engine_states/queues.json")).expect("the fixture is JSON");
    for name in NAMES.iter().filter(|name| known(name).watch.queue.is_some()) {
        assert!(queues.iter().any(|queue| queue.preset == *name && queue.waiting.is_some()), "{name}");
    }
    for Queue { preset, source, running, waiting, body } in queues {
        let queue = known(&preset).watch.queue.expect("the preset reads a queue");
        let found = (count(queue.running, body.as_bytes()), count(queue.waiting, body.as_bytes()));
        assert_eq!(found, (running, waiting), "{preset}: {source}");
    }
}

#[test]
fn who_sleeps_says_so() {
    for (name, body, wanted) in [
        ("vllm", r#"{"is_sleeping":true}"#, Some(true)),
        ("vllm", r#"{"is_sleeping":false}"#, Some(false)),
        ("vllm", r#"{"detail":"Not Found"}"#, None),
        (
            "llama_cpp",
            r#"{"total_slots":1,"model_alias":"m","build_info":"b1-7e4c0a9","is_sleeping":true}"#,
            Some(true),
        ),
        ("llama_cpp", r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#, None),
    ] {
        let asleep = known(name).watch.asleep.expect("the preset reads whether it sleeps");
        assert_eq!(flag(&asleep, body.as_bytes()), wanted, "{name}: {body}");
    }
}

#[test]
fn what_is_not_listed_is_only_judged_where_the_list_is_of_loaded_models() {
    let judged: Vec<_> = NAMES
        .iter()
        .filter(|name| known(name).watch.models.is_some_and(|list| list.unlisted == Some(State::Absent)))
        .collect();
    assert_eq!(judged, [&"llama_swap", &"ollama", &"localai"]);
}
