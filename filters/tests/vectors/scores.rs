//! Score at an OpenAI host.

use crate::host::{Call, Host, INVALID, UNTRANSLATABLE, body, most_bytes, msgpack, read, text};
use serde_json::{Value, json};
use spillway_filters::call::Format;
use spillway_policies::{Cause, Class, Failure, Surface};

fn asked_of(host: &Host, call: &Value) -> Value {
    let asked = host.ask_json(Surface::Score, call).expect("it can be asked");
    body(&asked, &text(call))
}

#[test]
fn an_instruction_stands_before_the_query() {
    let call = |instruction: Value, options: Value| json!({"query": {"id": "q", "text": "a\""}, "items": [{"id": "x", "text": "b"}], "instruction": instruction, "options": options});
    assert_eq!(asked_of(&Host::openai(), &call(json!("I"), json!({"instruction": "of"})))["query"], "I a\"");
    assert_eq!(asked_of(&Host::openai(), &call(json!(null), json!({"instruction": "of"})))["query"], "of a\"");
    let wanted = json!({"model": "vendor-model", "query": "a\"", "documents": ["b"], "top_n": 1});
    assert_eq!(asked_of(&Host::openai(), &call(json!(""), json!(null))), wanted);
    let mut host = Host::openai();
    host.set("top_k", "1");
    host.strip("top_n");
    let wanted = json!({"model": "vendor-model", "query": "a\"", "documents": ["b"], "top_k": 1});
    assert_eq!(asked_of(&host, &call(json!(""), json!(null))), wanted);
}

#[test]
fn only_plain_texts_can_be_scored() {
    let image = json!({"text": "a", "images": [{"data": "aGk="}]});
    for call in [
        json!({"query": {"text": "q"}, "items": []}),
        json!({"query": {}, "items": [{"text": "a"}]}),
        json!({"query": image, "items": [{"text": "a"}]}),
        json!({"query": {"text": "q"}, "items": [{"text": "a"}, image]}),
    ] {
        for format in [Format::Json, Format::Msgpack] {
            let body = if format == Format::Msgpack { msgpack(&call) } else { text(&call) };
            let asked = Host::openai().ask(&Call { format, ..Call::json(Surface::Score, &body) });
            assert_eq!(asked.map(drop), Err(UNTRANSLATABLE), "{call}");
        }
    }
    let asked = Host::openai().ask_json(Surface::Score, &json!({"items": [{"text": "a"}]}));
    assert_eq!(asked.map(drop), Err(Failure::new(Cause::NotReplayable, Class::Final)));
}

#[test]
fn a_score_is_the_one_of_its_item() {
    let call =
        json!({"query": {"text": "q"}, "items": [{"id": "x", "text": "a"}, {"text": "b"}, {"id": "z", "text": "c"}]});
    let asked = Host::openai().ask_json(Surface::Score, &call).expect("it can be asked");
    let wanted = json!({"model": "org/m", "query_id": null, "scores": [
        {"item_id": "z", "score": 2.5, "rank": 0}, {"item_id": "x", "score": -7.0, "rank": 1}, {"item_id": "item-1", "score": -7.0, "rank": 2},
    ], "usage": {"input_tokens": 6}});
    let usage = json!({"total_tokens": 6});
    let scored = |index: u64, name: &str, score: f64| json!({"index": index, (name): score});
    let results = |name: &str| vec![scored(1, name, -7.0), scored(0, name, -7.0), scored(2, name, 2.5)];
    let both: Vec<Value> = results("score")
        .into_iter()
        .zip(results("relevance_score"))
        .map(|(mut one, other)| {
            one["relevance_score"] = other["relevance_score"].clone();
            one
        })
        .collect();
    for answer in [
        json!({"results": results("relevance_score"), "usage": usage, "meta": {"billed_units": {"search_units": 1}}}),
        json!({"object": "list", "data": results("relevance_score"), "usage": usage}),
        json!({"results": results("score"), "usage": usage, "model": "up"}),
        json!({"results": both, "usage": usage, "data": null}),
    ] {
        assert_eq!(read(&asked, &[answer]), Ok(wanted.clone()));
    }
    for (answer, why) in [
        (json!({"results": []}), "none"),
        (json!({"results": results("relevance_score")[..2]}), "one is missing"),
        (
            json!({"results": [scored(0, "score", 1.0), scored(0, "score", 1.0), scored(2, "score", 1.0)]}),
            "one stands twice",
        ),
        (
            json!({"results": [scored(1, "score", 1.0), scored(2, "score", 1.0), scored(3, "score", 1.0)]}),
            "one out of range",
        ),
        (json!({"results": results("other")}), "no score"),
        (json!({"results": results("score"), "data": results("score")}), "two lists"),
        (json!({"results": results("score"), "usage": {"total_tokens": -1}}), "usage"),
        (json!(results("score")), "a bare list"),
    ] {
        assert_eq!(read(&asked, &[answer]), Err(INVALID), "{why}");
    }
}

#[test]
fn an_answer_is_bounded_by_what_was_asked() {
    let call = json!({"query": {"text": "q"}, "items": [{"text": "a"}, {"text": "b"}]});
    let asked = Host::openai().ask_json(Surface::Score, &call).expect("it can be asked");
    let sent = r#""q""#.len() + r#"["a","b"]"#.len();
    assert_eq!(most_bytes(&asked), (1 << 20) + 2 * 256 + 6 * sent);
    let large = json!({"query": {"text": "q"}, "items": [{"text": "x".repeat(20 << 20)}]});
    assert_eq!(most_bytes(&Host::openai().ask_json(Surface::Score, &large).expect("asked")), 64 << 20);
}
