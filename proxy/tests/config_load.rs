//! What is read from disk: the deployment file, its model folder, and what is said when they are not right.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

use spillway::config::{Config, Diagnostic, Format, Severity, load, report};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const DEPLOYMENT: &str = r#"models_dir = "models.d"
[engine]
preset = "vllm"
[upstreams.hosted]
kind = "openai"
base_url = "https://host.example.com/v1"
endpoints = ["chat"]
rate_cap = { requests_per_minute = 60, max_concurrency = 4 }
"#;

const MODEL: &str = r#"tasks = { generate = { context_length = 8, max_output_tokens = 4 } }
profiles.remote = { upstream = "hosted", upstream_model = "m" }
routing = { policy = "fallback", fallback_profile = "remote" }
"#;

/// A folder with these files; the first is the deployment file.
fn folder(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let deployment = folder.path().join(files[0].0);
    (folder, deployment)
}

fn unset(_: &str) -> Option<String> {
    None
}

/// What is said, with paths from the folder on.
fn said(path: &Path) -> Vec<String> {
    let found = load(path, &unset).map(|config: Config| config.warnings).unwrap_or_else(|found| found);
    let folder = format!("{}/", path.parent().unwrap().display());
    found.iter().map(|diagnostic| diagnostic.to_string().replace(&folder, "")).collect()
}

#[test]
fn a_deployment_file_that_is_not_there_is_said_to_be_so() {
    let (folder, _) = folder(&[("other.toml", "")]);
    let found = load(&folder.path().join("spillway.toml"), &unset).unwrap_err();
    assert_eq!((found.len(), found[0].line), (1, 0));
    assert!(found[0].to_string().contains("spillway.toml: error: cannot be read: "), "{}", found[0]);
}

#[test]
fn a_file_that_is_not_text_is_said_to_be_so() {
    let (folder, path) = folder(&[("spillway.toml", DEPLOYMENT), ("models.d/a.toml", "")]);
    std::fs::write(folder.path().join("models.d/b.toml"), [b'#', 0xff]).unwrap();
    assert_eq!(said(&path), ["models.d/b.toml: error: is not UTF-8 (TOML files are UTF-8 text)"]);
}

#[test]
fn a_model_folder_holds_toml_files_and_others_are_left_alone() {
    let a = format!("[models.a]\n{MODEL}");
    let files = [
        ("spillway.toml", DEPLOYMENT),
        ("models.d/a.toml", a.as_str()),
        ("models.d/.hidden.toml", "not = toml ="),
        ("models.d/README.md", "not toml"),
        ("models.d/older/b.toml", "not = toml ="),
    ];
    let (_folder, path) = folder(&files);
    let config = load(&path, &unset).unwrap();
    assert_eq!(config.routes.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_model_folder_that_is_not_there_is_a_mistake() {
    let (_folder, path) = folder(&[("spillway.toml", DEPLOYMENT)]);
    let said = said(&path);
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("spillway.toml:1:14: error: models_dir: cannot be read as a folder: "), "{said:?}");
}

#[test]
fn a_model_file_names_upstreams_and_never_defines_one() {
    let text = "remote_serving = true\n[upstreams.evil]\nkind = \"sie\"\n[engine]\n[model.a]\n";
    let (_folder, path) = folder(&[("spillway.toml", DEPLOYMENT), ("models.d/a.toml", text)]);
    let belongs = "this belongs in the deployment file; a model file holds [models.\"name\"] tables only";
    assert_eq!(
        said(&path),
        [
            format!("models.d/a.toml:1:1: error: remote_serving: is not a known key ({belongs})"),
            "models.d/a.toml:2:2: error: upstreams: is not a known key (an upstream is defined in the deployment file; a model file only names one)".to_owned(),
            format!("models.d/a.toml:4:2: error: engine: is not a known key ({belongs})"),
            "models.d/a.toml:5:2: error: model: is not a known key (did you mean \"models\"?)".to_owned(),
        ]
    );
}

#[test]
fn a_name_that_stands_twice_is_named_with_both_places() {
    let inline = format!("{DEPLOYMENT}[models.a]\n{MODEL}");
    let a = format!("[models.b]\n{MODEL}\n[models.a]\n{MODEL}");
    let b = format!("# one line more\n[models.b]\n{MODEL}");
    let (_folder, path) = folder(&[("spillway.toml", &inline), ("models.d/1.toml", &a), ("models.d/2.toml", &b)]);
    assert_eq!(
        said(&path),
        [
            "models.d/1.toml:6:9: error: models.a: is defined twice: first at spillway.toml:9:9 (keep one of them)",
            "models.d/2.toml:2:9: error: models.b: is defined twice: first at models.d/1.toml:1:9 (keep one of them)",
        ]
    );
}

#[test]
fn one_run_reports_the_mistakes_of_every_file() {
    let files = [
        ("spillway.toml", "models_dir = \"models.d\"\nlog = 1\n[engine]\npreset = \"vllm\"\n"),
        ("models.d/a.toml", "[models.a]\nprofiles.remote = { upstream = \"hosted\", upstream_model = \"m\" }\n"),
        ("models.d/b.toml", "[models.b]\ntasks = 1\n[models.b]\n"),
        ("models.d/c.toml", "[models.c\ntasks = 1\n[log]\n"),
    ];
    let (_folder, path) = folder(&files);
    assert_eq!(
        said(&path),
        [
            "spillway.toml:2:7: error: log: must be a table, not a whole number",
            "models.d/a.toml:2:32: error: models.a.profiles.remote.upstream: names an upstream that is not defined (no upstream is defined: add [upstreams.<name>] to the deployment file)",
            "models.d/b.toml:2:9: error: models.b.tasks: must be a table, not a whole number",
            "models.d/b.toml:3:9: error: models.b: stands here for the second time (keep one of them)",
            "models.d/c.toml:1:10: error: is not valid TOML: unclosed table, expected `]`",
        ]
    );
}

#[test]
fn an_upstream_with_mistakes_is_defined_all_the_same() {
    let deployment = DEPLOYMENT.replace("endpoints = [\"chat\"]\n", "");
    let a = format!("[models.a]\n{MODEL}");
    let (_folder, path) = folder(&[("spillway.toml", &deployment), ("models.d/a.toml", &a)]);
    let said = said(&path);
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].starts_with("spillway.toml:4:1: error: upstreams.hosted.endpoints: is required"), "{said:?}");
}

#[test]
fn what_an_unreadable_line_may_have_held_is_not_called_missing() {
    let deployment = DEPLOYMENT.replace("[upstreams.hosted]", "[upstreams.hosted");
    let deployment = deployment.replace("kind", "= 3\nkind");
    let a = format!("[models.a]\n{}", MODEL.replace("hosted", "elsewhere"));
    let (_folder, path) = folder(&[("spillway.toml", &deployment), ("models.d/a.toml", &a)]);
    assert!(said(&path).iter().all(|line| line.contains("is not valid TOML")), "{:#?}", said(&path));
}

#[test]
fn paths_start_from_the_deployment_file() {
    let files = [
        (
            "etc/spillway.toml",
            "listen.tls = { cert_file = \"tls/a.crt\", key_file = \"../b.key\" }\nengine.preset = \"vllm\"\n",
        ),
        ("etc/tls/a.crt", ""),
    ];
    let (folder, path) = folder(&files);
    let config = load(&path, &unset).unwrap();
    let tls = config.listen.tls.unwrap();
    assert_eq!(tls.cert_file, folder.path().join("etc/tls/a.crt"));
    let said: Vec<_> = config.warnings.iter().map(|warning| (warning.key.as_str(), warning.severity)).collect();
    assert_eq!(said, [("listen.tls.key_file", Severity::Warning)]);
}

#[test]
fn an_unclear_switch_is_off_and_worth_a_warning() {
    let (_folder, path) = folder(&[("spillway.toml", "engine.preset = \"vllm\"\n")]);
    let config = load(&path, &|name| (name == "SPILLWAY_REMOTE_SERVING").then(|| "enabled".to_owned())).unwrap();
    assert!(!config.remote_serving);
    assert_eq!(
        config.warnings[0].to_string(),
        "environment: warning: SPILLWAY_REMOTE_SERVING: is neither on nor off, so remote serving is off \
         (1, true, yes and on leave it to the file; 0, false, no and off turn it off)"
    );
}

fn diagnostics() -> Vec<Diagnostic> {
    let (_folder, path) =
        folder(&[("f", "models.m = { max_sequence_length = 8 }\nlog = 1\nengine = { preset = \"vllm\" }\n")]);
    let mut found = load(&path, &unset).unwrap_err();
    found.iter_mut().for_each(|diagnostic| diagnostic.file = "f".into());
    found
}

#[test]
fn a_report_for_people_has_a_line_each_and_a_count() {
    assert_eq!(
        report(&diagnostics(), Format::Human),
        "f:1:14: warning: models.m.max_sequence_length: is checked, and not acted on in this version (inputs are not measured before they are sent)\n\
         f:2:7: error: log: must be a table, not a whole number\n\
         1 mistake, 1 warning\n"
    );
    assert_eq!(report(&[], Format::Human), "no mistakes, no warnings\n");
}

#[test]
fn a_report_for_machines_has_every_field() {
    let report: serde_json::Value = serde_json::from_str(&report(&diagnostics(), Format::Json)).unwrap();
    assert_eq!((&report["mistakes"], &report["warnings"]), (&1.into(), &1.into()));
    let expected = serde_json::json!({
        "severity": "error", "file": "f", "line": 2, "column": 7, "key": "log", "problem": "must be a table, not a whole number", "hint": "",
    });
    assert_eq!(report["diagnostics"][1], expected);
}
