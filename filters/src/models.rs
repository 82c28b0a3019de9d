//! What does `/v1/models` say about routing? The engine's list, with policy and upstream kind filled in and remote-backed models added.

use percent_encoding::percent_decode;
use serde_json::{Map, Value, json};

/// What the configuration says about one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its policy, when it has one.
    pub policy: Option<&'static str>,
    /// The kind of its upstream, when it has one.
    pub upstream_kind: Option<&'static str>,
    /// No local engine has it.
    pub remote_backed: bool,
}

/// The model that the path `/v1/models/{m}` names; none for the list.
#[must_use]
pub fn wanted(path: &[u8]) -> Option<String> {
    let name = path.strip_prefix(b"/v1/models/")?;
    (!name.is_empty()).then(|| percent_decode(name).decode_utf8_lossy().into_owned())
}

/// The answer with the configured entries filled in. None: there is nothing to say, the engine's answer stands as it is.
///
/// `status` is the engine's, 503 when it is down or loading; `name` is the one model asked for.
#[must_use]
pub fn merge(body: &[u8], status: u16, name: Option<&str>, entries: &[Entry]) -> Option<Vec<u8>> {
    let merged = match name {
        Some(_) => one(body, status, entries.first()?)?,
        None => list(body, status, entries)?,
    };
    serde_json::to_vec(&merged).ok()
}

fn one(body: &[u8], status: u16, entry: &Entry) -> Option<Value> {
    if status != 200 {
        return (entry.remote_backed || status == 503).then(|| described(entry, true));
    }
    let mut model: Map<String, Value> = serde_json::from_slice(body).ok()?;
    model.insert("routing".into(), routing(entry));
    Some(Value::Object(model))
}

fn list(body: &[u8], status: u16, entries: &[Entry]) -> Option<Value> {
    let mut answer: Map<String, Value> = match status {
        200 => serde_json::from_slice(body).ok()?,
        503 => Map::from_iter([
            ("models".to_owned(), json!([])),
            ("object".to_owned(), json!("list")),
            ("data".to_owned(), json!([])),
        ]),
        _ => return None,
    };
    let unreached = status == 503;
    for (key, id) in [("models", "name"), ("data", "id")] {
        if let Some(Value::Array(models)) = answer.get_mut(key) {
            fill(models, id, key == "data", unreached, entries);
        }
    }
    Some(Value::Object(answer))
}

fn fill(models: &mut Vec<Value>, id: &str, openai: bool, unreached: bool, entries: &[Entry]) {
    for entry in entries {
        let known = models.iter_mut().find(|model| model.get(id).and_then(Value::as_str) == Some(&entry.name));
        match known {
            Some(Value::Object(model)) => {
                model.insert("routing".into(), routing(entry));
            }
            Some(_) => {}
            None if entry.remote_backed || unreached => models.push(described(entry, !openai)),
            None => {}
        }
    }
}

fn described(entry: &Entry, native: bool) -> Value {
    let state = if entry.remote_backed { "available" } else { "unknown" };
    if native {
        json!({"name": entry.name, "loaded": false, "state": state, "routing": routing(entry)})
    } else {
        json!({"id": entry.name, "object": "model", "created": 0, "owned_by": "spillway", "routing": routing(entry)})
    }
}

fn routing(entry: &Entry) -> Value {
    json!({"policy": entry.policy, "upstream_kind": entry.upstream_kind})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        vec![
            Entry { name: "a".into(), policy: Some("fallback"), upstream_kind: Some("sie"), remote_backed: false },
            Entry { name: "r".into(), policy: Some("remote_only"), upstream_kind: Some("openai"), remote_backed: true },
        ]
    }

    fn merged(body: &str, status: u16, name: Option<&str>) -> Value {
        let entries: Vec<_> =
            entries().into_iter().filter(|entry| name.is_none_or(|name| name == entry.name)).collect();
        serde_json::from_slice(&merge(body.as_bytes(), status, name, &entries).expect("merged")).expect("JSON")
    }

    #[test]
    fn the_engines_list_is_kept_and_completed() {
        let list = merged(r#"{"models":[{"name":"a","state":"loaded"},{"name":"x"}]}"#, 200, None);
        assert_eq!(list["models"][0]["state"], "loaded");
        assert_eq!(list["models"][0]["routing"], json!({"policy":"fallback","upstream_kind":"sie"}));
        assert_eq!(list["models"][1], json!({"name":"x"}));
        assert_eq!(list["models"][2]["name"], "r");
    }

    #[test]
    fn an_openai_list_gets_openai_entries() {
        let list = merged(r#"{"object":"list","data":[{"id":"a"}]}"#, 200, None);
        assert_eq!(list["data"][0]["routing"]["policy"], "fallback");
        assert_eq!(list["data"][1]["object"], "model");
        assert!(list.get("models").is_none());
    }

    #[test]
    fn an_engine_that_is_down_does_not_hide_the_configuration() {
        let list = merged("", 503, None);
        assert_eq!(list["models"].as_array().map(Vec::len), Some(2));
        assert_eq!(merged("", 503, Some("a"))["name"], "a");
        assert_eq!(merged("", 404, Some("r"))["name"], "r");
        let local = [entries().remove(0)];
        assert_eq!(merge(b"{}", 404, Some("a"), &local), None, "the engine knows its own models");
        assert_eq!(merge(b"", 503, Some("x"), &[]), None);
    }

    #[test]
    fn what_is_not_a_list_stands_as_it_is() {
        assert_eq!(merge(b"<html>", 200, None, &entries()), None);
        assert_eq!(wanted(b"/v1/models/org%2Fm"), Some("org/m".into()));
        assert_eq!(wanted(b"/v1/models"), None);
    }
}
