//! The calls that the reference makes, as it was seen making them: ours are equal but for what is wanted otherwise.

use crate::host::{Call, Host, body, text};
use serde_json::{Value, json};
use spillway_filters::answer::Content;
use spillway_policies::Surface;

/// Where ours differ: the member, what we write there, and why.
const DIFFERENT: [(&str, &str, &str, &str); 3] = [
    (
        "openai embeddings",
        "encoding_format",
        "\"base64\"",
        "numbers in text cost far more to read; floats are still taken",
    ),
    (
        "sie encode one item",
        "params",
        "",
        "a SIE upstream computes what the caller asked for itself: params stay the caller's",
    ),
    ("sie encode one item", "content-type", "", "the caller's own format is kept, so that its numbers are"),
];

#[test]
fn every_shape_is_asked_as_the_reference_asks_it() {
    let fixture: Value = serde_json::from_str(include_str!("../fixtures/upstream_call_shapes.json")).expect("JSON");
    let options = json!({"profile": "remote", "normalize": true, "pooling": "mean", "is_query": true});
    let params = json!({"output_types": ["dense", "sparse", "multivector"], "output_dtype": "float32", "instruction": "Find", "options": options});
    let score = json!({
        "query": {"text": "q", "id": "mine"}, "items": [{"text": "a", "id": "x"}, {"text": "b"}], "instruction": "I", "more": 1,
        "options": {"x": 1, "profile": "remote"},
    });
    let hosted = json!({"query": {"text": "q"}, "items": [{"text": "a"}, {"text": "b"}], "instruction": "I"});
    for (name, host, surface, call) in [
        (
            "sie encode one item",
            Host::sie(),
            Surface::Encode,
            json!({"items": [{"id": "x", "text": "hello", "more": 1}], "params": params}),
        ),
        ("sie score", Host::sie(), Surface::Score, score),
        (
            "sie extract",
            Host::sie(),
            Surface::Extract,
            json!({"items": [{"text": "Bob"}], "params": {"labels": ["p"], "output_schema": {"type": "object"}, "more": 1}}),
        ),
        ("openai embeddings", Host::openai(), Surface::Encode, json!({"items": [{"id": "x", "text": "hello"}]})),
        ("openai embeddings", Host::openai(), Surface::Embeddings, json!({"model": "org/m", "input": ["hello"]})),
        ("openai rerank", Host::openai(), Surface::Score, hosted),
        (
            "openai rerank",
            Host::openai(),
            Surface::Rerank,
            json!({"model": "org/m", "query": "I q", "documents": ["a", "b"], "top_n": 1}),
        ),
    ] {
        let shapes = fixture["shapes"].as_array().expect("shapes");
        let shape = shapes.iter().find(|shape| shape["name"] == name).expect("a shape of this name");
        let held = text(&call);
        let asked = host.ask(&Call::json(surface, &held)).expect("it can be asked");
        let path = shape["path"].as_str().expect("a path");
        let base = if name.starts_with("sie") { "/base" } else { "/v1" };
        assert_eq!(asked.path, path.strip_prefix(base).expect("the base path"), "{name}");
        let mut wanted = shape["body"].clone();
        for (_, member, value, _) in DIFFERENT.iter().filter(|(row, _, value, _)| *row == name && !value.is_empty()) {
            wanted[*member] = serde_json::from_str(value).expect("JSON");
        }
        assert_eq!(body(&asked, &held), wanted, "{name}");
    }
}

#[test]
fn a_sie_upstream_is_asked_in_the_callers_format() {
    let call = crate::host::msgpack(&json!({"items": [{"id": "x", "text": "hello"}]}));
    let call = Call {
        format: spillway_filters::call::Format::Msgpack,
        reads: Content::Msgpack,
        ..Call::json(Surface::Encode, &call)
    };
    let asked = Host::sie().ask(&call).expect("it can be asked");
    assert_eq!((asked.content_type.as_str(), asked.accept), ("application/msgpack", "application/msgpack"));
    assert_eq!(body(&asked, call.body), json!({"items": [{"text": "hello"}]}));
}
