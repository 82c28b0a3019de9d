//! What a configuration means: every key ends up where it belongs, and every default is what the reference says.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "config/support.rs"]
mod support;

use spillway::config::{AccessLog, Address, Config, Drain, LogFormat, parse};
use spillway_filters::refusal::{Claim, Phase};
use spillway_policies::model::Selector;
use spillway_policies::routing::{Policy, Profile, Route, Sparse};
use spillway_policies::surface::Task;
use spillway_policies::upstream::{CredentialRef, Endpoint, Kind, Timeouts, TlsFiles};
use spillway_policies::{Consent, Trigger, TriggerSet, breaker, rate_cap};
use std::path::PathBuf;
use support::{files, here};

fn with_keys(name: &str) -> Option<String> {
    name.ends_with("_KEY").then(|| "set".to_owned())
}

fn accepted(file: &str) -> Config {
    let text = std::fs::read_to_string(here(file)).unwrap();
    parse(file, &text, &with_keys).unwrap_or_else(|found| panic!("{file}: {found:#?}"))
}

fn every_key() -> Config {
    accepted("tests/config/accepted/every_key.toml")
}

#[test]
fn what_surrounds_a_request_is_read() {
    let config = every_key();
    let unread = ["listen.fast_lane", "max_sequence_length"];
    assert!(config.warnings.iter().all(|warning| unread.iter().any(|key| warning.key.ends_with(key))));
    assert!(!config.remote_serving);
    let listen = &config.listen;
    assert_eq!(listen.address, Address::Tcp("[::1]:8088".into()));
    assert_eq!(
        (listen.max_body_bytes, listen.max_held_bytes, listen.workers, listen.fast_lane),
        (1024, 4096, 0, false)
    );
    assert_eq!((listen.first_byte_budget_ms, listen.head_timeout_ms), (100_500, 250));
    assert_eq!((listen.body_timeout_ms, listen.idle_timeout_ms), (6_000, 7_000));
    let tls = listen.tls.as_ref().unwrap();
    assert_eq!((&tls.cert_file, &tls.key_file), (&PathBuf::from("tls/front.crt"), &PathBuf::from("/etc/front.key")));
    assert_eq!(tls.client_ca_file, Some(PathBuf::from("tls/callers.pem")));
    assert_eq!(config.admin, Address::Tcp("127.0.0.1:9902".into()));
    assert_eq!(config.drain, Drain { lame_duck_ms: 5_000, max_ms: 0 });
    assert_eq!((config.log.format, config.log.access), (LogFormat::Json, AccessLog::Bridged));
}

#[test]
fn the_engine_and_its_recognisers_are_read() {
    let engine = every_key().engine;
    assert_eq!((engine.preset.name, &engine.address), ("sie", &Address::Tcp("10.0.0.7:8081".into())));
    assert_eq!((engine.path_prefix.as_str(), engine.max_in_flight), ("/api", Some(8)));
    assert_eq!((engine.connect_ms, engine.first_byte_ms, engine.idle_ms), (100, 30_000, 60_000));
    let [head, prime] = &engine.rules[..] else { panic!("{:?}", engine.rules) };
    assert_eq!((head.phase, &head.status[..], head.trigger), (Phase::Head, &[429, 503][..], Some(Trigger::Saturated)));
    assert_eq!((head.header[0].0.as_ref(), head.header[0].1.as_ref()), ("x-state", "*"));
    let json: Vec<_> = head.json.iter().map(|(pointer, value)| (pointer.as_ref(), value.as_ref())).collect();
    assert_eq!(json, [("/error/code", "later"), ("/error/status", "503"), ("/retry", "true")]);
    assert!(head.any_json.is_empty() && head.text.is_empty() && head.content_type.is_none());
    assert_eq!(head.certainty, Claim::Certain);
    assert_eq!((prime.phase, prime.any_json.len(), prime.text[0].as_ref()), (Phase::Prime, 2, "not now"));
    assert_eq!((prime.content_type.as_deref(), prime.certainty), (Some("text/event-stream"), Claim::Ambiguous));
}

#[test]
fn the_upstreams_are_read() {
    let config = every_key();
    let [hosted, team] = &config.upstreams[..] else { panic!("{:?}", config.upstreams) };
    assert_eq!((hosted.name.as_str(), team.name.as_str()), ("hosted", "team-sie"));
    assert_eq!(hosted.kind, Kind::Openai(vec![Endpoint::Chat, Endpoint::Embeddings, Endpoint::Rerank]));
    assert_eq!(hosted.credential, Some(CredentialRef::Env("HOSTED_KEY".into())));
    let set: Vec<_> = hosted.params.set.iter().map(|(name, json)| (name.as_str(), json.as_str())).collect();
    assert_eq!(set, [("nested", r#"{"list":[1,"two"]}"#), ("store", "false"), ("temperature", "0.5")]);
    assert_eq!(hosted.params.strip, ["user", "seed"]);
    assert_eq!((hosted.breaker, hosted.timeouts), (breaker::Settings::default(), Timeouts::default()));

    assert_eq!((&team.kind, team.base_url.as_str()), (&Kind::Sie, "https://sie.example.internal/base"));
    assert_eq!(team.credential, Some(CredentialRef::File("secrets/token".into())));
    assert_eq!(team.rate_cap, rate_cap::Settings { requests_per_minute: 600, max_concurrency: 32 });
    assert_eq!(team.breaker, breaker::Settings { failures: 3, window_ms: 1_500, cooldown_ms: 3_600_000 });
    assert_eq!(team.timeouts, Timeouts { connect_ms: 1_000, first_byte_ms: 2_000, idle_ms: 3_000, total_ms: 4_000 });
    let client = Some(("tls/c.crt".into(), "tls/c.key".into()));
    assert_eq!(team.tls, TlsFiles { ca_file: Some("tls/ca.pem".into()), client });
}

#[test]
fn the_models_are_read() {
    let config = every_key();
    let names: Vec<_> = config.routes.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["org/chat", "org/hosted-only", "org/named", "plain"]);

    let chat = config.routes.named("org/chat").unwrap();
    let Policy::Fallback { remote, triggers } = &chat.policy else { panic!("{:?}", chat.policy) };
    assert_eq!((remote.upstream.name.as_str(), remote.model.as_str()), ("team-sie", "org/chat:default"));
    assert_eq!(remote.max_batch, Some(16));
    assert_eq!(*triggers, TriggerSet::EMPTY.with(Trigger::Saturated).with(Trigger::Unhealthy));
    assert!([Task::Generate, Task::Extract, Task::Transcribe].into_iter().all(|task| chat.tasks.has(task)));
    assert_eq!((chat.tasks.context_length, chat.tasks.max_output_tokens), (Some(8192), Some(1024)));
    assert_eq!(chat.tasks.max_sequence_length, Some(512));
    assert!(matches!(chat.profiles["default"], Profile::Local) && matches!(chat.profiles["other"], Profile::Remote(_)));

    let only = config.routes.named("org/hosted-only").unwrap();
    assert!(
        only.remote_backed
            && matches!(&only.policy, Policy::RemoteOnly { remote } if remote.model.as_str() == "vendor/embed")
    );
    assert_eq!((only.tasks.dense_dim, only.tasks.multivector_dim), (Some(4), Some(128)));
    assert_eq!(only.tasks.sparse, Some(Sparse { dim: None }));

    let named = config.routes.named("org/named").unwrap();
    assert!(matches!(named.policy, Policy::Local) && matches!(named.profiles["default"], Profile::Local));
    assert_eq!(named.tasks.sparse, Some(Sparse { dim: Some(30_000) }));
    assert!(matches!(config.routes.named("plain").unwrap().profiles["default"], Profile::Local));
}

#[test]
fn models_share_one_upstream() {
    let config = every_key();
    let Profile::Remote(other) = &config.routes.named("org/chat").unwrap().profiles["other"] else { panic!("remote") };
    assert!(std::sync::Arc::ptr_eq(&other.upstream, &config.upstreams[0]));
}

#[test]
fn a_name_with_a_tag_is_found_whole() {
    let config = accepted("tests/config/accepted/names_with_tags.toml");
    let route = config.routes.resolve(&Selector::parse("qwen3:8b", None), Consent::Given);
    assert!(matches!(route, Ok(Route::Hybrid { remote, .. }) if remote.model.as_str() == "vendor/qwen3-8b"));
}

#[test]
fn an_engine_without_an_address_is_at_its_presets_port() {
    let config = accepted("tests/config/accepted/minimal.toml");
    assert_eq!(config.engine.address, Address::Tcp(format!("127.0.0.1:{}", config.engine.preset.port)));
    assert_eq!((config.engine.path_prefix.as_str(), config.engine.max_in_flight), ("", None));
}

#[test]
fn threshold_is_fallback_with_the_usual_triggers() {
    let config = accepted("tests/config/accepted/threshold.toml");
    let policy = &config.routes.named("org/sleepy").unwrap().policy;
    assert!(matches!(policy, Policy::Fallback { triggers, .. } if *triggers == TriggerSet::default()));
    assert_eq!(config.warnings.len(), 1);
}

/// What must be written, and nothing else.
const REQUIRED: &str = r#"
[engine]
preset = "sie"
base_url = "http://127.0.0.1:8081"
[upstreams.example]
kind = "openai"
base_url = "https://host.example.com/v1"
endpoints = ["chat", "completions"]
api_key_secret = "EXAMPLE_KEY"
rate_cap = { requests_per_minute = 60, max_concurrency = 4 }
[models."org/chat"]
tasks = { generate = { context_length = 8192, max_output_tokens = 1024 } }
profiles.remote = { upstream = "example", upstream_model = "vendor/chat-8b" }
routing = { policy = "fallback", fallback_profile = "remote" }
"#;

#[test]
fn the_reference_is_the_defaults() {
    let reference = accepted("examples/reference.toml");
    let required = parse("required", REQUIRED, &with_keys).unwrap();
    assert_eq!(format!("{reference:#?}"), format!("{required:#?}"));
}

/// The keys that each table knows, as it says itself when asked for one that nobody could mean.
#[test]
fn the_reference_names_every_key() {
    let reference = std::fs::read_to_string(here("examples/reference.toml")).unwrap();
    let probes = [
        "qqqqqqqq = 1",
        "[listen]\nqqqqqqqq = 1\n[listen.tls]\nqqqqqqqq = 1",
        "[admin]\nqqqqqqqq = 1",
        "[engine]\nqqqqqqqq = 1\n[engine.timeouts]\nqqqqqqqq = 1\n[[engine.refusal]]\nqqqqqqqq = 1\nwhen = { qqqqqqqq = 1 }",
        "[upstreams.a]\nqqqqqqqq = 1\nrate_cap = { qqqqqqqq = 1 }\nbreaker = { qqqqqqqq = 1 }\ntimeouts = { qqqqqqqq = 1 }\ntls = { qqqqqqqq = 1 }\nequivalence = { qqqqqqqq = 1 }",
        "[models.a]\nqqqqqqqq = 1\nrouting = { qqqqqqqq = 1 }\nprofiles.a = { qqqqqqqq = 1, reasoning = { qqqqqqqq = 1 } }",
        "[models.a.tasks]\nqqqqqqqq = 1\nencode = { qqqqqqqq = 1, dense = { qqqqqqqq = 1 } }\ngenerate = { qqqqqqqq = 1 }",
        "[drain]\nqqqqqqqq = 1\n[log]\nqqqqqqqq = 1\n[shared_state]\nqqqqqqqq = 1",
    ];
    let mut keys = Vec::new();
    for probe in probes {
        let found = parse("probe", probe, &|_| None).unwrap_err();
        let known = found.iter().filter_map(|diagnostic| diagnostic.hint.strip_prefix("known here: "));
        let before = keys.len();
        keys.extend(known.flat_map(|known| known.split(", ")).map(str::to_owned).collect::<Vec<_>>());
        assert!(keys.len() > before, "{probe}: {found:#?}");
    }
    assert!(keys.len() > 80, "{keys:?}");
    for key in keys {
        let is_key = |(at, _): (usize, &str)| {
            let (before, after) = (&reference[..at], &reference[at + key.len()..]);
            !before.ends_with(|c: char| c.is_alphanumeric() || c == '_') && after.starts_with([' ', '.', ']'])
        };
        assert!(reference.match_indices(&key).any(is_key), "{key} is not in the reference");
    }
}

#[test]
fn the_reference_names_every_preset_of_this_version() {
    let reference = std::fs::read_to_string(here("examples/reference.toml")).unwrap();
    let line = reference.lines().find(|line| line.starts_with("preset = ")).unwrap();
    for name in spillway_filters::presets::NAMES {
        assert!(line.contains(name), "{name} is not in: {line}");
    }
}

#[test]
fn every_example_can_be_used() {
    let examples = files("examples");
    assert!(examples.len() >= 9, "{examples:?}");
    for path in examples {
        let config = spillway::config::load(&path, &with_keys).unwrap_or_else(|found| panic!("{found:#?}"));
        for warning in &config.warnings {
            assert_eq!(warning.problem, "names a file that is not there now", "{warning}");
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let is_story = text.starts_with("# Story: ") || path.ends_with("reference.toml");
        assert!(is_story, "{} says in its first line what it is for", path.display());
    }
}

#[test]
fn a_model_folder_is_read_from_beside_its_file() {
    let config = spillway::config::load(&here("examples/one_model_at_a_time.toml"), &with_keys).unwrap();
    let names: Vec<_> = config.routes.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["org/chat", "vendor/big", "vendor/embed"]);
}

#[test]
fn a_printed_configuration_names_no_key_variable() {
    let printed = format!("{:#?}", every_key());
    assert!(printed.contains("secrets/token") && !printed.contains("HOSTED_KEY"));
}
