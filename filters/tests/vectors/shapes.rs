//! The calls that the reference makes, as it was seen making them: ours are equal but for what is wanted otherwise.

use crate::host::{Call, Host, body, msgpack, text};
use serde_json::{Value, json};
use spillway_filters::answer::Content;
use spillway_filters::call::Format;
use spillway_filters::dialect::Asked;
use spillway_policies::Surface;

/// Where ours differ: the row, the member of the body or the header, what we write there, and why.
const DIFFERENT: [(&str, &str, &str, &str); 7] = [
    ("openai embeddings", "encoding_format", "base64", "numbers in text cost far more to read; floats are still taken"),
    ("sie encode one item", "Content-Type", "application/json", CALLERS_OWN),
    ("sie encode one item", "Accept", "application/json", CALLERS_OWN),
    ("sie score", "Content-Type", "application/json", CALLERS_OWN),
    ("sie score", "Accept", "application/json", CALLERS_OWN),
    ("sie extract", "Content-Type", "application/json", CALLERS_OWN),
    ("sie extract", "Accept", "application/json", CALLERS_OWN),
];

const CALLERS_OWN: &str = "a caller of JSON: its format is kept, so that its numbers are";

/// A caller's call, and the shape of the fixture that it leads to.
type Row = (&'static str, Host, Surface, Value);

fn native() -> Vec<Row> {
    let options = json!({"profile": "remote", "normalize": true, "pooling": "mean", "is_query": true});
    let params = json!({"output_types": ["dense", "sparse", "multivector"], "output_dtype": "float32", "instruction": "Find", "options": options});
    let encode = json!({"items": [{"id": "x", "text": "hello", "more": 1}], "params": params});
    let score = json!({
        "query": {"text": "q", "id": "mine"}, "items": [{"text": "a", "id": "x"}, {"text": "b"}], "instruction": "I", "more": 1,
        "options": {"x": 1, "profile": "remote"},
    });
    let extract = json!({"items": [{"text": "Bob"}], "params": {"labels": ["p"], "output_schema": {"type": "object"}, "more": 1}});
    vec![
        ("sie encode one item", Host::sie(), Surface::Encode, encode),
        ("sie score", Host::sie(), Surface::Score, score),
        ("sie extract", Host::sie(), Surface::Extract, extract),
    ]
}

fn hosted() -> Vec<Row> {
    let encode = json!({"items": [{"id": "x", "text": "hello"}]});
    let embeddings = json!({"model": "org/m", "input": ["hello"]});
    let score = json!({"query": {"text": "q"}, "items": [{"text": "a"}, {"text": "b"}], "instruction": "I"});
    let rerank = json!({"model": "org/m", "query": "I q", "documents": ["a", "b"], "top_n": 1});
    vec![
        ("openai embeddings", Host::openai(), Surface::Encode, encode),
        ("openai embeddings", Host::openai(), Surface::Embeddings, embeddings),
        ("openai rerank", Host::openai(), Surface::Score, score),
        ("openai rerank", Host::openai(), Surface::Rerank, rerank),
    ]
}

fn shape(name: &str) -> Value {
    let fixture: Value = serde_json::from_str(include_str!("../fixtures/upstream_call_shapes.json")).expect("JSON");
    let shapes = fixture["shapes"].as_array().expect("shapes");
    shapes.iter().find(|shape| shape["name"] == name).expect("a shape of this name").clone()
}

/// Path, body and the headers that say what it is and what is wanted: as the reference's, but for these members.
fn has_shape(name: &str, asked: &Asked, held: &[u8], different: &[(&str, &str)]) {
    let shape = shape(name);
    let base = if name.starts_with("sie") { "/base" } else { "/v1" };
    assert_eq!(asked.path, shape["path"].as_str().and_then(|path| path.strip_prefix(base)).expect("a path"), "{name}");
    let mut ours = body(asked, held);
    let headers = [("Content-Type", asked.content_type.as_str()), ("Accept", asked.accept)];
    for (member, value) in different.iter().filter(|(member, _)| headers.iter().all(|(name, _)| name != member)) {
        assert_eq!(ours[*member], *value, "{name}: {member}");
        assert_ne!(ours[*member], shape["body"][*member], "{name}: {member} is no difference");
        ours[*member] = shape["body"][*member].clone();
    }
    assert_eq!(ours, shape["body"], "{name}");
    for (header, value) in headers {
        match different.iter().find(|(member, _)| *member == header) {
            Some((_, ours)) => {
                assert_eq!(value, *ours, "{name}: {header}");
                assert_ne!(shape["headers"][header], value, "{name}: {header} is no difference");
            }
            None => assert_eq!(shape["headers"][header], value, "{name}: {header}"),
        }
    }
}

#[test]
fn every_shape_is_asked_as_the_reference_asks_it() {
    let rows: Vec<Row> = native().into_iter().chain(hosted()).collect();
    for (name, host, surface, call) in &rows {
        let held = text(call);
        let asked = host.ask(&Call::json(*surface, &held)).expect("it can be asked");
        let different: Vec<_> =
            DIFFERENT.iter().filter(|row| row.0 == *name).map(|(_, member, ours, _)| (*member, *ours)).collect();
        has_shape(name, &asked, &held, &different);
    }
    for (name, member, ..) in DIFFERENT {
        assert!(rows.iter().any(|row| row.0 == name), "{name} {member} was asked");
    }
}

#[test]
fn a_caller_of_msgpack_is_asked_for_as_the_reference_asks() {
    for (name, host, surface, call) in native() {
        let held = msgpack(&call);
        let call = Call { format: Format::Msgpack, reads: Content::Msgpack, ..Call::json(surface, &held) };
        has_shape(name, &host.ask(&call).expect("it can be asked"), &held, &[]);
    }
}

/// A SIE upstream computes what the caller asked for itself: `params` are the caller's, where the reference always writes 32-bit floats and
/// `is_query`.
#[test]
fn params_of_encode_stay_the_callers() {
    let reference = shape("sie encode one item")["body"]["params"].clone();
    assert_eq!(reference["output_dtype"], "float32");
    for (params, sent) in [
        (json!(null), None),
        (json!({"options": {"profile": "remote"}}), None),
        (json!({"output_dtype": "int8"}), Some(json!({"output_dtype": "int8"}))),
        (json!({"output_types": ["sparse"]}), Some(json!({"output_types": ["sparse"]}))),
        (
            json!({"output_dtype": "binary", "options": {"profile": "remote", "output_dtype": "ubinary", "lora_id": "l"}}),
            Some(json!({"output_dtype": "binary", "options": {"output_dtype": "ubinary", "lora_id": "l"}})),
        ),
    ] {
        let call = json!({"items": [{"text": "hello"}], "params": params});
        for packed in [false, true] {
            let held = if packed { msgpack(&call) } else { text(&call) };
            let (format, reads) =
                if packed { (Format::Msgpack, Content::Msgpack) } else { (Format::Json, Content::Json) };
            let asked = Host::sie().ask(&Call { format, reads, ..Call::json(Surface::Encode, &held) });
            let ours = body(&asked.expect("it can be asked"), &held);
            assert_eq!(ours.get("params"), sent.as_ref(), "{params}");
            assert_ne!(ours.get("params"), Some(&reference), "{params}: it is a difference");
        }
    }
}
