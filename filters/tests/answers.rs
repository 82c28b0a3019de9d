//! Whole answers of an upstream: what is valid on each surface, and what the caller sees of it.

use proptest::prelude::*;
use spillway_filters::answer::{Content, Expected, check};
use spillway_filters::shape::Shown;
use spillway_policies::failure::SieCode;
use spillway_policies::{Cause, Class, Failure, Surface};

const INVALID: Failure = Failure::new(Cause::InvalidAnswer, Class::Final);

fn expected() -> Expected {
    let shown = Shown {
        model: "public/m".into(),
        id: "fresh-1".into(),
        created_s: 1_750_000_000,
        include_reasoning: false,
        include_usage: true,
    };
    Expected { shown, choices: Some(1), ..Expected::default() }
}

fn of(items: usize) -> Expected {
    Expected { items: Some(items), ..expected() }
}

fn json(surface: Surface, body: &str, expected: &Expected) -> Result<String, Failure> {
    check(surface, Content::Json, body.as_bytes(), expected)
        .map(|shown| String::from_utf8(shown.into_owned()).expect("JSON is text"))
}

/// A msgpack answer and what is shown of it, both written as JSON.
fn msgpack(surface: Surface, body: &serde_json::Value, expected: &Expected) -> Result<serde_json::Value, Failure> {
    let body = rmp_serde::to_vec_named(body).expect("it renders");
    let shown = check(surface, Content::Msgpack, &body, expected)?;
    Ok(rmp_serde::from_slice(&shown).expect("what is shown is msgpack"))
}

#[test]
fn a_native_answer_gets_the_callers_model_and_stays_as_it_was() {
    for (surface, body, wanted) in [
        (
            Surface::Encode,
            r#"{ "model": "up", "items": [ {"dense": {"values": [1.50, 2e-1]}} ], "usage": {"input_tokens": 3, "images": null}, "timing": null }"#,
            r#"{"model":"public/m","items":[ {"dense": {"values": [1.50, 2e-1]}} ],"usage":{"input_tokens": 3, "images": null},"timing":null}"#,
        ),
        (Surface::Extract, r#"{"items":[{"entities":[]}]}"#, r#"{"model":"public/m","items":[{"entities":[]}]}"#),
        (
            Surface::Score,
            r#"{"mod\u0065l":"up","query_id":null,"scores":[{"item_id":"a","score":0.50,"rank":0}],"usage":null}"#,
            r#"{"model":"public/m","query_id":null,"scores":[{"item_id":"a","score":0.50,"rank":0}],"usage":null}"#,
        ),
        (
            Surface::Generate,
            r#"{"model":"up","text":"h","finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
            r#"{"model":"public/m","text":"h","finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
        ),
    ] {
        assert_eq!(json(surface, body, &of(1)).as_deref(), Ok(wanted), "{body}");
    }
}

#[test]
fn a_msgpack_answer_is_checked_and_dressed_too() {
    let body = serde_json::json!({"model": "up", "items": [{"id": "a"}, {}], "usage": {"input_tokens": 3}});
    let shown = serde_json::json!({"model": "public/m", "items": [{"id": "a"}, {}], "usage": {"input_tokens": 3}});
    assert_eq!(msgpack(Surface::Encode, &body, &of(2)), Ok(shown));
    assert_eq!(msgpack(Surface::Encode, &body, &of(1)), Err(INVALID));
    let body = serde_json::json!({"scores": [{"item_id": "a", "score": 0.5}]});
    let shown = serde_json::json!({"model": "public/m", "scores": [{"item_id": "a", "score": 0.5}]});
    assert_eq!(msgpack(Surface::Score, &body, &of(1)), Ok(shown));
    let error = serde_json::json!({"error": {"code": "QUEUE_FULL"}});
    let Err(failure) = msgpack(Surface::Encode, &error, &expected()) else { panic!("it is an error") };
    assert_eq!((failure.cause, failure.class), (Cause::InvalidAnswer, Class::Busy));
    for surface in [Surface::Chat, Surface::Embeddings, Surface::Generate] {
        assert_eq!(check(surface, Content::Msgpack, &[0x80], &expected()), Err(INVALID));
    }
}

/// Each body is refused as an answer to one item.
fn refuses(surfaces: &[(Surface, &[&str])]) {
    for (surface, bodies) in surfaces {
        for body in *bodies {
            assert_eq!(json(*surface, body, &of(1)), Err(INVALID), "{surface:?} {body}");
        }
    }
}

#[test]
fn what_is_no_valid_native_answer_is_refused() {
    refuses(&[
        (
            Surface::Encode,
            &[
                "",
                "[]",
                "{}",
                "<html>",
                "{\"items\":[]}x",
                r#"{"items":[]}"#,
                r#"{"items":[{},{}]}"#,
                r#"{"items":[1]}"#,
                r#"{"items":{}}"#,
                r#"{"items":[{}],"items":[{}]}"#,
                r#"{"items":[{}],"usage":{}}"#,
                r#"{"items":[{}],"usage":{"input_tokens":-1}}"#,
                r#"{"items":[{}],"usage":{"input_tokens":true}}"#,
                r#"{"items":[{}],"usage":{"input_tokens":4294967296}}"#,
                r#"{"items":[{}],"usage":{"input_tokens":1,"input_tokens_details":{"content_tokens":2}}}"#,
                r#"{"items":[{"dense":{"values":[NaN]}}]}"#,
            ],
        ),
        (
            Surface::Score,
            &[
                "{}",
                r#"{"scores":[]}"#,
                r#"{"scores":[{"item_id":"a"}]}"#,
                r#"{"scores":[["a",1]]}"#,
                r#"{"scores":[{"item_id":1,"score":1}]}"#,
                r#"{"scores":[{"item_id":"a","score":true}]}"#,
                r#"{"scores":[{"item_id":"a","score":null}]}"#,
                r#"{"scores":[{"item_id":"a","score":1e999}]}"#,
            ],
        ),
        (
            Surface::Generate,
            &[
                r#"{"text":"h","finish_reason":"stop"}"#,
                r#"{"text":"h","finish_reason":"stop","usage":null}"#,
                r#"{"text":"h","finish_reason":"stop","usage":{"prompt_tokens":1}}"#,
                r#"{"text":"h","finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":3}}"#,
                r#"{"text":null,"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
                r#"{"text":"h","finish_reason":"error","usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
                r#"{"text":"h","usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
            ],
        ),
    ]);
    assert_eq!(check(Surface::Encode, Content::Json, b"{\"items\":[{\"id\":\"\xff\"}]}", &of(1)), Err(INVALID));
}

#[test]
fn what_is_no_valid_openai_answer_is_refused() {
    refuses(&[
        (
            Surface::Chat,
            &[
                "{}",
                r#"{"choices":[]}"#,
                r#"{"choices":[{}]}"#,
                r#"{"choices":[[0,"stop",{"role":"assistant","content":"h"}]]}"#,
                r#"{"choices":[{"index":0,"message":["assistant","h"],"finish_reason":"stop"}]}"#,
                r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"stop"}],"usage":[1,1]}"#,
                r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":null}]}"#,
                r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"abort"}]}"#,
                r#"{"choices":[{"index":0,"message":{"role":"assistant","content":7},"finish_reason":"stop"}]}"#,
                r#"{"choices":[{"index":0,"message":{"role":"assistant"},"finish_reason":"stop"}]}"#,
                r#"{"choices":[{"index":0,"message":{"content":"h"},"finish_reason":"stop"}]}"#,
                r#"{"choices":[{"index":128,"message":{"role":"assistant","content":"h"},"finish_reason":"stop"}]}"#,
                r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#,
            ],
        ),
        (
            Surface::Completions,
            &[
                r#"{"choices":[{"index":0,"finish_reason":"stop"}]}"#,
                r#"{"choices":[{"index":0,"text":"h","finish_reason":"tool_calls"}]}"#,
            ],
        ),
        (
            Surface::Responses,
            &[
                "{}",
                r#"{"output":{}}"#,
                r#"{"output":[],"status":"failed"}"#,
                r#"{"output":[],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":3}}"#,
            ],
        ),
        (
            Surface::Embeddings,
            &[
                r#"{"data":[]}"#,
                r#"{"data":[{"embedding":[]}]}"#,
                r#"{"data":[{"embedding":""}]}"#,
                r#"{"data":[{"embedding":[1,null]}]}"#,
                r#"{"data":[{"embedding":[1e39]}]}"#,
                r#"{"data":[{"index":1,"embedding":[1]}]}"#,
                r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            ],
        ),
        (Surface::Rerank, &[r#"{"results":[]}"#, r#"{"results":[{"index":1,"relevance_score":1}]}"#]),
        (Surface::Audio, &["[]", "{}", r#"{"text":7}"#, "plain"]),
    ]);
}

#[test]
fn embeddings_are_placed_by_distinct_indexes() {
    let data = |indexes: &[&str]| {
        let data: Vec<_> = indexes.iter().map(|index| format!(r#"{{{index}"embedding":[1,-2.5]}}"#)).collect();
        format!(
            r#"{{"object":"list","data":[{}],"model":"up","usage":{{"prompt_tokens":1,"total_tokens":1}}}}"#,
            data.join(",")
        )
    };
    let is_valid = |body: &str, items| json(Surface::Embeddings, body, &of(items)).is_ok();
    assert!(is_valid(&data(&[r#""index":1,"#, r#""index":0,"#]), 2));
    assert!(is_valid(&data(&["", ""]), 2));
    assert!(!is_valid(&data(&[r#""index":1,"#, r#""index":2,"#]), 2), "positions of a batch");
    assert!(!is_valid(&data(&[r#""index":0,"#, ""]), 2));
    assert!(!is_valid(&data(&["", ""]), 3));
    let base64 = r#"{"data":[{"index":0,"embedding":"AACAPw=="}],"usage":{}}"#;
    assert!(is_valid(base64, 1));
    for (dim, fits) in [(1, true), (2, false)] {
        assert_eq!(json(Surface::Embeddings, base64, &Expected { dim: Some(dim), ..of(1) }).is_ok(), fits, "{dim}");
    }
    assert!(!is_valid(r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, 2), "two widths");
    assert!(!is_valid(r#"{"data":[{"embedding":[1,2,3,4]},{"embedding":"AAAA"}]}"#, 2), "two forms");
    let shown = json(Surface::Embeddings, base64, &of(1)).expect("it is valid");
    assert_eq!(shown, r#"{"model":"public/m","data":[{"index":0,"embedding":"AACAPw=="}],"usage":{}}"#);
}

#[test]
fn embeddings_come_in_the_order_of_their_inputs() {
    let mixed = r#"{"data":[{"index":2,"embedding":[3]},{"index":0,"embedding":[1]},{"index":1,"embedding":[2.50]}],"usage":{}}"#;
    let shown = json(Surface::Embeddings, mixed, &of(3)).expect("it is valid");
    let order = r#"[{"index":0,"embedding":[1]},{"index":1,"embedding":[2.50]},{"index":2,"embedding":[3]}]"#;
    assert!(shown.contains(order), "{shown}");
}

#[test]
fn rerank_gives_as_many_results_as_were_asked_for() {
    let two =
        r#"{"id":"r","results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":-7}],"model":"up"}"#;
    let asked = |items, top_n| json(Surface::Rerank, two, &Expected { items, top_n, ..expected() });
    assert!(asked(Some(3), Some(2)).is_ok());
    assert!(asked(None, None).is_ok());
    assert_eq!(asked(Some(3), None), Err(INVALID), "one is missing");
    assert_eq!(asked(Some(2), Some(9)), Err(INVALID), "an index out of range");
    assert!(asked(Some(3), Some(2)).is_ok_and(|shown| shown.ends_with(r#""model":"public/m"}"#)));
}

#[test]
fn chat_shows_what_is_the_callers() {
    let body = r#"{"id":"up","object":"x","created":9,"model":"up","system_fingerprint":"f","service_tier":"t","provider":"p",
        "choices":[{"index":0,"message":{"role":"assistant","content":"h","reasoning_content":"s","extra":1},"finish_reason":"stop","logprobs":{"content":[]},"stop_reason":null}],
        "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"completion_tokens_details":{"reasoning_tokens":1}}}"#;
    let shown = r#"{"id":"fresh-1","object":"chat.completion","created":1750000000,"model":"public/m","choices":[{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"stop","logprobs":null}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    assert_eq!(json(Surface::Chat, body, &expected()).as_deref(), Ok(shown));
    let asked = Expected { shown: Shown { include_reasoning: true, ..expected().shown }, ..expected() };
    let with_reasoning = json(Surface::Chat, body, &asked).expect("it is valid");
    assert!(
        with_reasoning.contains(r#""reasoning_content":"s""#)
            && with_reasoning.contains(r#""logprobs":{"content":[]}"#)
    );
    let called = r#"{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c"}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let shown = json(Surface::Chat, called, &expected()).expect("it is valid");
    assert!(shown.contains(r#""tool_calls":[{"id":"c"}]"#));
    let without =
        called.replace(r#""usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}"#, r#""usage":null"#);
    assert_eq!(json(Surface::Chat, &without, &expected()), Err(INVALID), "usage is exact or the answer is not valid");
    for bound in [Expected { output_cap: Some(0), ..expected() }, Expected { context: Some(1), ..expected() }] {
        assert_eq!(json(Surface::Chat, called, &bound), Err(INVALID), "one token too many");
    }
    assert!(json(Surface::Chat, called, &Expected { output_cap: Some(1), context: Some(2), ..expected() }).is_ok());
    let two = Expected { choices: Some(2), ..expected() };
    assert_eq!(json(Surface::Chat, called, &two), Err(INVALID), "two choices were asked for");
}

#[test]
fn completions_and_responses_get_their_ids() {
    let body = r#"{"id":"up","model":"up","choices":[{"index":0,"text":"h","finish_reason":"length","logprobs":null}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let shown = r#"{"id":"fresh-1","object":"text_completion","created":1750000000,"model":"public/m","choices":[{"index":0,"text":"h","finish_reason":"length","logprobs":null}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    assert_eq!(json(Surface::Completions, body, &expected()).as_deref(), Ok(shown));
    let body = r#"{"id":"up","object":"response","error":null,"status":"completed","model":"up","output":[{"type":"message"}]}"#;
    let shown = r#"{"id":"fresh-1","object":"response","error":null,"status":"completed","model":"public/m","output":[{"type":"message"}]}"#;
    assert_eq!(json(Surface::Responses, body, &expected()).as_deref(), Ok(shown));
}

#[test]
fn audio_passes_as_it_is() {
    let body = r#"{ "text" : "h", "words": [] }"#;
    assert_eq!(json(Surface::Audio, body, &expected()).as_deref(), Ok(body));
    assert_eq!(check(Surface::Audio, Content::Text, b"WEBVTT\n", &expected()).as_deref(), Ok(&b"WEBVTT\n"[..]));
    assert_eq!(check(Surface::Audio, Content::Text, b"\xff", &expected()), Err(INVALID));
    assert_eq!(check(Surface::Chat, Content::Text, b"{}", &expected()), Err(INVALID));
}

#[test]
fn an_error_under_a_success_status_is_what_it_states() {
    for (body, class, stated) in [
        (r#"{"error":{"message":"x"}}"#, Class::Final, None),
        (r#"{"error":"Unauthorized"}"#, Class::Final, None),
        (r#"{"error":{"code":429,"message":"slow"},"user_id":"u"}"#, Class::Busy, None),
        (r#"{"error":{"code":502},"choices":[]}"#, Class::Unavailable, None),
        (r#"{"error":{"code":"MODEL_LOADING"}}"#, Class::NotReady, Some(SieCode::ModelLoading)),
        (r#"{"object":"error","message":"x","code":400}"#, Class::Final, None),
        (r#"{"object":"error","message":"x","code":503}"#, Class::Unavailable, None),
    ] {
        for surface in Surface::ALL {
            let Err(failure) = json(surface, body, &expected()) else { panic!("{body} is an error") };
            assert_eq!((failure.cause, failure.class, failure.stated), (Cause::InvalidAnswer, class, stated), "{body}");
        }
    }
}

#[test]
fn an_item_with_an_error_keeps_its_code_and_no_text() {
    let body = serde_json::json!({"items": [
        {"id": "a", "error": {"code": "INPUT_TOO_LONG", "message": "private"}},
        {"error": {"code": "WEIRD", "message": "private"}},
        {"error": "private"},
        {"error": null, "entities": []},
        {"entities": [{"text": "error"}]},
    ]});
    let message = "the upstream could not process this item";
    let wanted = serde_json::json!({"model": "public/m", "items": [
        {"id": "a", "error": {"code": "INPUT_TOO_LONG", "message": message}},
        {"error": {"code": "INFERENCE_ERROR", "message": message}},
        {"error": {"code": "INFERENCE_ERROR", "message": message}},
        {"error": null, "entities": []},
        {"entities": [{"text": "error"}]},
    ]});
    let shown = json(Surface::Extract, &body.to_string(), &of(5)).expect("it is valid");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("it is JSON"), wanted);
    assert_eq!(msgpack(Surface::Extract, &body, &of(5)), Ok(wanted));
}

#[test]
fn hostile_answers_are_refused_without_harm() {
    let deep =
        |open: &str, close: &str| format!(r#"{{"items":[{{"x":{}{}}}]}}"#, open.repeat(100_000), close.repeat(100_000));
    assert_eq!(json(Surface::Encode, &deep("[", "]"), &of(1)), Err(INVALID));
    assert_eq!(json(Surface::Encode, &deep("{\"a\":", "}"), &of(1)), Err(INVALID));
    assert!(json(Surface::Encode, &format!(r#"{{"items":[{{"x":{:?}}}]}}"#, "[".repeat(1000)), &of(1)).is_ok());
    let members: Vec<_> = (0..300).map(|n| format!("\"k{n}\":1")).collect();
    assert_eq!(json(Surface::Encode, &format!(r#"{{"items":[{{}}],{}}}"#, members.join(",")), &of(1)), Err(INVALID));
    let choice = r#"{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"stop"}"#;
    assert_eq!(
        json(Surface::Chat, &format!(r#"{{"choices":[{}]}}"#, vec![choice; 129].join(",")), &expected()),
        Err(INVALID)
    );
    let deep_msgpack = [b"\x81\xa5items\x91\x81\xa1x".to_vec(), vec![0x91; 100_000], vec![0xc0]].concat();
    assert_eq!(check(Surface::Encode, Content::Msgpack, &deep_msgpack, &of(1)), Err(INVALID));
    for claimed in
        [&b"\xdf\xff\xff\xff\xff"[..], b"\x81\xa5items\xdd\xff\xff\xff\xff", b"\x81\xa5items\xdb\xff\xff\xff\xff"]
    {
        assert_eq!(check(Surface::Encode, Content::Msgpack, claimed, &expected()), Err(INVALID));
    }
}

#[test]
fn vectors_of_a_large_answer_stay_the_bytes_they_were() {
    let values = vec!["0.12345678901234567890"; 20_000].join(",");
    let items = vec![format!(r#"{{"dense":{{"dims":20000,"values":[{values}]}}}}"#); 4].join(",");
    let shown = json(Surface::Encode, &format!(r#"{{"model":"up","items":[{items}]}}"#), &of(4));
    assert_eq!(shown, Ok(format!(r#"{{"model":"public/m","items":[{items}]}}"#)));
}

#[derive(serde::Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    surface: String,
    case: String,
    status: u16,
    body_json: Option<serde_json::Value>,
    body_text: Option<String>,
    body_hex: Option<String>,
    outcome: String,
    #[serde(default)]
    normalized: Option<serde_json::Value>,
}

/// Verdicts of SIE that need to know more than the shape of an answer, in the fixture's order.
const DIFFERENT: &[(&str, &str)] = &[
    // The declared dimensions.
    ("openai.embeddings", "wrong dim"),
    // The caller may have asked for base64.
    ("openai.embeddings", "base64 string"),
    // The arrays inside items are not looked into.
    ("sie.encode.dense", "int array"),
    ("sie.encode.dense", "wrong dim"),
    ("sie.encode.dense", "2-d"),
    ("sie.encode.dense", "nan"),
    ("sie.encode.dense", "inf"),
    ("sie.encode.dense", "str keys instead of bin keys"),
    ("sie.encode.sparse", "index out of range"),
    ("sie.encode.sparse", "length mismatch"),
    ("sie.encode.sparse", "float indices"),
    ("sie.encode.multivector", "wrong token dim"),
    ("sie.encode.multivector", "nan"),
    // The ids are the caller's own.
    ("sie.score", "default item-N ids"),
    ("sie.score", "repeated"),
    ("sie.score", "leading zero id"),
    // Neither is the form of entities and objects.
    ("sie.extract", "entity missing score"),
    ("sie.extract", "bbox float"),
    ("sie.extract", "object without bbox"),
    ("sie.extract", "data not object"),
    // The form of tool calls is not looked into.
    ("chat.buffered", "tool call empty id"),
];

#[test]
fn answers_are_judged_as_sie_judges_them() {
    let cases: Cases =
        serde_json::from_str(include_str!("fixtures/upstream_answer_cases.json")).expect("the fixture is JSON");
    let mut differences = Vec::new();
    for case in cases.cases.iter().filter(|case| (200..300).contains(&case.status)) {
        let (surface, items) = match case.surface.as_str() {
            "openai.embeddings" => (Surface::Embeddings, 1),
            "openai.rerank" => (Surface::Rerank, 2),
            "sie.encode.dense" | "sie.encode.multivector" | "sie.encode.sparse" => (Surface::Encode, 1),
            "sie.score" => (Surface::Score, 2),
            "sie.extract" => (Surface::Extract, 1),
            "chat.buffered" => (Surface::Chat, 1),
            _ => continue,
        };
        let body = match (&case.body_json, &case.body_text, &case.body_hex) {
            (Some(json), None, None) => json.to_string().into_bytes(),
            (None, Some(text), None) => text.clone().into_bytes(),
            (None, None, Some(hex)) => bytes_of(hex),
            _ => panic!("{} has one body", case.case),
        };
        // A SIE upstream is asked for msgpack, whatever it says that it answers.
        let content = if case.surface.starts_with("sie.") { Content::Msgpack } else { Content::Json };
        match (check(surface, content, &body, &of(items)), case.outcome.as_str()) {
            (Ok(shown), "ok") => {
                if let Some(normalized) = &case.normalized {
                    let mut shown: serde_json::Value = serde_json::from_slice(&shown).expect("it is JSON");
                    let object = shown.as_object_mut().expect("it is an object");
                    assert!(object.remove("id").is_some() && object.remove("created").is_some());
                    assert_eq!(&shown, normalized, "{}", case.case);
                }
            }
            (Err(failure), "final") => assert_eq!(failure, INVALID, "{}", case.case),
            _ => differences.push((case.surface.as_str(), case.case.as_str())),
        }
    }
    assert_eq!(differences, DIFFERENT);
}

fn bytes_of(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(body in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        "[\\[\\]{}\":,a-z0-9]{0,80}".prop_map(String::into_bytes),
        "\\{\"(items|choices|data|results|scores|output|usage|error)\":[\\[\\]{}\":,a-z0-9]{0,30}\\}".prop_map(String::into_bytes),
    ]) {
        for surface in Surface::ALL {
            for content in [Content::Json, Content::Msgpack, Content::Text] {
                let _ = check(surface, content, &body, &of(1));
            }
        }
    }

    #[test]
    fn a_cut_answer_is_never_taken_for_whole(at in any::<prop::sample::Index>()) {
        let body = serde_json::json!({"model": "up", "items": [{"id": "a", "dense": {"values": [1.5]}}]});
        let text = body.to_string();
        prop_assert_eq!(json(Surface::Encode, &text[..at.index(text.len())], &of(1)), Err(INVALID));
        let bytes = rmp_serde::to_vec_named(&body).expect("it renders");
        let cut = &bytes[..at.index(bytes.len())];
        prop_assert_eq!(check(Surface::Encode, Content::Msgpack, cut, &of(1)), Err(INVALID));
    }
}
