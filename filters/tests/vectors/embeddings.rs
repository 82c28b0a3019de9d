//! Embeddings at either kind of upstream.

use crate::host::{Host, INVALID, UNTRANSLATABLE, bodies, body, most_bytes, read, text};
use serde_json::{Value, json};
use spillway_filters::edit::Piece;
use spillway_policies::{Cause, Class, Surface};

fn asked_of(host: &Host, call: &Value) -> Value {
    let asked = host.ask_json(Surface::Embeddings, call).expect("it can be asked");
    body(&asked, &text(call))
}

#[test]
fn an_openai_host_is_asked_for_base64_whatever_the_caller_reads() {
    for format in [json!(null), json!("float"), json!("base64")] {
        let call = json!({"model": "org/m", "input": "a", "encoding_format": format, "user": "u", "dimensions": null, "options": {"profile": "remote"}});
        let wanted = json!({"model": "vendor-model", "input": "a", "encoding_format": "base64", "user": "u"});
        assert_eq!(asked_of(&Host::openai(), &call), wanted);
    }
    let call = json!({"model": "org/m", "input": ["a"], "encoding_format": "float", "options": {"profile": "remote"}});
    let wanted = json!({"model": "org/name:default", "input": ["a"], "encoding_format": "float"});
    assert_eq!(asked_of(&Host::sie(), &call), wanted, "a SIE upstream is asked for the caller's own form");
    let plain = json!({"model": "org/m", "input": ["a"]});
    assert_eq!(asked_of(&Host::sie(), &plain), json!({"model": "org/name:default", "input": ["a"]}));
}

#[test]
fn a_width_is_asked_for_only_where_it_is_another_one() {
    let call = |dimensions: u32| json!({"model": "org/m", "input": "a", "dimensions": dimensions});
    let host = Host::openai();
    assert_eq!(asked_of(&host, &call(2)).get("dimensions"), None);
    assert_eq!(asked_of(&host, &call(1)).get("dimensions"), Some(&json!(1)));
    assert_eq!(asked_of(&Host::sie(), &call(2)).get("dimensions"), Some(&json!(2)));
    let asked = host.ask_json(Surface::Embeddings, &call(1)).expect("it can be asked");
    assert!(read(&asked, &[json!({"data": [{"embedding": [1]}]})]).is_ok());
    assert_eq!(read(&asked, &[json!({"data": [{"embedding": [1, 2]}]})]), Err(INVALID));
}

#[test]
fn the_operator_sets_and_strips_at_an_openai_host() {
    let mut host = Host::openai();
    host.set("truncate", "true");
    host.strip("user");
    host.strip("encoding_format");
    let call = json!({"model": "org/m", "input": "a", "user": "u", "more": 1});
    assert_eq!(asked_of(&host, &call), json!({"model": "vendor-model", "input": "a", "truncate": true, "more": 1}));
}

#[test]
fn inputs_are_spread_over_batches_and_put_together_again() {
    for mut host in [Host::openai(), Host::sie()] {
        host.max_batch = Some(2);
        let call = json!({"model": "org/m", "input": ["a", "b\"", "é"]});
        let asked = host.ask_json(Surface::Embeddings, &call).expect("it can be asked");
        let inputs: Vec<Value> = bodies(&asked, &text(&call)).into_iter().map(|body| body["input"].clone()).collect();
        assert_eq!(inputs, [json!(["a", "b\""]), json!(["é"])]);
        let first = json!({"data": [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1, 2]}], "usage": {"prompt_tokens": 3}});
        let second = json!({"data": [{"index": 0, "embedding": "AACAPwAAAEA="}], "usage": {"total_tokens": 2}});
        let datum = |index: usize, vector: Value| json!({"object": "embedding", "embedding": vector, "index": index});
        let usage = json!({"prompt_tokens": 5, "total_tokens": 5, "sie_token_source": "worker"});
        let mut wanted = json!({
            "object": "list", "model": "org/m", "usage": usage,
            "data": [datum(0, json!([1, 2])), datum(1, json!([3, 4])), datum(2, json!([1.0, 2.0]))],
        });
        assert_eq!(read(&asked, &[first.clone(), second.clone()]), Ok(wanted.clone()));
        // One request without usage leaves an estimate for all: four characters are one token.
        let silent = json!({"data": second["data"]});
        wanted["usage"] = json!({"prompt_tokens": 1, "total_tokens": 1, "sie_token_source": "character_estimate"});
        assert_eq!(read(&asked, &[first.clone(), silent]), Ok(wanted));
        assert_eq!(read(&asked, std::slice::from_ref(&first)), Err(INVALID));
        assert_eq!(read(&asked, &[second, first]), Err(INVALID));
    }
}

#[test]
fn what_is_asked_in_one_request_is_not_copied() {
    let call = json!({"model": "org/m", "input": vec!["x".repeat(1000); 100]});
    let asked = Host::openai().ask_json(Surface::Embeddings, &call).expect("it can be asked");
    let new = |piece: &Piece| if let Piece::New(bytes) = piece { bytes.len() } else { 0 };
    assert!(asked.bodies[0].iter().map(new).sum::<usize>() < 200);
}

#[test]
fn token_ids_are_inputs_too() {
    let mut host = Host::openai();
    host.max_batch = Some(1);
    for (input, wanted) in
        [(json!([1, 2, 3]), vec![json!([1, 2, 3])]), (json!([[1, 2], [3]]), vec![json!([[1, 2]]), json!([[3]])])]
    {
        let call = json!({"model": "org/m", "input": input});
        let asked = host.ask_json(Surface::Embeddings, &call).expect("it can be asked");
        let inputs: Vec<Value> = bodies(&asked, &text(&call)).into_iter().map(|body| body["input"].clone()).collect();
        assert_eq!(inputs, wanted);
    }
    for input in [json!([]), json!({}), json!(null), json!(7)] {
        let asked = host.ask_json(Surface::Embeddings, &json!({"model": "org/m", "input": input}));
        assert_eq!(asked.map(drop), Err(UNTRANSLATABLE), "{input}");
    }
}

#[test]
fn the_caller_sees_the_form_it_asked_for_and_nothing_else_of_the_answer() {
    let forms = [json!("AACAPwAAAMA="), json!([1, -2.00])];
    let call = |format: &str| json!({"model": "org/m", "input": "four+four", "encoding_format": format});
    for host in [Host::openai(), Host::sie()] {
        for form in &forms {
            let from = json!({"id": "up", "object": "x", "provider": "p", "model": "up", "usage": {"prompt_tokens": 9, "cost": 1},
                "data": [{"index": 0, "embedding": form, "object": "embedding", "more": 1}]});
            for (format, wanted) in [("float", json!([1.0, -2.0])), ("base64", json!("AACAPwAAAMA="))] {
                let asked = host.ask_json(Surface::Embeddings, &call(format)).expect("it can be asked");
                let mut shown = read(&asked, std::slice::from_ref(&from)).expect("it is valid");
                if let Some(values) = shown["data"][0]["embedding"].as_array_mut() {
                    values.iter_mut().for_each(|value| *value = json!(value.as_f64()));
                }
                let usage = json!({"prompt_tokens": 9, "total_tokens": 9, "sie_token_source": "worker"});
                let datum = json!({"object": "embedding", "embedding": wanted, "index": 0});
                assert_eq!(shown, json!({"object": "list", "data": [datum], "model": "org/m", "usage": usage}));
            }
        }
    }
}

#[test]
fn a_sie_upstream_may_have_counted_characters() {
    let asked = Host::sie().ask_json(Surface::Embeddings, &json!({"model": "org/m", "input": "a"})).expect("asked");
    let usage = json!({"prompt_tokens": 4, "total_tokens": 4, "sie_token_source": "character_estimate"});
    let shown = read(&asked, &[json!({"data": [{"embedding": [1, 2]}], "usage": usage})]).expect("it is valid");
    assert_eq!(shown["usage"], usage);
}

#[test]
fn indexes_name_every_input_once_or_not_at_all() {
    let call = json!({"model": "org/m", "input": ["a", "b"]});
    let asked = Host::openai().ask_json(Surface::Embeddings, &call).expect("it can be asked");
    let read = |indexes: [Value; 2]| {
        let data = indexes.iter().zip([1, 3]).map(|(index, number)| match index {
            Value::Null => json!({"embedding": [number, 0]}),
            index => json!({"index": index, "embedding": [number, 0]}),
        });
        read(&asked, &[json!({"data": data.collect::<Vec<_>>()})])
    };
    let first = |shown: Value| shown["data"][0]["embedding"][0].clone();
    assert_eq!(read([json!(1), json!(0)]).map(first), Ok(json!(3)));
    assert_eq!(read([json!(null), json!(null)]).map(first), Ok(json!(1)));
    for bad in [
        [json!(1), json!(2)],
        [json!(0), json!(0)],
        [json!(0), json!(null)],
        [json!("0"), json!("1")],
        [json!(-1), json!(0)],
    ] {
        assert_eq!(read(bad.clone()), Err(INVALID), "{bad:?}");
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    let asked = Host::openai().ask_json(Surface::Embeddings, &json!({"model": "org/m", "input": "a"})).expect("asked");
    for (embedding, why) in [
        (json!("AACAPwAAwH8="), "no number"),
        (json!("AACAPwAAgH8="), "infinite"),
        (json!("AACAPw=="), "too narrow"),
        (json!("AACAPwAAAEAA"), "bytes that are no float"),
        (json!("%%%"), "no base64"),
        (json!([1]), "too narrow"),
        (json!([1, 2, 3]), "too wide"),
        (json!([1, "2"]), "text among numbers"),
        (json!(null), "nothing"),
        (json!({"x": 1}), "an object"),
    ] {
        assert_eq!(read(&asked, &[json!({"data": [{"embedding": embedding}]})]), Err(INVALID), "{why}");
    }
    for (answer, why) in [
        (json!({}), "nothing"),
        (json!([]), "a list"),
        (json!({"data": []}), "no vector"),
        (json!({"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}), "two vectors"),
        (json!({"data": [[0, [1, 2]]]}), "lists for objects"),
        (json!({"data": [{"embedding": [1, 2]}], "usage": {"prompt_tokens": true}}), "usage"),
        (json!({"data": [{"embedding": [1, 2]}], "usage": 7}), "usage"),
    ] {
        assert_eq!(read(&asked, &[answer]), Err(INVALID), "{why}");
    }
    let failure = read(&asked, &[json!({"error": {"code": "MODEL_LOADING"}})]).expect_err("an error");
    assert_eq!((failure.cause, failure.class), (Cause::InvalidAnswer, Class::NotReady));
}

#[test]
fn an_answer_is_bounded_by_what_was_asked() {
    let call = json!({"model": "org/m", "input": ["a", "b", "c"]});
    for mut host in [Host::openai(), Host::sie()] {
        assert_eq!(most_bytes(&host.ask_json(Surface::Embeddings, &call).expect("asked")), (1 << 20) + 3 * 64);
        host.tasks.dense_dim = None;
        assert_eq!(most_bytes(&host.ask_json(Surface::Embeddings, &call).expect("asked")), 64 << 20);
    }
}
