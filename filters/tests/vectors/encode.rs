//! Encode at an OpenAI host.

use crate::host::{Call, Host, INVALID, UNTRANSLATABLE, answer, bodies, body, most_bytes, msgpack, read, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};
use spillway_filters::answer::Content;
use spillway_filters::call::Format;
use spillway_policies::{Cause, Class, Failure, Surface};

fn encode(call: &Value) -> Value {
    let asked = Host::openai().ask_json(Surface::Encode, call).expect("it can be asked");
    body(&asked, &text(call))
}

/// An answer with these vectors, each with its place.
fn data(vectors: &[(u64, Value)]) -> Value {
    let data: Vec<Value> = vectors.iter().map(|(index, vector)| json!({"index": index, "embedding": vector})).collect();
    json!({"data": data})
}

#[test]
fn an_instruction_stands_before_every_text() {
    let call = |instruction: Value, options: Value| json!({"items": [{"text": "a\"\n"}, {"text": "é"}], "params": {"instruction": instruction, "options": options}});
    assert_eq!(encode(&call(json!("Find"), json!({})))["input"], json!(["Find a\"\n", "Find é"]));
    assert_eq!(encode(&call(json!(null), json!({"instruction": "Of"})))["input"], json!(["Of a\"\n", "Of é"]));
    assert_eq!(encode(&call(json!("Find"), json!({"instruction": "Of"})))["input"][0], "Find a\"\n");
    assert_eq!(encode(&call(json!(""), json!(null)))["input"], json!(["a\"\n", "é"]));
}

#[test]
fn only_plain_texts_and_dense_vectors_can_be_asked_for() {
    let with = |item: Value| json!({"items": [{"text": "a"}, item]});
    let image = json!({"data": "aGk=", "format": "png"});
    for call in [
        json!({"items": []}),
        with(json!({})),
        with(json!({"text": null})),
        with(json!({"text": "a", "images": [image]})),
        with(json!({"text": "a", "audio": image})),
        with(json!({"text": "a", "video": image})),
        with(json!({"text": "a", "document": image})),
        json!({"items": [{"text": "a"}], "params": {"output_types": ["dense", "sparse"]}}),
        json!({"items": [{"text": "a"}], "params": {"output_types": []}}),
        json!({"items": [{"text": "a"}], "params": {"output_types": ["dense"], "options": {"output_types": ["multivector"]}}}),
        json!({"items": [{"text": "a"}], "params": {"output_dtype": "bfloat16"}}),
        json!({"items": [{"text": "a"}], "params": {"options": {"output_dtype": "int4"}}}),
        json!({"items": [{"text": "a"}], "params": {"options": {"lora_id": "l"}}}),
        json!({"items": [{"text": "a"}], "params": {"options": {"muvera": {}}}}),
        json!({"items": [{"text": "a"}], "params": {"options": {"query_template": "q: {text}"}}}),
    ] {
        for format in [Format::Json, Format::Msgpack] {
            let body = if format == Format::Msgpack { msgpack(&call) } else { text(&call) };
            let asked = Host::openai().ask(&Call { format, ..Call::json(Surface::Encode, &body) });
            assert_eq!(asked.map(drop), Err(UNTRANSLATABLE), "{call}");
        }
    }
    let empty = json!({"items": [{"text": "a", "images": [], "audio": null, "metadata": {"x": 1}, "more": [1]}], "params": null});
    assert_eq!(encode(&empty)["input"], json!(["a"]));
    let named = json!({"items": [{"text": "a"}], "params": {"output_types": ["dense"], "more": 1, "options": {"profile": "remote", "is_query": true}}});
    assert_eq!(encode(&named), json!({"model": "vendor-model", "input": ["a"], "encoding_format": "base64"}));
}

#[test]
fn a_body_that_cannot_be_taken_apart_is_not_asked() {
    for call in [
        json!({}),
        json!({"items": {}}),
        json!({"items": [["a"]]}),
        json!({"items": [{"text": 1}]}),
        json!({"items": [{"text": "a"}], "params": [1]}),
    ] {
        let asked = Host::openai().ask_json(Surface::Encode, &call);
        assert_eq!(asked.map(drop), Err(Failure::new(Cause::NotReplayable, Class::Final)), "{call}");
    }
}

#[test]
fn the_operator_sets_and_strips() {
    let mut host = Host::openai();
    host.set("user", "\"spillway\"");
    host.strip("encoding_format");
    let call = json!({"items": [{"text": "a"}]});
    let asked = host.ask_json(Surface::Encode, &call).expect("it can be asked");
    assert_eq!(body(&asked, b""), json!({"model": "vendor-model", "input": ["a"], "user": "spillway"}));
}

#[test]
fn vectors_come_back_in_the_order_of_the_items_with_their_ids() {
    let call = json!({"items": [{"id": "x", "text": "a"}, {"text": "b"}, {"id": "", "text": "c"}]});
    let mut host = Host::openai();
    host.max_batch = Some(2);
    let asked = host.ask_json(Surface::Encode, &call).expect("it can be asked");
    let inputs: Vec<Value> = bodies(&asked, b"").into_iter().map(|body| body["input"].clone()).collect();
    assert_eq!(inputs, [json!(["a", "b"]), json!(["c"])]);
    let mut first = data(&[(1, json!([3, 4])), (0, json!("AACAPwAAAEA="))]);
    let mut second = data(&[(0, json!([-0.5, 1e-3]))]);
    let dense = |values: Value| json!({"dims": 2, "dtype": "float32", "values": values});
    let mut wanted = json!({"model": "org/m", "timing": null, "items": [
        {"id": "x", "dense": dense(json!([1.0, 2.0]))}, {"dense": dense(json!([3.0, 4.0]))},
        {"id": "", "dense": dense(json!([-0.5, f64::from(0.001_f32)]))},
    ]});
    assert_eq!(read(&asked, &[first.clone(), second.clone()]), Ok(wanted.clone()));
    // Usage is the sum, and only where every request states it.
    first["usage"] = json!({"prompt_tokens": 3, "total_tokens": 9});
    assert_eq!(read(&asked, &[first.clone(), second.clone()]), Ok(wanted.clone()));
    second["usage"] = json!({"total_tokens": 4});
    wanted["usage"] = json!({"input_tokens": 7});
    assert_eq!(read(&asked, &[first.clone(), second.clone()]), Ok(wanted));
    for (answers, why) in [
        (vec![first.clone()], "one is missing"),
        (vec![first.clone(), second.clone(), second.clone()], "one too many"),
        (vec![second.clone(), first.clone()], "two of them are swapped"),
        (vec![first.clone(), data(&[(2, json!([1, 2]))])], "the place among all"),
        (vec![first.clone(), data(&[(0, json!([1, 2, 3]))])], "another width"),
        (vec![first, data(&[(0, json!("AACAPwAAgH8="))])], "it is not finite"),
    ] {
        assert_eq!(read(&asked, &answers), Err(INVALID), "{why}");
    }
}

#[test]
fn without_a_declared_width_the_vectors_agree() {
    let mut host = Host::openai();
    host.tasks.dense_dim = None;
    let call = json!({"items": [{"text": "a"}, {"text": "b"}]});
    let asked = host.ask_json(Surface::Encode, &call).expect("it can be asked");
    assert!(read(&asked, &[data(&[(0, json!([1, 2, 3])), (1, json!([1, 2, 3]))])]).is_ok());
    assert_eq!(read(&asked, &[data(&[(0, json!([1, 2, 3])), (1, json!([1, 2]))])]), Err(INVALID));
    assert_eq!(most_bytes(&asked), 64 << 20);
}

#[test]
fn vectors_are_scaled_to_length_one_when_the_caller_wants_that() {
    let call = json!({"items": [{"text": "a"}, {"text": "b"}], "params": {"options": {"normalize": true}}});
    let asked = Host::openai().ask_json(Surface::Encode, &call).expect("it can be asked");
    let shown = read(&asked, &[data(&[(0, json!([3, -4])), (1, json!([0, 0]))])]).expect("it is valid");
    let values = |place: usize| shown["items"][place]["dense"]["values"].clone();
    assert_eq!((values(0), values(1)), (json!([f64::from(0.6_f32), f64::from(-0.8_f32)]), json!([0.0, 0.0])));
}

#[test]
fn the_dtype_is_the_first_one_that_is_named() {
    for (dtype, option, wanted) in [
        (json!(null), json!(null), "float32"),
        (json!(""), json!(""), "float32"),
        (json!(""), json!("int8"), "int8"),
        (json!("float16"), json!("int8"), "float16"),
    ] {
        let params = json!({"output_dtype": dtype, "options": {"output_dtype": option}});
        let call = json!({"items": [{"text": "a"}], "params": params});
        let asked = Host::openai().ask_json(Surface::Encode, &call).expect("it can be asked");
        let shown = read(&asked, &[data(&[(0, json!([1, 2]))])]).expect("it is valid");
        assert_eq!(shown["items"][0]["dense"]["dtype"], wanted);
    }
}

#[test]
fn an_answer_is_bounded_by_what_was_asked() {
    let call = json!({"items": [{"text": "a"}, {"text": "b"}, {"text": "c"}]});
    let mut host = Host::openai();
    host.tasks.dense_dim = Some(1024);
    assert_eq!(most_bytes(&host.ask_json(Surface::Encode, &call).expect("asked")), (1 << 20) + 3 * 32 * 1024);
    host.max_batch = Some(2);
    assert_eq!(most_bytes(&host.ask_json(Surface::Encode, &call).expect("asked")), (1 << 20) + 2 * 32 * 1024);
    host.max_batch = None;
    host.tasks.dense_dim = Some(1 << 20);
    let asked = host.ask_json(Surface::Encode, &call).expect("asked");
    assert_eq!((asked.bodies.len(), most_bytes(&asked)), (3, 33 << 20), "more would not fit into one answer");
}

#[test]
fn a_large_call_becomes_reasonable_bodies() {
    let item = json!({"text": "x".repeat(3 << 20)});
    let call = json!({"items": [item, item, item, {"text": "y".repeat(9 << 20)}, {"text": "z"}]});
    let asked = Host::openai().ask_json(Surface::Encode, &call).expect("it can be asked");
    let counts: Vec<usize> =
        bodies(&asked, b"").iter().map(|body| body["input"].as_array().expect("a list").len()).collect();
    assert_eq!(counts, [2, 1, 1, 1]);
    let many = json!({"items": vec![json!({"text": "a"}); 4097]});
    assert_eq!(Host::openai().ask_json(Surface::Encode, &many).expect("asked").bodies.len(), 3);
}

#[test]
fn a_failure_under_a_success_status_is_what_it_states() {
    for (surface, call) in [
        (Surface::Encode, json!({"items": [{"text": "a"}]})),
        (Surface::Rerank, json!({"model": "m", "query": "q", "documents": ["a"]})),
    ] {
        let asked = Host::openai().ask_json(surface, &call).expect("it can be asked");
        let failure = read(&asked, &[json!({"error": {"code": 429, "message": "private"}})]).expect_err("an error");
        assert_eq!((failure.cause, failure.class), (Cause::InvalidAnswer, Class::Busy));
        let failure = read(&asked, &[json!({"object": "error", "code": 503})]).expect_err("an error");
        assert_eq!((failure.cause, failure.class), (Cause::InvalidAnswer, Class::Unavailable));
    }
}

/// The float data of the first array in a msgpack answer.
fn array_data(answer: &[u8], bytes: usize) -> &[u8] {
    let name = b"\xc4\x04data";
    let at = answer.windows(name.len()).position(|window| window == name).expect("data") + name.len();
    let head = match answer[at] {
        0xc4 => 2,
        0xc5 => 3,
        _ => 5,
    };
    &answer[at + head..at + head + bytes]
}

proptest! {
    #[test]
    fn every_finite_float_reaches_the_caller_bit_for_bit(bits in prop::collection::vec(any::<u32>(), 1..100)) {
        let floats: Vec<f32> = bits.into_iter().map(f32::from_bits).filter(|float| float.is_finite()).collect();
        prop_assume!(!floats.is_empty());
        let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
        let mut host = Host::openai();
        host.tasks.dense_dim = None;
        let call = text(&json!({"items": [{"text": "a"}]}));
        for vector in [json!(STANDARD.encode(&bytes)), json!(floats)] {
            let answers = [text(&data(&[(0, vector)]))];
            let asked = host.ask(&Call { reads: Content::Msgpack, ..Call::json(Surface::Encode, &call) }).expect("asked");
            let shown = answer(&asked, &answers).expect("it is valid");
            prop_assert_eq!(array_data(&shown.body, bytes.len()), &bytes[..]);
            let shown = answer(&host.ask(&Call::json(Surface::Encode, &call)).expect("asked"), &answers).expect("it is valid");
            let shown: Value = serde_json::from_slice(&shown.body).expect("JSON");
            let values = shown["items"][0]["dense"]["values"].as_array().expect("a list");
            #[expect(clippy::cast_possible_truncation, reason = "it was a 32-bit float")]
            let read: Vec<u32> = values.iter().map(|value| (value.as_f64().expect("a number") as f32).to_bits()).collect();
            prop_assert_eq!(read, floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn arbitrary_answers_never_panic(body in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        "\\{\"data\":\\[\\{\"embedding\":[\\[\\]{}\",:0-9eE.+-]{0,40}\\}\\]\\}".prop_map(String::into_bytes),
    ]) {
        for (surface, call) in [
            (Surface::Encode, json!({"items": [{"text": "a"}]})), (Surface::Embeddings, json!({"model": "m", "input": "a"})),
            (Surface::Score, json!({"query": {"text": "q"}, "items": [{"text": "a"}]})),
            (Surface::Rerank, json!({"model": "m", "query": "q", "documents": ["a"]})),
        ] {
            for host in [Host::openai(), Host::sie()] {
                let _ = answer(&host.ask_json(surface, &call).expect("asked"), std::slice::from_ref(&body));
            }
        }
    }

    #[test]
    fn arbitrary_calls_never_panic(body in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        "\\{\"items\":[\\[\\]{}\",:a-z0-9]{0,40}\\}".prop_map(String::into_bytes),
    ]) {
        for surface in [Surface::Encode, Surface::Extract, Surface::Score, Surface::Embeddings, Surface::Rerank] {
            for format in [Format::Json, Format::Msgpack] {
                if spillway_filters::call::inspect(surface, format, &body, &Host::RULES).is_ok() {
                    let _ = Host::openai().ask(&Call { format, ..Call::json(surface, &body) });
                    let _ = Host::sie().ask(&Call { format, ..Call::json(surface, &body) });
                }
            }
        }
    }
}
