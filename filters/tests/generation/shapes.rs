//! The calls that the reference makes, as it was seen making them: ours are equal but for what product.md decides otherwise.

use crate::host::{Host, body, text};
use serde_json::{Value, json};
use spillway_policies::Surface;
use spillway_policies::upstream::Endpoint;

/// One shape of the fixture, and the caller's call that leads to it.
struct Row {
    name: &'static str,
    host: Host,
    surface: Surface,
    call: Value,
}

/// Where ours differ, and why.
const DIFFERENT: [(&str, &str); 2] = [
    ("sie generate", "a buffered caller is asked buffered: the whole answer is checked before it is believed"),
    ("openai completions", "a buffered caller is asked buffered: the whole answer is checked before it is believed"),
];

fn rows() -> Vec<Row> {
    let messages = json!([{"role": "user", "content": "x"}]);
    let openai = || Host::openai(&[Endpoint::Chat, Endpoint::Completions]);
    let operated = |set: &[(&str, &str)], strip: &[&str]| {
        let mut host = openai();
        set.iter().for_each(|(name, value)| host.set(name, value));
        strip.iter().for_each(|name| host.strip(name));
        host
    };
    let native = json!({
        "prompt": "p", "max_new_tokens": 4, "temperature": 1.0, "top_p": 1.0, "stop": ["x"], "seed": 1, "stream": true,
        "logprobs": true, "top_logprobs": 2, "options": {"default_sampling": {"top_k": 5}},
    });
    let provider = r#"{"order":["a"]}"#;
    vec![
        Row { name: "sie generate", host: Host::sie(), surface: Surface::Generate, call: native },
        Row {
            name: "sie chat buffered",
            host: Host::sie(),
            surface: Surface::Chat,
            call: json!({"model": "org/m", "messages": messages, "max_tokens": 8, "stream_options": {"include_usage": true}}),
        },
        Row {
            name: "sie chat stream",
            host: Host::sie(),
            surface: Surface::Chat,
            call: json!({"model": "org/m", "messages": messages, "max_tokens": 8, "stream": true}),
        },
        Row {
            name: "openai completions",
            host: openai(),
            surface: Surface::Generate,
            call: json!({"prompt": "p", "max_new_tokens": 4, "stop": ["x"], "seed": 1, "logit_bias": {"5": 1.0}, "stream": true}),
        },
        Row {
            name: "openai completions with set_params/strip_params",
            host: operated(&[("temperature", "0"), ("provider", provider), ("max_tokens", "9")], &["seed"]),
            surface: Surface::Generate,
            call: json!({"prompt": "p", "max_new_tokens": 2, "temperature": 1.0, "seed": 1, "stream": true}),
        },
        Row {
            name: "openai chat buffered",
            host: openai(),
            surface: Surface::Chat,
            call: json!({
                "model": "org/m", "messages": messages, "max_tokens": 8, "include_reasoning": false,
                "schema_in_prompt": true, "options": {"profile": "remote"},
            }),
        },
        Row {
            name: "openai chat stream",
            host: openai(),
            surface: Surface::Chat,
            call: json!({"model": "org/m", "messages": messages, "max_tokens": 8, "stream": true}),
        },
        Row {
            name: "openai chat set max_tokens above caller cap",
            host: operated(&[("temperature", "0"), ("provider", provider), ("max_tokens", "9")], &[]),
            surface: Surface::Chat,
            call: json!({"model": "org/m", "messages": messages, "max_tokens": 1}),
        },
    ]
}

#[test]
fn every_generation_call_has_the_shape_of_the_reference() {
    let fixture: Value =
        serde_json::from_str(include_str!("../fixtures/upstream_call_shapes.json")).expect("the fixture is JSON");
    let shapes = fixture["shapes"].as_array().expect("shapes");
    let mut met = Vec::new();
    for row in rows() {
        let shape = shapes.iter().find(|shape| shape["name"] == row.name).expect("a shape of this name");
        let call = text(&row.call);
        let asked = row.host.ask(row.surface, &call).expect("it can be asked");
        // The base path is the transport's.
        let path = shape["path"].as_str().expect("a path");
        assert_eq!(
            path.strip_prefix("/base").or_else(|| path.strip_prefix("/v1")),
            Some(asked.path.as_str()),
            "{}",
            row.name
        );
        assert_eq!(shape["headers"]["Accept"], asked.accept, "{}", row.name);
        assert_eq!(shape["headers"]["Content-Type"], asked.content_type, "{}", row.name);
        assert_eq!(shape["body"], body(&asked, &call), "{}", row.name);
        met.push(row.name);
    }
    let generation = |name: &&str| ["generate", "chat", "completions"].iter().any(|part| name.contains(part));
    let named = shapes.iter().filter_map(|shape| shape["name"].as_str());
    let left_out: Vec<_> = named.filter(generation).filter(|name| !met.contains(name)).collect();
    assert_eq!(left_out, Vec::<&str>::new());
}

#[test]
fn a_buffered_caller_is_asked_buffered() {
    for (name, why) in DIFFERENT {
        let row = rows().into_iter().find(|row| row.name == name).expect("a row of this name");
        let mut call = row.call;
        let fields = call.as_object_mut().expect("an object");
        for name in ["stream", "logprobs", "top_logprobs"] {
            fields.remove(name);
        }
        let call = text(&call);
        let asked = row.host.ask(row.surface, &call).expect("it can be asked");
        let sent = body(&asked, &call);
        assert_eq!(asked.accept, "application/json", "{name}: {why}");
        assert!(sent["stream"] != true && sent.get("stream_options").is_none(), "{name}: {why}");
    }
}
