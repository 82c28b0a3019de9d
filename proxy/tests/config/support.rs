//! What the tests of the configuration share: files beside them, and JSON written as TOML.
#![allow(dead_code, reason = "each test binary uses its own part")]

use serde_json::Value;
use std::path::{Path, PathBuf};

/// A path in this package.
pub(crate) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Whether expectations are to be written anew.
pub(crate) fn blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Compares a text with `config/<name>`, or writes it there.
pub(crate) fn golden(name: &str, seen: &str) {
    let path = here("tests/config").join(name);
    if blessing() {
        std::fs::write(&path, seen).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(seen == expected, "{name} is not what is said now; see it with BLESS=1 and git diff\n{seen}");
}

/// The `*.toml` files of a folder in this package, in the order of their names.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(here(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    files.sort();
    assert!(!files.is_empty(), "{folder} is empty");
    files
}

/// A JSON value as a TOML value on one line.
pub(crate) fn as_toml(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(as_toml).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(key, value)| format!("{} = {}", Value::from(key.as_str()), as_toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Null => panic!("TOML has no null"),
        scalar => scalar.to_string(),
    }
}
