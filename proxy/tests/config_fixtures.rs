//! Which configurations are accepted, against the executed verdicts in `fixtures/config_cases.json`.
//!
//! The documents of the fixture are YAML; each is written as TOML here. What Spillway decides otherwise, and what has no TOML form,
//! is listed by name with the reason. What is said about every row stands in `config/{upstream,model}_verdicts.txt`; `BLESS=1` writes
//! them anew.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "config/support.rs"]
mod support;

use serde_json::{Map, Value, json};
use spillway::config::{Diagnostic, parse};
use std::fmt::Write as _;
use support::{as_toml, golden};

/// Rows without a TOML form, or about something that is not in a configuration file.
const LEFT_OUT: &[(&str, &str)] = &[
    ("upstreams null", "TOML has no null"),
    ("top-level list", "a TOML document is a table"),
    ("set nested non-string key", "a TOML key is a string"),
    ("threshold on a single node", "threshold is served as fallback, with a warning, on any node"),
    (
        "fallback with encode or score in a queue worker (SIE_IPC_SOCKET_PATH set)",
        "there is no queue worker beside a sidecar",
    ),
    (
        "fallback, remote adapter does not declare an output of the model",
        "there are no adapters; an openai upstream's endpoints are checked",
    ),
    ("fallback, generation model whose remote adapter is not a generation adapter", "there are no adapters"),
    ("device cuda without an index", "the device is the engine's own business"),
    (
        "SIE hybrid, remote runtime option absent or different locally",
        "hybrid encode and score are not in this version",
    ),
    ("OpenAI hybrid, remote runtime not equal to local runtime", "hybrid encode and score are not in this version"),
    ("hybrid with output_dtype other than float32", "hybrid encode and score are not in this version"),
    ("--upstreams-file invalid (typed flag)", "there is one deployment file, and it must be right"),
    ("SIE_UPSTREAMS_FILE invalid (environment)", "there is one deployment file, and it must be right"),
];

/// Rows that are decided otherwise, and why.
const DECIDED_OTHERWISE: &[(&str, &str)] = &[
    ("rate_cap bool true", "a whole number is a whole number: true is none"),
    (
        "fallback without default profile",
        "a model that is not remote-backed has its local default profile without writing it",
    ),
];

/// Rows that are right but for this: they fall back for a model that encodes.
const HYBRID_ENCODE: &[&str] = &[
    "fallback default triggers",
    "fallback triggers ['provisioning']",
    "fallback triggers ['provisioning', 'model_loading', 'saturated', 'unhealthy']",
    "threshold ok (shape only)",
];

/// YAML documents that the fixture holds as text, written as TOML.
const AS_TOML: &[(&str, &str)] = &[
    (
        "set non-finite",
        "[upstreams.a]\nkind = \"openai\"\nbase_url = \"https://h.example\"\nendpoints = [\"chat\"]\nrate_cap = { requests_per_minute = 1, max_concurrency = 1 }\nset_params = { x = inf }\n",
    ),
    (
        "set yaml date",
        "[upstreams.a]\nkind = \"openai\"\nbase_url = \"https://h.example\"\nendpoints = [\"chat\"]\nrate_cap = { requests_per_minute = 1, max_concurrency = 1 }\nset_params = { x = 2020-01-01 }\n",
    ),
    (
        "duplicate upstream name",
        "[upstreams.a]\nkind = \"sie\"\nbase_url = \"https://h\"\nrate_cap = { requests_per_minute = 1, max_concurrency = 1 }\n[upstreams.a]\nkind = \"sie\"\n",
    ),
    (
        "duplicate field",
        "[upstreams.a]\nkind = \"sie\"\nkind = \"sie\"\nbase_url = \"https://h\"\nrate_cap = { requests_per_minute = 1, max_concurrency = 1 }\n",
    ),
    ("invalid yaml", "upstreams = [\n"),
];

const ENGINE: &str = "engine = { preset = \"sie\", base_url = \"http://127.0.0.1:8081\" }\n";

fn cases(group: &str) -> Vec<Value> {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/config_cases.json")).unwrap();
    fixture["cases"][group].as_array().unwrap().clone()
}

fn name(case: &Value) -> &str {
    case["name"].as_str().unwrap()
}

fn is_in(table: &[(&str, &str)], case: &Value) -> bool {
    table.iter().any(|(listed, _)| *listed == name(case))
}

/// What is said about a document with every variable set, whether it is accepted or not.
fn judged(text: &str) -> (bool, Vec<Diagnostic>) {
    let env = |name: &str| (!name.ends_with("REMOTE_SERVING")).then(|| "set".to_owned());
    match parse("f", text, &env) {
        Ok(config) => (true, config.warnings),
        Err(found) => (false, found),
    }
}

/// Compares a verdict with the row's, and adds what was said to the record.
fn judge(case: &Value, text: &str, record: &mut String) {
    let (accepted, found) = judged(text);
    let expected = case["accept"].as_bool().unwrap() != is_in(DECIDED_OTHERWISE, case);
    assert_eq!(accepted, expected, "{}: {found:#?}\n{text}", name(case));
    writeln!(record, "{}: {}", name(case), if accepted { "accepted" } else { "refused" }).unwrap();
    for diagnostic in found {
        writeln!(record, "    {diagnostic}").unwrap();
    }
}

#[test]
fn every_upstream_verdict_holds() {
    let mut record = String::new();
    for case in cases("upstreams").iter().filter(|case| !is_in(LEFT_OUT, case)) {
        let text = match AS_TOML.iter().find(|(listed, _)| *listed == name(case)) {
            Some((_, text)) => (*text).to_owned(),
            None => top_level(case["document"].as_object().unwrap()),
        };
        judge(case, &format!("{ENGINE}{text}"), &mut record);
    }
    golden("upstream_verdicts.txt", &record);
}

fn top_level(document: &Map<String, Value>) -> String {
    document.iter().map(|(key, value)| format!("{} = {}\n", Value::from(key.as_str()), as_toml(value))).collect()
}

/// A SIE model file as a `[models]` entry: its name becomes the key, an adapter becomes an upstream or nothing.
fn model(sie: &Value) -> (String, Value) {
    let mut model = sie.as_object().unwrap().clone();
    let name = model.remove("sie_id").unwrap().as_str().unwrap().to_owned();
    if model.get("remote_backed") != Some(&Value::Bool(true)) {
        model.remove("hf_id");
    }
    if let Some(Value::Object(profiles)) = model.get_mut("profiles") {
        for profile in profiles.values_mut() {
            *profile = self::profile(profile);
        }
    }
    (name, Value::Object(model))
}

fn profile(sie: &Value) -> Value {
    let is_remote = sie["adapter_path"].as_str().unwrap().starts_with("sie_server.adapters.remote.");
    if is_remote { sie["adapter_options"]["loadtime"].clone() } else { json!({}) }
}

fn document(model: (String, Value), upstreams: &Value) -> String {
    let models = json!({ model.0: model.1 });
    format!("{ENGINE}upstreams = {}\nmodels = {}\n", as_toml(upstreams), as_toml(&models))
}

fn team_sie() -> Value {
    let rate_cap = json!({ "requests_per_minute": 600, "max_concurrency": 8 });
    json!({ "team-sie": { "kind": "sie", "base_url": "https://h.example", "rate_cap": rate_cap } })
}

/// The same model with a task that may be bridged, so that a verdict about routing is about nothing else.
fn generating(mut model: (String, Value)) -> (String, Value) {
    let policy = model.1["routing"]["policy"].as_str().unwrap_or_default();
    if policy != "remote_only" && model.1.get("routing").is_some() {
        model.1["tasks"] = json!({ "generate": { "context_length": 8192, "max_output_tokens": 1024 } });
    }
    model
}

#[test]
fn every_model_verdict_holds() {
    let mut record = String::new();
    for case in cases("models") {
        judge(&case, &document(generating(model(&case["document"])), &team_sie()), &mut record);
    }
    for case in cases("load_time") {
        judge(&case, &document(generating(model(&case["model"])), &case["upstreams"]), &mut record);
    }
    golden("model_verdicts.txt", &record);
}

#[test]
fn a_hybrid_model_that_encodes_is_refused_for_that_alone() {
    let cases = cases("models");
    for listed in HYBRID_ENCODE {
        let case = cases.iter().find(|case| name(case) == *listed).unwrap_or_else(|| panic!("no row {listed}"));
        let (accepted, found) = judged(&document(model(&case["document"]), &team_sie()));
        let mistakes: Vec<_> = found.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        assert!(!accepted && mistakes.len() == 1, "{listed}: {found:#?}");
        assert_eq!(mistakes[0].key, "models.\"org/name\".tasks.encode", "{listed}");
        assert!(mistakes[0].problem.contains("not in this version"), "{listed}: {}", mistakes[0]);
    }
}

#[test]
fn the_switch_follows_its_verdicts() {
    let rows = cases("runtime_gates");
    let mut seen = 0;
    for case in rows.iter().filter(|case| name(case).starts_with("SIE_REMOTE_SERVING")) {
        let value = name(case).split_once('=').map(|(_, value)| value.to_owned());
        let expected = case["remote_serving"].as_bool().unwrap_or(true);
        for variable in ["SIE_REMOTE_SERVING", "SPILLWAY_REMOTE_SERVING"] {
            let env = |asked: &str| (asked == variable).then(|| value.clone()).flatten();
            assert_eq!(parse("f", ENGINE, &env).unwrap().remote_serving, expected, "{} as {variable}", name(case));
            let off = format!("remote_serving = false\n{ENGINE}");
            assert!(!parse("f", &off, &env).unwrap().remote_serving, "{}: the file's word stands", name(case));
        }
        seen += 1;
    }
    assert_eq!(seen, 8);
}

#[test]
fn a_threshold_window_has_its_bound() {
    let routing = |window_s: u64| {
        let figures = json!({ "wake_above": 2.0, "sleep_below": 0.5, "window_s": window_s, "cooldown_s": 60 });
        let case = cases("models").into_iter().find(|case| name(case) == "threshold ok (shape only)").unwrap();
        let mut model = generating(model(&case["document"]));
        model.1["routing"].as_object_mut().unwrap().extend(figures.as_object().unwrap().clone());
        document(model, &team_sie())
    };
    assert!(cases("runtime_gates").iter().any(|case| name(case) == "threshold window_s or cooldown_s above 86400"));
    assert!(judged(&routing(86_400)).0);
    assert!(!judged(&routing(86_401)).0);
}

#[test]
fn every_row_is_run_or_listed_and_every_listed_row_exists() {
    let groups = [cases("upstreams"), cases("models"), cases("load_time"), cases("runtime_gates")];
    assert_eq!(groups.each_ref().map(Vec::len), [90, 49, 5, 19]);
    let listed = LEFT_OUT.iter().chain(DECIDED_OTHERWISE).chain(AS_TOML).map(|(listed, _)| *listed);
    for listed in listed.chain(HYBRID_ENCODE.iter().copied()) {
        assert!(groups.iter().flatten().any(|case| name(case) == listed), "no row is called {listed}");
    }
    for case in &groups[3] {
        let run = name(case).starts_with("SIE_REMOTE_SERVING") || name(case).starts_with("threshold window_s");
        assert!(run != is_in(LEFT_OUT, case), "{} must be run or listed", name(case));
    }
}
