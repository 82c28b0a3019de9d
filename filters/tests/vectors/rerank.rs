//! Rerank at either kind of upstream.

use crate::host::{Call, Host, INVALID, UNTRANSLATABLE, answer, body, read, text};
use serde_json::{Value, json};
use spillway_filters::edit::Piece;
use spillway_policies::Surface;

fn scored(scores: &[f64]) -> Value {
    let results = scores.iter().enumerate().map(|(index, score)| json!({"index": index, "relevance_score": score}));
    json!({"results": results.collect::<Vec<_>>()})
}

#[test]
fn an_upstream_is_asked_for_every_score_and_no_document() {
    let call = json!({
        "model": "org/m", "query": "q", "documents": ["a", "b"], "top_n": 1, "return_documents": true,
        "options": {"profile": "remote", "x": 1},
    });
    let wanted = |model: &str| json!({"model": model, "query": "q", "documents": ["a", "b"], "top_n": 2});
    let asked = Host::openai().ask_json(Surface::Rerank, &call).expect("it can be asked");
    assert_eq!((asked.path.as_str(), body(&asked, &text(&call))), ("/rerank", wanted("vendor-model")));
    let asked = Host::sie().ask_json(Surface::Rerank, &call).expect("it can be asked");
    let mut wanted = wanted("org/name:default");
    wanted["options"] = json!({"x": 1});
    assert_eq!((asked.path.as_str(), body(&asked, &text(&call))), ("/v1/rerank", wanted));
    let mut host = Host::openai();
    host.set("top_k", "2");
    host.strip("top_n");
    let asked = host.ask_json(Surface::Rerank, &call).expect("it can be asked");
    assert_eq!(
        body(&asked, &text(&call)),
        json!({"model": "vendor-model", "query": "q", "documents": ["a", "b"], "top_k": 2})
    );
}

#[test]
fn the_caller_sees_its_best_documents_as_it_wrote_them() {
    for host in [Host::openai(), Host::sie()] {
        let call = json!({"model": "org/m", "query": "q", "documents": ["a", "b\"\n", "é"], "top_n": 2, "return_documents": true});
        let asked = host.ask_json(Surface::Rerank, &call).expect("it can be asked");
        let mut from = scored(&[-1.0, 0.5, 0.5]);
        from["id"] = json!("up");
        from["results"][1]["document"] = json!({"text": "another one"});
        let wanted = json!({"model": "org/m", "results": [
            {"index": 1, "relevance_score": 0.5, "document": {"text": "b\"\n"}}, {"index": 2, "relevance_score": 0.5, "document": {"text": "é"}},
        ]});
        assert_eq!(read(&asked, &[from]), Ok(wanted));
        assert_eq!(read(&asked, &[scored(&[1.0, 2.0])]), Err(INVALID), "the caller's top_n is not the upstream's");
        let plain =
            json!({"model": "org/m", "query": "q", "documents": ["a", "b"], "top_n": 9, "return_documents": false});
        let asked = host.ask_json(Surface::Rerank, &plain).expect("it can be asked");
        let wanted = json!({"model": "org/m", "results": [{"index": 1, "relevance_score": 2.0}, {"index": 0, "relevance_score": 1.0}]});
        assert_eq!(read(&asked, &[scored(&[1.0, 2.0])]), Ok(wanted));
    }
}

#[test]
fn the_second_version_is_asked_as_the_first_and_answered_as_itself() {
    for (host, path) in [(Host::openai(), "/rerank"), (Host::sie(), "/v1/rerank")] {
        let call = text(&json!({"model": "org/m", "query": "q", "documents": ["a", "b"], "top_n": 1}));
        let asked =
            host.ask(&Call { second_rerank: true, ..Call::json(Surface::Rerank, &call) }).expect("it can be asked");
        assert_eq!((asked.path.as_str(), &body(&asked, &call)["top_n"]), (path, &json!(2)));
        let mut from = scored(&[1.0, 2.0]);
        from["usage"] = json!({"total_tokens": 3});
        let wanted = json!({"id": "fresh-1", "results": [{"index": 1, "relevance_score": 2.0}], "meta": {"api_version": {"version": "2"}}});
        assert_eq!(read(&asked, &[from]), Ok(wanted));
    }
}

#[test]
fn usage_is_sies_own() {
    let asked = Host::sie()
        .ask_json(Surface::Rerank, &json!({"model": "org/m", "query": "q", "documents": ["a"]}))
        .expect("asked");
    let with = |usage: Value| {
        let mut from = scored(&[1.0]);
        from["usage"] = usage;
        read(&asked, &[from]).map(|shown| shown["usage"].clone())
    };
    let full = json!({"input_tokens": 9, "images": 2, "input_tokens_details": {"content_tokens": 4}});
    assert_eq!(with(full.clone()), Ok(full));
    assert_eq!(with(json!({"prompt_tokens": 3, "total_tokens": 7, "cost": 1})), Ok(json!({"input_tokens": 3})));
    assert_eq!(with(json!({})), Ok(Value::Null));
    assert_eq!(with(json!(null)), Ok(Value::Null));
    for bad in [
        json!([1]),
        json!({"input_tokens": -1}),
        json!({"input_tokens": 1, "input_tokens_details": {"content_tokens": 2}}),
    ] {
        assert_eq!(with(bad.clone()), Err(INVALID), "{bad}");
    }
}

#[test]
fn only_texts_can_be_ranked() {
    let with = |documents: Value| json!({"model": "org/m", "query": "q", "documents": documents});
    let fields = json!({"model": "org/m", "query": "q", "documents": ["a"], "rank_fields": ["text"]});
    let query = |query: Value| json!({"model": "org/m", "query": query, "documents": ["a"]});
    for call in [
        with(json!(null)),
        with(json!([])),
        with(json!("a")),
        with(json!(["a", 1])),
        with(json!([{"title": "a"}])),
        with(json!([{"text": 1}])),
        with(json!({"a": "b"})),
        fields,
        query(json!(null)),
        query(json!(["q"])),
        query(json!({"image": "q"})),
    ] {
        for host in [Host::openai(), Host::sie()] {
            assert_eq!(host.ask_json(Surface::Rerank, &call).map(drop), Err(UNTRANSLATABLE), "{call}");
        }
    }
}

#[test]
fn objects_with_a_text_are_asked_for_as_their_texts() {
    let call = json!({
        "model": "org/m", "query": {"text": "q"}, "documents": ["a", {"text": "b\n", "more": 1}], "return_documents": true,
        "max_tokens_per_doc": 9,
    });
    let asked = Host::openai().ask_json(Surface::Rerank, &call).expect("it can be asked");
    let mut wanted = json!({
        "model": "vendor-model", "query": "q", "documents": ["a", "b\n"], "top_n": 2, "max_tokens_per_doc": 9,
    });
    assert_eq!(body(&asked, &text(&call)), wanted, "a host knows more fields than SIE");
    let shown = read(&asked, &[scored(&[1.0, 2.0])]).expect("it is valid");
    assert_eq!(shown["results"][0]["document"], json!({"text": "b\n"}));
    let asked = Host::sie().ask_json(Surface::Rerank, &call).expect("it can be asked");
    wanted["model"] = json!("org/name:default");
    wanted.as_object_mut().expect("an object").remove("max_tokens_per_doc");
    assert_eq!(body(&asked, &text(&call)), wanted);
}

#[test]
fn documents_are_not_copied_on_their_way_out() {
    let call = text(&json!({"model": "org/m", "query": "q", "documents": vec!["x".repeat(1000); 100]}));
    let asked = Host::openai().ask(&Call::json(Surface::Rerank, &call)).expect("it can be asked");
    let new = |piece: &Piece| if let Piece::New(bytes) = piece { bytes.len() } else { 0 };
    assert!(asked.bodies[0].iter().map(new).sum::<usize>() < 200);
    assert_eq!(answer(&asked, &[text(&scored(&[1.0]))]), Err(INVALID));
}
