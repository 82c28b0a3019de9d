//! `spillway check` says how much of the engine's preset nobody has seen run; that alone is no mistake.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

use std::process::Command;

/// What `spillway check` says of a configuration, and its exit code.
fn checked(preset: &str, arguments: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spillway.toml");
    std::fs::write(&file, format!("engine = {{ preset = \"{preset}\", base_url = \"http://127.0.0.1:8081\" }}\n"))
        .unwrap();
    let checked =
        Command::new(env!("CARGO_BIN_EXE_spillway")).arg("check").arg(&file).args(arguments).output().unwrap();
    (String::from_utf8(checked.stdout).unwrap().replace(&*folder.path().to_string_lossy(), "."), checked.status.code())
}

#[test]
fn rows_that_nobody_has_seen_are_one_warning() {
    let (said, code) = checked("tei", &[]);
    let warned = "./spillway.toml:1:21: warning: engine.preset: 4 of the 4 things Spillway knows of this engine were read in its \
                  source or documents, and never seen on a running server (proxy/docs/engines.md lists them)\n\
                  no mistakes, 1 warning\n./spillway.toml: fine\n";
    assert_eq!((said.as_str(), code), (warned, Some(0)));
    let (said, code) = checked("tei", &["-o", "json"]);
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    let warning = &report["diagnostics"][0];
    assert_eq!((&report["warnings"], &warning["key"]), (&1.into(), &"engine.preset".into()));
    assert_eq!((&warning["line"], &warning["column"]), (&1.into(), &21.into()));
    assert_eq!(code, Some(0));
}

#[test]
fn a_preset_that_was_seen_to_run_is_not_worth_a_word() {
    for preset in ["llama_cpp", "openai"] {
        let (said, code) = checked(preset, &[]);
        assert_eq!((said.as_str(), code), ("no mistakes, no warnings\n./spillway.toml: fine\n", Some(0)), "{preset}");
    }
}
