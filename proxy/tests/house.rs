//! The walls of the house: who may import whom, how long a file and a function may be, and which words are not used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const LONGEST_FILE: usize = 600;
const LONGEST_FUNCTION: usize = 80;

/// Who may depend on whom inside the workspace; the second list holds for tests only.
const EDGES: [(&str, &[&str], &[&str]); 5] = [
    ("spillway-policies", &[], &[]),
    ("spillway-filters", &["spillway-policies"], &[]),
    ("spillway", &["spillway-policies", "spillway-filters"], &["spillway-conformance"]),
    ("spillway-shim", &["spillway-filters"], &[]),
    ("spillway-conformance", &[], &[]),
];

/// Crates that do IO, which the pure rooms must not even reach.
const IO_CRATES: [&str; 6] = ["tokio", "pingora-core", "rustls", "toml", "tracing", "clap"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is the parent of this crate").to_owned()
}

fn sources() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = EDGES.iter().map(|(name, ..)| root().join(folder(name))).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the workspace").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 20, "the sources were not found");
    found
}

fn folder(name: &str) -> &str {
    match name {
        "spillway" => "proxy",
        "spillway-shim" => "worker-shim",
        other => other.strip_prefix("spillway-").expect("workspace crates are named spillway-*"),
    }
}

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

#[test]
fn imports_flow_one_way() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let edges: BTreeMap<_, _> = EDGES.iter().map(|(name, normal, dev)| (*name, (*normal, *dev))).collect();
    assert_eq!(packages.len(), edges.len(), "a crate was added: say here what it may import");
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let (normal, dev) = edges.get(name).unwrap_or_else(|| panic!("{name} is not in the house"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("a name");
            let is_dev = dependency["kind"] == "dev";
            if edges.contains_key(to) {
                assert!(normal.contains(&to) || (is_dev && dev.contains(&to)), "{name} must not import {to}");
            }
            if ["spillway-policies", "spillway-filters"].contains(&name) && !is_dev {
                assert!(!IO_CRATES.contains(&to), "{name} must not reach {to}: it is pure");
            }
        }
    }
}

#[test]
fn files_and_functions_stay_within_their_walls() {
    let mut faults = Vec::new();
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("a source file");
        // Generated tables and recorded bytes live in fixtures, not in sources.
        let lines: Vec<&str> = text.lines().collect();
        let tests = lines.windows(2).position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod "));
        let code = tests.unwrap_or(lines.len());
        if code > LONGEST_FILE {
            faults.push(format!("{}: {code} lines, the wall is {LONGEST_FILE}", path.display()));
        }
        for (line, length) in functions(&text) {
            if length > LONGEST_FUNCTION {
                faults.push(format!(
                    "{}:{line}: a function of {length} lines, the wall is {LONGEST_FUNCTION}",
                    path.display()
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// First line and length of each function, by the indentation that rustfmt gives its closing brace.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let starts = code.split_whitespace().take_while(|word| *word != "fn").all(|word| {
            word.starts_with("pub") || word.ends_with(")") || ["async", "const", "unsafe", "extern"].contains(&word)
        });
        if !starts || !code.split_whitespace().any(|word| word == "fn") {
            continue;
        }
        let closing = format!("{}}}", &line[..line.len() - code.len()]);
        if let Some(length) = lines[at..].iter().position(|line| *line == closing) {
            found.push((at + 1, length + 1));
        }
    }
    found
}

#[test]
fn the_function_wall_can_be_hit() {
    let body = "    work();\n".repeat(LONGEST_FUNCTION);
    let text = format!("pub(crate) async fn long() {{\n{body}}}\n");
    assert_eq!(functions(&text), [(1, LONGEST_FUNCTION + 2)]);
}

/// One word per thing: what the glossary of ARCHITECTURE.md calls otherwise.
const UNUSED_WORDS: [&str; 5] = ["backend", "backends", "failover", "throttle", "middleware"];

#[test]
fn one_word_per_thing() {
    let documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
    let texts = sources().into_iter().chain(documents.iter().map(|name| root().join(name)));
    let mut faults = Vec::new();
    // What an engine says and where it is asked are its own words.
    let elsewhere = [
        "conformance",
        "filters/src/presets",
        "filters/tests/engine_refusals.rs",
        "proxy/tests/house.rs",
        "worker-shim/src/identity/table.rs",
    ];
    let is_ours = |path: &PathBuf| !elsewhere.iter().any(|place| path.starts_with(root().join(place)));
    for path in texts.filter(is_ours) {
        let text = std::fs::read_to_string(&path).expect("a text").to_lowercase();
        for (at, line) in text.lines().enumerate() {
            let words = line.split(|letter: char| !letter.is_alphanumeric());
            let found = words.filter(|word| UNUSED_WORDS.contains(word));
            faults.extend(found.map(|word| format!("{}:{}: {word}", path.display(), at + 1)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_the_client_writes_to_callers() {
    let allowed: BTreeSet<&str> =
        ["client.rs", "relay.rs", "connection.rs", "intake.rs", "tunnel.rs", "stream.rs"].into();
    for path in sources()
        .iter()
        .filter(|path| path.starts_with(root().join("proxy/src")) && !path.starts_with(root().join("proxy/src/demo")))
    {
        let text = std::fs::read_to_string(path).expect("a source file");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a file name");
        assert!(allowed.contains(name) || !text.contains("Connection::write("), "{name} writes to a caller");
    }
}

#[test]
fn every_module_says_which_question_it_answers() {
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("a source file");
        assert!(text.starts_with("//!"), "{} starts without `//!`", path.display());
    }
}

#[test]
fn the_map_names_only_what_is_there() {
    let (sources, text) = (sources(), std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a text"));
    let words = text.split(|letter: char| !(letter.is_alphanumeric() || "_./-".contains(letter)));
    let paths: BTreeSet<&str> = words.filter(|word| word.ends_with(".rs") || word.ends_with('/')).collect();
    assert!(paths.len() > 20, "the paths were not found");
    // Behind the first path of a row the others are shortened.
    let is_there = |path: &&str| {
        root().join(path).exists() || sources.iter().any(|file| file.ancestors().any(|part| part.ends_with(path)))
    };
    let gone: Vec<_> = paths.into_iter().filter(|path| !is_there(path)).collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md names {gone:?}");
}
