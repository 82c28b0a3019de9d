//! Whole answers of encode, score and extract, in both formats.

use super::{INVALID, expected, json, of};
use serde_json::{Value, json};
use spillway_filters::answer::{Content, Expected, OutputDtype, Outputs, check};
use spillway_policies::{Cause, Class, Failure, Surface};

/// A value as msgpack: `{"np": type, "shape": [..], "hex": ..}` becomes an array of numpy, and numbers and lists have their shortest form.
fn packed(value: &Value) -> Vec<u8> {
    let texts = |text: &str| rmp_serde::to_vec(text).expect("it renders");
    match value {
        Value::Object(map) if map.contains_key("np") => {
            let bin = |bytes: &[u8]| [&[0xc5, 0, u8::try_from(bytes.len()).expect("short")], bytes].concat();
            let shape = map["shape"].as_array().expect("a list");
            let sides = shape.iter().flat_map(|side| rmp_serde::to_vec(side).expect("it renders")).collect();
            let shape = [vec![0x90 | u8::try_from(shape.len()).expect("short")], sides].concat();
            let data = super::bytes_of(map["hex"].as_str().expect("a text"));
            let kind = texts(map["np"].as_str().expect("a text"));
            [
                vec![0x85],
                bin(b"nd"),
                vec![0xc3],
                bin(b"type"),
                kind,
                bin(b"kind"),
                bin(b""),
                bin(b"shape"),
                shape,
                bin(b"data"),
                bin(&data),
            ]
            .concat()
        }
        Value::Object(map) => {
            let head = vec![0x80 | u8::try_from(map.len()).expect("short")];
            map.iter().fold(head, |out, (name, value)| [out, texts(name), packed(value)].concat())
        }
        Value::Array(list) => {
            let head = vec![0x90 | u8::try_from(list.len()).ok().filter(|count| *count < 16).expect("short")];
            list.iter().fold(head, |out, value| [out, packed(value)].concat())
        }
        other => rmp_serde::to_vec(other).expect("it renders"),
    }
}

/// An answer in msgpack, and what is shown of it.
fn msgpack(surface: Surface, body: &Value, expected: &Expected) -> Result<Vec<u8>, Failure> {
    check(surface, Content::Msgpack, &packed(body), expected).map(std::borrow::Cow::into_owned)
}

/// Answers of every kind to one item, in msgpack.
pub(super) fn samples() -> Vec<Vec<u8>> {
    let one = |output: Value| json!({"items": [output], "usage": {"input_tokens": 1}});
    [
        one(json!({"dense": {"values": array("<f4", &[1], "0000803f")}})),
        one(json!({"sparse": {"indices": array("<i4", &[1], "01000000"), "values": array("<f2", &[1], "003c")}})),
        one(json!({"entities": [{"text": "t", "label": "l", "score": 0.5, "bbox": [1, 2, 3, 4]}], "data": {"a": [1]}})),
        json!({"scores": [{"item_id": "0", "score": 0.5}]}),
    ]
    .iter()
    .map(packed)
    .collect()
}

fn array(name: &str, shape: &[u32], hex: &str) -> Value {
    json!({"np": name, "shape": shape, "hex": hex})
}

/// What SIE declares of its own model in these tests.
fn declared() -> Expected {
    Expected { dim: Some(2), sparse_dim: Some(10), multivector_dim: Some(2), ..of(1) }
}

fn encoded(item: &str, expected: &Expected) -> bool {
    json(Surface::Encode, &format!(r#"{{"items":[{item}]}}"#), expected).is_ok()
}

#[test]
fn numbers_stay_the_bytes_they_were() {
    let body = r#"{ "model": "up", "mod\u0065l2": 1, "items": [ {"id": "a", "x": [{}], "dense": {"dims": 2 , "dtype":"float32", "y": 1, "values": [1.50, 2e-1]}} ],
        "usage": {"input_tokens": 3, "images": null, "z": 1}, "timing": {"total_ms": 1.5, "queue_ms": null, "secret": "s"} }"#;
    let shown = r#"{"model":"public/m","items":[{"id":"a","dense":{"dims":2,"dtype":"float32","values":[1.50, 2e-1]}}],"timing":{"total_ms":1.5,"queue_ms":null},"usage":{"input_tokens":3}}"#;
    assert_eq!(json(Surface::Encode, body, &declared()).as_deref(), Ok(shown));
    let values = vec!["0.12345678901234567890"; 20_000].join(",");
    let items = vec![format!(r#"{{"dense":{{"dims":20000,"values":[{values}]}}}}"#); 4].join(",");
    let shown = json(Surface::Encode, &format!(r#"{{"model":"up","items":[{items}]}}"#), &of(4));
    assert_eq!(shown, Ok(format!(r#"{{"model":"public/m","items":[{items}]}}"#)));
    let dense = json!({"dims": 2, "dtype": "float32", "values": array("<f4", &[2], "0000803f00000040")});
    let body = json!({"model": "up", "other": {"a": []}, "items": [{"dense": dense, "new": 7}], "timing": null, "usage": {"input_tokens": 3, "images": 1}});
    let shown = json!({"model": "public/m", "items": [{"dense": dense}], "timing": null, "usage": null});
    let parts = ["model", "items", "timing", "usage"].map(|name| [packed(&json!(name)), packed(&shown[name])].concat());
    // The usage has its members in an order of its own, so it is written by hand.
    let usage = [packed(&json!("usage")), b"\x82\xacinput_tokens\x03\xa6images\x01".to_vec()].concat();
    let wanted = [&[0x84][..], &parts[..3].concat(), &usage].concat();
    assert_eq!(msgpack(Surface::Encode, &body, &declared()), Ok(wanted));
}

#[test]
fn dense_vectors_are_finite_and_as_wide_as_declared() {
    for (item, wanted) in [
        (r#"{"dense":{"values":[1,-2.5e3]}}"#, true),
        (r#"{"dense":{"dims":2,"values":[1,2]}}"#, true),
        (r#"{"dense":{"values":[1,2,3]}}"#, false),
        (r#"{"dense":{"values":[]}}"#, false),
        (r#"{"dense":{"dims":3,"values":[1,2]}}"#, false),
        (r#"{"dense":{"dims":"2","values":[1,2]}}"#, false),
        (r#"{"dense":{"dtype":"bfloat16","values":[1,2]}}"#, false),
        (r#"{"dense":{"dtype":"int8","values":[1,2]}}"#, false),
        (r#"{"dense":{"values":[1,2],"values":[1,2]}}"#, false),
        (r#"{"dense":{"values":[1,1e39]}}"#, false),
        (r#"{"dense":{"values":[1,null]}}"#, false),
        (r#"{"dense":{"values":[1,true]}}"#, false),
        (r#"{"dense":{"values":[1,"2"]}}"#, false),
        (r#"{"dense":{"values":[[1],[2]]}}"#, false),
        (r#"{"dense":{"values":"AACAPwAAAEA="}}"#, false),
        (r#"{"dense":{"values":{}}}"#, false),
        (r#"{"dense":[1,2]}"#, false),
        (r#"{"dense":{}}"#, false),
        (r#"{"dense":null}"#, false),
        ("{}", false),
        ("null", false),
        (r#"{"id":7,"dense":{"values":[1,2]}}"#, false),
    ] {
        assert_eq!(encoded(item, &declared()), wanted, "{item}");
    }
    let asked = Expected { outputs: Outputs { dense: true, sparse: true, multivector: false }, ..declared() };
    assert!(encoded(r#"{"dense":{"values":[1,2]},"sparse":{"indices":[],"values":[]}}"#, &asked));
    assert!(!encoded(r#"{"dense":{"values":[1,2]}}"#, &asked), "half of what was asked for");
    let two = r#"{"items":[{"dense":{"values":[1]}},{"dense":{"values":[1,2]}}]}"#;
    assert_eq!(json(Surface::Encode, two, &of(2)), Err(INVALID), "two widths");
}

#[test]
fn sparse_and_multivectors_keep_to_their_dimensions() {
    for (item, wanted) in [
        (r#"{"sparse":{"dims":10,"dtype":"float32","indices":[0,9],"values":[1,2]}}"#, true),
        (r#"{"sparse":{"dims":null,"indices":[],"values":[]}}"#, true),
        (r#"{"sparse":{"indices":[10],"values":[1]}}"#, false),
        (r#"{"sparse":{"indices":[-1],"values":[1]}}"#, false),
        (r#"{"sparse":{"indices":[1.0],"values":[1]}}"#, false),
        (r#"{"sparse":{"indices":[true],"values":[1]}}"#, false),
        (r#"{"sparse":{"indices":[1,2],"values":[1]}}"#, false),
        (r#"{"sparse":{"values":[1]}}"#, false),
        (r#"{"sparse":{"indices":[1]}}"#, false),
        (r#"{"sparse":{"dims":11,"indices":[1],"values":[1]}}"#, false),
        (r#"{"multivector":{"token_dims":2,"num_tokens":2,"values":[[1,2],[3,4]]}}"#, true),
        (r#"{"multivector":{"num_tokens":0,"values":[]}}"#, true),
        (r#"{"multivector":{"values":[[1,2],[3]]}}"#, false),
        (r#"{"multivector":{"values":[[1,2,3]]}}"#, false),
        (r#"{"multivector":{"values":[1,2]}}"#, false),
        (r#"{"multivector":{"num_tokens":2,"values":[[1,2]]}}"#, false),
        (r#"{"multivector":{"token_dims":3,"values":[[1,2]]}}"#, false),
    ] {
        assert_eq!(encoded(item, &declared()), wanted, "{item}");
    }
    assert!(encoded(r#"{"sparse":{"indices":[2147483647],"values":[1]}}"#, &of(1)), "nothing is declared");
    assert!(!encoded(r#"{"sparse":{"indices":[2147483648],"values":[1]}}"#, &of(1)));
    assert!(!encoded(r#"{"sparse":{"dims":5,"indices":[5],"values":[1]}}"#, &of(1)), "the upstream's own bound");
}

#[test]
fn quantised_vectors_are_what_was_asked_for() {
    use OutputDtype::{Binary, Float32, Int8, Ubinary, Uint8};
    let sixteen = |output_dtype| Expected { dim: Some(16), multivector_dim: Some(16), output_dtype, ..of(1) };
    let wide = |name, bytes| array(name, &[bytes], &"01".repeat(bytes as usize));
    for (name, bytes, good) in [
        ("|i1", 16, &[Int8][..]),
        ("|u1", 16, &[Uint8]),
        ("|u1", 2, &[Binary, Ubinary]),
        ("|i1", 2, &[Binary, Ubinary]),
        ("|u1", 3, &[]),
    ] {
        for output_dtype in [Binary, Float32, Int8, Ubinary, Uint8] {
            let expected = sixteen(output_dtype);
            let is_good = good.contains(&output_dtype);
            let body = json!({"items": [{"dense": {"dims": 16, "values": wide(name, bytes)}}]});
            assert_eq!(msgpack(Surface::Encode, &body, &expected).is_ok(), is_good, "{name} {bytes} {output_dtype:?}");
            let rows = array(name, &[1, bytes], &"01".repeat(bytes as usize));
            let body = json!({"items": [{"multivector": {"token_dims": 16, "num_tokens": 1, "values": rows}}]});
            assert_eq!(msgpack(Surface::Encode, &body, &expected).is_ok(), is_good, "{name} {bytes} {output_dtype:?}");
        }
    }
    let numbers = |first: &str, count: usize| {
        let values = [vec![first], vec!["1"; count - 1]].concat().join(",");
        format!(r#"{{"dense":{{"dims":16,"values":[{values}]}}}}"#)
    };
    for (first, count, output_dtype, wanted) in [
        ("-128", 16, Int8, true),
        ("128", 16, Int8, false),
        ("1.5", 16, Int8, false),
        ("255", 16, Uint8, true),
        ("-1", 16, Uint8, false),
        ("255", 2, Ubinary, true),
        ("-128", 2, Binary, true),
        ("256", 2, Binary, false),
        ("1", 16, Binary, false),
        ("1", 2, Float32, false),
    ] {
        assert_eq!(encoded(&numbers(first, count), &sixteen(output_dtype)), wanted, "{first} {output_dtype:?}");
    }
    let odd = Expected { dim: Some(9), output_dtype: Binary, ..of(1) };
    assert!(encoded(r#"{"dense":{"dims":9,"dtype":"binary","values":[1,128]}}"#, &odd), "nine bits take two numbers");
    let sparse = r#"{"sparse":{"dtype":"float32","indices":[1],"values":[0.5]}}"#;
    assert!(encoded(sparse, &sixteen(Int8)), "sparse vectors are always floats");
}

#[test]
fn long_lists_have_long_heads() {
    for (count, head) in
        [(15_u32, &b"\x9f"[..]), (16, b"\xdc\x00\x10"), (65_535, b"\xdc\xff\xff"), (65_536, b"\xdd\x00\x01\x00\x00")]
    {
        let score = packed(&json!({"item_id": "a", "score": 1}));
        let claimed = [&[0xdd][..], &count.to_be_bytes()].concat();
        let body = [b"\x81\xa6scores".to_vec(), claimed, score.repeat(count as usize)].concat();
        let shown = check(Surface::Score, Content::Msgpack, &body, &of(count as usize)).expect("it is valid");
        let start = b"\x83\xa5model\xa8public/m\xa8query_id\xc0\xa6scores".len();
        assert!(shown[start..].starts_with(head), "{count}");
        let read: Value = rmp_serde::from_slice(&shown).expect("it is msgpack");
        assert_eq!(read["scores"].as_array().map(Vec::len), Some(count as usize));
    }
}

#[test]
fn usage_is_exact_or_absent() {
    for (usage, wanted) in [
        ("null", true),
        (r#"{"input_tokens":0}"#, true),
        (r#"{"input_tokens":2,"images":null,"input_tokens_details":{"content_tokens":2}}"#, true),
        ("{}", false),
        ("[1]", false),
        ("7", false),
        (r#"{"input_tokens":-1}"#, false),
        (r#"{"input_tokens":1.0}"#, false),
        (r#"{"input_tokens":true}"#, false),
        (r#"{"input_tokens":"1"}"#, false),
        (r#"{"input_tokens":null}"#, false),
        (r#"{"input_tokens":4294967296}"#, false),
        (r#"{"input_tokens":1,"input_tokens":1}"#, false),
        (r#"{"input_tokens":1,"images":1.5}"#, false),
        (r#"{"input_tokens":1,"input_tokens_details":{"content_tokens":2}}"#, false),
        (r#"{"input_tokens":1,"input_tokens_details":{}}"#, false),
        (r#"{"input_tokens":1,"input_tokens_details":[]}"#, false),
    ] {
        for (surface, list) in [
            (Surface::Encode, r#""items":[{"dense":{"values":[1]}}]"#),
            (Surface::Extract, r#""items":[{}]"#),
            (Surface::Score, r#""scores":[{"item_id":"a","score":1}]"#),
        ] {
            let found = json(surface, &format!(r#"{{{list},"usage":{usage}}}"#), &of(1));
            assert_eq!(found.is_ok(), wanted, "{usage}");
            assert!(usage != "null" || found.is_ok_and(|shown| !shown.contains("usage")));
        }
    }
}

#[test]
fn items_get_the_callers_ids() {
    let ids = |ids: &[Option<&str>]| Expected {
        ids: ids.iter().map(|id| id.map(|id| id.as_bytes().to_vec())).collect(),
        ..expected()
    };
    let item = r#"{"dense":{"values":[1]},"id":"up"}"#;
    let shown = json(Surface::Encode, &format!(r#"{{"items":[{item},{item}]}}"#), &ids(&[Some(r#""a\n""#), None]));
    assert_eq!(
        shown.as_deref(),
        Ok(r#"{"model":"public/m","items":[{"id":"a\n","dense":{"values":[1]}},{"dense":{"values":[1]}}]}"#)
    );
    assert_eq!(json(Surface::Encode, &format!(r#"{{"items":[{item}]}}"#), &ids(&[None, None])), Err(INVALID));
    let found = json(Surface::Extract, r#"{"items":[{"id":"0"},{"id":"1"}]}"#, &ids(&[Some(r#""a""#), None]));
    let nothing = r#""entities":[],"relations":[],"classifications":[],"objects":[],"data":{}"#;
    assert_eq!(
        found,
        Ok(format!(r#"{{"model":"public/m","items":[{{"id":"a",{nothing}}},{{"id":null,{nothing}}}]}}"#))
    );
}

#[test]
fn scores_fall_and_are_ranked() {
    let body = r#"{"model":"up","query_id":"q","scores":[{"item_id":"1","score":0.50,"rank":7,"x":1},{"item_id":"2","score":-3},{"item_id":"0","score":0.5}],"usage":null}"#;
    let score = |id: &str, score: &str, rank: u8| format!(r#"{{"item_id":"{id}","score":{score},"rank":{rank}}}"#);
    let as_sent = [score("1", "0.50", 0), score("0", "0.5", 1), score("2", "-3", 2)].join(",");
    let shown = |scores: &str| Ok(format!(r#"{{"model":"public/m","query_id":"q","scores":[{scores}]}}"#));
    assert_eq!(json(Surface::Score, body, &of(3)), shown(&as_sent));
    let placed = Expected { ids: vec![Some(br#""a""#.to_vec()), None, Some(br#""c""#.to_vec())], ..expected() };
    let by_place = [score("a", "0.5", 0), score("item-1", "0.50", 1), score("c", "-3", 2)].join(",");
    assert_eq!(json(Surface::Score, body, &placed), shown(&by_place), "equal scores keep the caller's order");
    for id in ["01", "+1", "3", "-1", "", "1 ", "item-1", "2", "18446744073709551616"] {
        assert_eq!(json(Surface::Score, &body.replace(r#""1""#, &format!("\"{id}\"")), &placed), Err(INVALID), "{id}");
    }
    let id = |id: &str| packed(&json!(id));
    let placed = Expected { ids: vec![Some(id("a")), None], ..expected() };
    let body = json!({"scores": [{"item_id": "1", "score": 0.25}, {"item_id": "0", "score": 7}]});
    let shown = msgpack(Surface::Score, &body, &placed).expect("it is valid");
    let shown: Value = rmp_serde::from_slice(&shown).expect("it is msgpack");
    assert_eq!(
        shown,
        json!({"model": "public/m", "query_id": null, "scores": [{"item_id": "a", "score": 7, "rank": 0}, {"item_id": "item-1", "score": 0.25, "rank": 1}]})
    );
}

#[test]
fn a_score_is_a_finite_number_with_an_id() {
    for bad in [
        "",
        r#"{"item_id":"a"}"#,
        r#"{"score":1}"#,
        r#"["a",1]"#,
        r#"{"item_id":1,"score":1}"#,
        r#"{"item_id":null,"score":1}"#,
        r#"{"item_id":"a","score":true}"#,
        r#"{"item_id":"a","score":null}"#,
        r#"{"item_id":"a","score":"1"}"#,
        r#"{"item_id":"a","score":1e999}"#,
        r#"{"item_id":"a","score":1,"score":1}"#,
        r#"{"item_id":"a","score":1},{"item_id":"b","score":1}"#,
    ] {
        assert_eq!(json(Surface::Score, &format!(r#"{{"scores":[{bad}]}}"#), &of(1)), Err(INVALID), "{bad}");
    }
    let good = r#"{"scores":[{"item_id":"a","score":1}],"query_id":7}"#;
    assert_eq!(json(Surface::Score, good, &of(1)), Err(INVALID), "a query has a text for an id");
    let bytes = b"\x81\xa6scores\x91\x82\xa7item_id\xc4\x01a\xa5score\x01";
    assert_eq!(check(Surface::Score, Content::Msgpack, bytes, &of(1)), Err(INVALID), "bytes are no id");
}

#[test]
fn what_was_found_is_whole() {
    let of_list = |list: &str, thing: &str| {
        let body = format!(r#"{{"items":[{{"{list}":[{thing}]}}]}}"#);
        json(Surface::Extract, &body, &of(1)).map(|shown| shown.contains(&format!(r#""{list}":[{thing}]"#)))
    };
    for (list, good) in [
        ("entities", r#"{"text":"t","label":"l","score":0.5}"#),
        ("entities", r#"{"text":"t","label":"l","score":1,"start":0,"end":null,"bbox":[0,-1,2,3]}"#),
        ("relations", r#"{"head":"h","tail":"t","relation":"r","score":0.5}"#),
        ("classifications", r#"{"label":"l","score":0.5}"#),
        ("objects", r#"{"label":"l","score":0.5,"bbox":[0,1,2,3]}"#),
    ] {
        assert_eq!(of_list(list, good), Ok(true), "{good}");
        let extra = good.replacen('{', r#"{"extra":{"a":1},"#, 1);
        let body = |thing: &str| format!(r#"{{"items":[{{"{list}":[{thing}]}}]}}"#);
        assert_eq!(json(Surface::Extract, &body(&extra), &of(1)), json(Surface::Extract, &body(good), &of(1)));
        for (from, to) in [
            (r#""score":0.5"#, r#""score":null"#),
            (r#""score":0.5"#, r#""score":1e999"#),
            (r#""label":"l""#, r#""label":7"#),
            (r#""score":"#, r#""scores":"#),
        ] {
            let bad = good.replacen(from, to, 1);
            assert!(bad == good || of_list(list, &bad) == Err(INVALID), "{bad}");
        }
    }
    for (list, bad) in [
        ("entities", r#"{"text":"t","label":"l","score":1,"start":-1}"#),
        ("entities", r#"{"text":"t","label":"l","score":1,"bbox":[0,1,2]}"#),
        ("entities", r#"{"text":"t","label":"l","score":1,"bbox":[0,1,2,3.0]}"#),
        ("objects", r#"{"label":"l","score":1}"#),
        ("objects", r#"{"label":"l","score":1,"bbox":null}"#),
        ("relations", r#"{"head":"h","tail":"t","score":1}"#),
        ("entities", "7"),
    ] {
        assert_eq!(of_list(list, bad), Err(INVALID), "{bad}");
    }
    for (data, wanted) in
        [("null", true), (r#"{"a":[1,{"b":null}]}"#, true), ("[]", false), ("7", false), (r#"{"a":1e999}"#, false)]
    {
        let body = format!(r#"{{"items":[{{"entities":null,"data":{data}}}]}}"#);
        assert_eq!(json(Surface::Extract, &body, &of(1)).is_ok(), wanted, "{data}");
    }
    let data = |data: Value| msgpack(Surface::Extract, &json!({"items": [{"data": data}]}), &of(1)).is_ok();
    assert!(data(json!({"a": array("<f4", &[1], "0000803f")})));
    assert!(!data(json!({"a": array("<f4", &[1], "0000807f")})), "endless");
    assert!(!data(json!({"a": array("<c8", &[1], "0000803f0000803f")})), "no plain number");
    for (value, why) in [
        ("c40161", "bytes"),
        ("cb7ff8000000000000", "no number"),
        ("d40500", "an extension"),
        ("8101c0", "a name of numbers"),
    ] {
        let body = [b"\x81\xa5items\x91\x81\xa4data\x81\xa1a".to_vec(), super::bytes_of(value)].concat();
        assert_eq!(check(Surface::Extract, Content::Msgpack, &body, &of(1)), Err(INVALID), "{why}");
    }
}

#[test]
fn an_item_with_an_error_keeps_its_code_and_no_text() {
    let errors = [
        (json!({"code": "INPUT_TOO_LONG", "message": "private"}), Some("INPUT_TOO_LONG")),
        (json!({"code": "WEIRD", "message": "private"}), Some("INFERENCE_ERROR")),
        (json!({"code": 7}), Some("INFERENCE_ERROR")),
        (json!("private"), Some("INFERENCE_ERROR")),
        (json!(["private"]), Some("INFERENCE_ERROR")),
        (json!(null), None),
    ];
    for (error, code) in errors {
        let body = json!({"items": [{"id": "a", "error": error}]});
        let mut item =
            json!({"id": "a", "entities": [], "relations": [], "classifications": [], "objects": [], "data": {}});
        if let Some(code) = code {
            item["error"] = json!({"code": code, "message": "the upstream could not process this item"});
        }
        let wanted = json!({"model": "public/m", "items": [item]});
        let shown = json(Surface::Extract, &body.to_string(), &of(1)).expect("it is valid");
        assert_eq!(serde_json::from_str::<Value>(&shown).expect("it is JSON"), wanted);
        let shown = msgpack(Surface::Extract, &body, &of(1)).expect("it is valid");
        assert_eq!(rmp_serde::from_slice::<Value>(&shown).expect("it is msgpack"), wanted);
    }
}

#[test]
fn what_is_no_native_answer_is_refused() {
    for body in [
        "",
        "[]",
        "{}",
        "<html>",
        r#"{"items":[{"dense":{"values":[1]}}]}x"#,
        r#"{"items":[]}"#,
        r#"{"items":[1]}"#,
        r#"{"items":{}}"#,
        r#"{"items":null}"#,
        r#"{"items":[{"dense":{"values":[1]}}],"items":[{"dense":{"values":[1]}}]}"#,
        r#"{"items":[{"dense":{"values":[NaN]}}]}"#,
    ] {
        assert_eq!(json(Surface::Encode, body, &of(1)), Err(INVALID), "{body}");
    }
    let broken = b"{\"items\":[{\"dense\":{\"values\":[1]},\"id\":\"\xff\"}]}";
    assert_eq!(check(Surface::Encode, Content::Json, broken, &of(1)), Err(INVALID));
    let error = json!({"error": {"code": "QUEUE_FULL"}});
    let Err(failure) = msgpack(Surface::Encode, &error, &expected()) else { panic!("it is an error") };
    assert_eq!((failure.cause, failure.class), (Cause::InvalidAnswer, Class::Busy));
    for surface in [Surface::Chat, Surface::Generate] {
        assert_eq!(check(surface, Content::Msgpack, &[0x80], &expected()), Err(INVALID));
    }
    for hex in ["c0", "90", "81a56974656d7391c0c0"] {
        assert_eq!(check(Surface::Encode, Content::Msgpack, &super::bytes_of(hex), &of(1)), Err(INVALID), "{hex}");
    }
}
