//! Strict output: what a schema accepts, and what a schema may not do.
#![expect(clippy::disallowed_types, reason = "a listener proves that nothing is fetched")]

use serde_json::{Value, json};
use spillway_filters::strict::{BadSchema, Strict, strict_schema};
use std::net::TcpListener;

fn compile(schema: &Value) -> Result<Strict, BadSchema> {
    Strict::compile(schema.to_string().as_bytes())
}

fn refused(schema: &Value) -> BadSchema {
    compile(schema).err().expect("the schema is refused")
}

fn strict(schema: &Value) -> Strict {
    compile(schema).expect("a schema")
}

#[test]
fn an_output_is_checked() {
    let person = strict(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
        "additionalProperties": false,
    }));
    assert!(person.is_met_by(r#"{"name":"Ada","age":36}"#));
    assert!(person.is_met_by(" {\"age\":0,\n\"name\":\"B\"}\n"));
    for wrong in [
        r#"{"name":"Ada"}"#,
        r#"{"name":"ada","age":36}"#,
        r#"{"name":"Ada","age":36.5}"#,
        r#"{"name":"Ada","age":36,"x":1}"#,
        r#"{"name":"Ada","age":36} and more"#,
        "```json\n{\"name\":\"Ada\",\"age\":36}\n```",
        r#"{"name":"Ada","age":36"#,
        "null",
        "",
    ] {
        assert!(!person.is_met_by(wrong), "{wrong}");
    }
}

#[test]
fn a_schema_may_refer_to_itself() {
    let list = strict(&json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
            "required": ["value", "next"],
        }},
    }));
    assert!(list.is_met_by(r#"{"value":1,"next":{"value":2,"next":null}}"#));
    assert!(!list.is_met_by(r#"{"value":1,"next":{"value":"2","next":null}}"#));
    let whole = strict(&json!({"type": "array", "items": {"$ref": "#"}}));
    assert!(whole.is_met_by("[[],[[]]]"));
    assert!(!whole.is_met_by("[[],[1]]"));
    // Two that only point at each other say nothing, and are not followed for ever.
    let circle =
        compile(&json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}));
    if let Ok(circle) = circle {
        assert!(circle.is_met_by("1"));
    }
}

#[test]
fn nothing_outside_the_schema_is_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener that does not wait");
    let port = listener.local_addr().expect("an address").port();
    let ours = format!("http://127.0.0.1:{port}/x");
    for elsewhere in [
        &ours,
        "http://127.0.0.1:1/x",
        "file:///etc/passwd",
        "/etc/passwd",
        "other.json",
        "#anchor",
        "#/$defs/missing",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        for schema in [
            json!({"$ref": elsewhere}),
            json!({"properties": {"a": {"items": {"$ref": elsewhere}}}}),
            json!({"$defs": {"unused": {"$ref": elsewhere}}}),
            json!({"$dynamicRef": elsewhere}),
        ] {
            assert_eq!(refused(&schema), BadSchema::Reference, "{schema}");
        }
    }
    assert_eq!(refused(&json!({"$schema": ours})), BadSchema::Reference);
    assert_eq!(refused(&json!({"$id": ours, "$schema": ours})), BadSchema::Reference);
    assert_eq!(refused(&json!({"properties": {"a": {"$id": ours}}})), BadSchema::Reference);
    assert_eq!(refused(&json!({"properties": {"a": {"$schema": ours}}})), BadSchema::Reference);
    // A name of its own is not a reference.
    let named = strict(&json!({"$id": ours, "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}));
    assert!(named.is_met_by("null") && !named.is_met_by("1"));
    assert!(listener.accept().is_err(), "something was fetched");
}

#[test]
fn a_schema_is_bounded() {
    let long = json!({"description": "x".repeat(64 << 10)});
    assert_eq!(refused(&long), BadSchema::TooLarge);
    let deep = |levels: usize| format!("{}{{}}{}", r#"{"items":"#.repeat(levels), "}".repeat(levels));
    assert!(Strict::compile(deep(126).as_bytes()).is_ok());
    assert_eq!(Strict::compile(deep(128).as_bytes()).err(), Some(BadSchema::TooDeep));
    assert_eq!(Strict::compile(deep(5_000).as_bytes()).err(), Some(BadSchema::TooDeep));
    for not in ["", "1", "true", "[]", "{", "null", "\u{1}"] {
        assert!(matches!(Strict::compile(not.as_bytes()).err(), Some(BadSchema::NotAnObject)), "{not}");
    }
    assert_eq!(refused(&json!({"type": "no such type"})), BadSchema::Invalid);
    assert_eq!(refused(&json!({"pattern": "("})), BadSchema::Invalid);
    let patterns: Vec<Value> = (0..65).map(|place| json!({"pattern": format!("^{place}")})).collect();
    assert_eq!(refused(&json!({"prefixItems": patterns})), BadSchema::TooComplex);
}

/// Each definition asks the next one twice, for the same value or for a part of it.
fn doubling(through: impl Fn(Value) -> Value, levels: usize) -> Value {
    let definition = |level: usize| {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        json!({"anyOf": [through(next.clone()), through(next)]})
    };
    let mut definitions: serde_json::Map<String, Value> =
        (0..levels).map(|level| (format!("d{level}"), definition(level))).collect();
    definitions.insert(format!("d{levels}"), json!({"type": "null"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn references_that_multiply_are_refused() {
    assert!(matches!(refused(&doubling(|next| next, 40)), BadSchema::TooDeep | BadSchema::TooComplex));
    assert_eq!(refused(&doubling(|next| json!({"items": next}), 30)), BadSchema::TooComplex);
    assert!(matches!(
        refused(&doubling(|next| json!({"items": next}), 500)),
        BadSchema::TooDeep | BadSchema::TooComplex
    ));
    let chain: serde_json::Map<String, Value> =
        (0..1_000).map(|at| (format!("c{at}"), json!({"$ref": format!("#/$defs/c{}", at + 1)}))).collect();
    assert_eq!(refused(&json!({"$ref": "#/$defs/c0", "$defs": chain})), BadSchema::TooDeep);
    let nested = (0..40).fold(json!({"type": "null"}), |inner, _| json!({"allOf": [inner]}));
    assert_eq!(refused(&nested), BadSchema::TooDeep);
    let again = (0..30).fold(json!({}), |inner, _| json!({"unevaluatedProperties": inner}));
    assert_eq!(refused(&again), BadSchema::TooComplex);
}

/// An output at its deepest under a schema at its deepest for each value: the stack of a test thread, 2 MiB, is enough for both.
#[test]
fn deep_outputs_are_checked() {
    let inner = json!({"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]});
    let schema = strict(&(0..14).fold(inner, |inner, _| json!({"allOf": [inner]})));
    let nested = |levels: usize| format!("{}null{}", "[".repeat(levels), "]".repeat(levels));
    assert!(schema.is_met_by(&nested(126)));
    assert!(!schema.is_met_by(&nested(126).replace("null", "1")));
    assert!(!schema.is_met_by(&nested(100_000)));
}

/// Both branches ask about the same parts. Without a memory this takes 2 to the power of 100 steps.
#[test]
fn recursion_does_not_multiply() {
    let node = json!({"$ref": "#"});
    let schema = strict(&json!({"anyOf": [
        {"type": "object", "properties": {"a": node, "kind": {"const": 1}}, "required": ["kind"]},
        {"type": "object", "properties": {"a": node, "kind": {"const": 2}}, "required": ["kind"]},
        {"type": "null"},
    ]}));
    let output = format!("{}null{}", r#"{"a":"#.repeat(100), r#","kind":3}"#.repeat(100));
    assert!(!schema.is_met_by(&output));
    assert!(schema.is_met_by(&output.replace('3', "2")));
    // The same through two schemas that refer to each other.
    let twice = |name: &str| json!({"anyOf": [{"items": {"$ref": name}}, {"items": {"$ref": name}, "minItems": 2}]});
    let pair = strict(&json!({
        "$ref": "#/$defs/a",
        "$defs": {"a": twice("#/$defs/b"), "b": {"type": "array", "anyOf": [twice("#/$defs/a"), twice("#/$defs/a")]}},
    }));
    assert!(!pair.is_met_by(&format!("{}1{}", "[".repeat(121), "]".repeat(121))));
    assert!(pair.is_met_by(&format!("{}{}", "[".repeat(120), "]".repeat(120))));
}

#[test]
fn patterns_take_linear_time() {
    let schema = strict(&json!({"type": "string", "pattern": "^(a+)+$"}));
    assert!(!schema.is_met_by(&format!("\"{}b\"", "a".repeat(100_000))));
    assert!(schema.is_met_by(&format!("\"{}\"", "a".repeat(100_000))));
    // Linear in the text is not enough where the pattern is long as well.
    let long = strict(&json!({"type": "string", "pattern": "^[ab]*a[ab]{2000}c$"}));
    let text = |length: usize| format!("\"{}c\"", "a".repeat(length));
    assert!(long.is_met_by(&text(2_001)) && !long.is_met_by(&text(2_000)));
    assert!(!long.is_met_by(&text(200_000)));
    assert_eq!(refused(&json!({"pattern": "^(?=a)b"})), BadSchema::Invalid);
    assert_eq!(refused(&json!({"pattern": r"(a)\1"})), BadSchema::Invalid);
    assert_eq!(refused(&json!({"pattern": "((a{1000}){1000}){1000}"})), BadSchema::Invalid);
}

#[test]
fn large_outputs_do_not_meet_large_schemas() {
    let choices: Vec<usize> = (0..5_000).collect();
    let schema = strict(&json!({"type": "array", "items": {"enum": choices}}));
    assert!(schema.is_met_by("[1,4999]"));
    assert!(!schema.is_met_by(&format!("[{}1]", "1,".repeat(100_000))));
    assert!(!strict(&json!({})).is_met_by(&format!("[{}1]", "1,".repeat(200_000))));
}

#[test]
fn a_strict_schema_is_found_in_a_response_format() {
    let format = br#"{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type" : "null"}}}"#;
    assert_eq!(strict_schema(format), Ok(Some(&br#"{"type" : "null"}"#[..])));
    for other in [
        &br#"{"type":"json_schema","json_schema":{"name":"n","strict":false,"schema":{}}}"#[..],
        br#"{"type":"json_schema","json_schema":{"name":"n","strict":null,"schema":{}}}"#,
        br#"{"type":"json_schema","json_schema":{"name":"n","schema":{}}}"#,
        br#"{"type":"json_schema"}"#,
        br#"{"type":"json_schema","json_schema":null}"#,
        br#"{"type":"json_object"}"#,
        br#"{"type":"text"}"#,
        br#"{"type":"text","json_schema":{"name":"n","strict":true,"schema":{}}}"#,
        br#"{"type":"text","json_schema":5}"#,
        br#"{"type":"json_object","json_schema":{"strict":"no"}}"#,
        b"null",
    ] {
        assert_eq!(strict_schema(other), Ok(None));
    }
    for missing in [
        &br#"{"type":"json_schema","json_schema":{"name":"n","strict":true}}"#[..],
        br#"{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":null}}"#,
    ] {
        assert_eq!(strict_schema(missing), Err(BadSchema::NotAnObject));
    }
    let named = r#"{"strict":true,"schema":{}}"#;
    for unreadable in [
        format!(r#"{{"type":"json_schema","json_schema":{named},"json_schema":{named}}}"#),
        format!(r#"{{"type":"text","type":"json_schema","json_schema":{named}}}"#),
        format!(r#"{{"type":"json_schema","json_schema":{named},"\ud800":1}}"#),
        r#"{"type":"json_schema","json_schema":{"strict":true,"schema":{},"schema":{}}}"#.to_owned(),
        r#"{"type":"json_schema","json_schema":{"strict":true,"schema":{},"\ud800":1}}"#.to_owned(),
        r#"{"type":"json_schema","json_schema":[true,{}]}"#.to_owned(),
        "[".to_owned(),
        String::new(),
    ] {
        assert_eq!(strict_schema(unreadable.as_bytes()), Err(BadSchema::Unreadable), "{unreadable}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(schema in proptest::collection::vec(proptest::num::u8::ANY, 0..200), output in ".{0,200}") {
        if let Ok(strict) = Strict::compile(&schema) {
            let _ = strict.is_met_by(&output);
        }
        let _ = strict_schema(&schema);
    }

    /// Schemas made of the words that matter.
    #[test]
    fn no_schema_panics(
        words in proptest::collection::vec(proptest::sample::select(vec![
            r##"{"$ref":"#"}"##, r##"{"$ref":"#/$defs/a"}"##, r##"{"$ref":"#/$defs/b"}"##, "{}", "true", r#"{"type":"null"}"#,
            r#"{"type":"array","minItems":1}"#, r#"{"pattern":"a|b"}"#,
        ]), 6),
    ) {
        let [a, b, c, d, e, f] = &words[..] else { unreachable!("six words") };
        let schema = format!(r#"{{"$defs":{{"a":{{"anyOf":[{a},{b}]}},"b":{{"items":{c},"allOf":[{d}]}}}},"items":{e},"not":{f}}}"#);
        if let Ok(strict) = Strict::compile(schema.as_bytes()) {
            for output in ["null", "[]", "[[[[]],[1]]]", "\"a\"", "{}"] {
                let _ = strict.is_met_by(output);
            }
        }
    }
}
