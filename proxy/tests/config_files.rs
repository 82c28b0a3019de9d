//! Every file in `config/accepted` is accepted and every one in `config/refused` is refused, with exactly what its first lines say.
//!
//! A line `#! 3:1: error: …` is one expected diagnostic without the file's name. `BLESS=1` writes these lines anew.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "config/support.rs"]
mod support;

use spillway::config::{Diagnostic, parse};
use std::path::Path;
use support::{blessing, files};

const EXPECTED: &str = "#! ";

/// What is said about a text, without the file's name.
fn said(text: &str) -> (bool, Vec<String>) {
    let env = |name: &str| name.ends_with("_KEY").then(|| "set".to_owned());
    let (accepted, found) = match parse("f", text, &env) {
        Ok(config) => (true, config.warnings),
        Err(found) => (false, found),
    };
    let line = |diagnostic: &Diagnostic| diagnostic.to_string().trim_start_matches("f:").to_owned();
    (accepted, found.iter().map(line).collect())
}

/// Writes the expected lines anew. They move the places they name, so their number has to settle first.
fn bless(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let body: String =
        text.lines().filter(|line| !line.starts_with(EXPECTED)).map(|line| format!("{line}\n")).collect();
    let with = |lines: &[String]| lines.iter().map(|line| format!("{EXPECTED}{line}\n")).collect::<String>() + &body;
    let settled = with(&said(&body).1);
    std::fs::write(path, with(&said(&settled).1)).unwrap();
}

fn check(folder: &str, accepted: bool) {
    for path in files(folder) {
        if blessing() {
            bless(&path);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let expected: Vec<_> = text.lines().map_while(|line| line.strip_prefix(EXPECTED)).collect();
        let seen = said(&text);
        assert_eq!(seen.1, expected, "{}", path.display());
        assert_eq!(seen.0, accepted, "{}", path.display());
        assert!(accepted || !expected.is_empty(), "{}: a refused file says why", path.display());
    }
}

#[test]
fn accepted_files_are_accepted_with_their_warnings() {
    check("tests/config/accepted", true);
}

#[test]
fn refused_files_are_refused_with_every_mistake() {
    check("tests/config/refused", false);
}

#[test]
fn nothing_that_was_planted_is_repeated() {
    for path in files("tests/config/refused").iter().chain(&files("tests/config/accepted")) {
        let text = std::fs::read_to_string(path).unwrap();
        for line in said(&text).1 {
            for planted in ["nobody-sees-this", "hf_kZ8s", "://user", "FORGOTTEN", "egress.internal"] {
                assert!(!line.contains(planted), "{}: {line}", path.display());
            }
        }
    }
}
