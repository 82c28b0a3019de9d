//! Which calls are rejected for their fields, and how: the verdicts of the reference, case by case.

use proptest::prelude::*;
use serde_json::{Value, json};
use spillway_filters::call::{self, Format};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::validate::{Dialect, Rules};
use spillway_policies::Surface;

mod different;
mod expand;

use different::DIFFERENT;

/// What became of a call: accepted, or status, code and the field it is about.
#[derive(Debug, PartialEq)]
enum Verdict {
    Accepted,
    /// Rejected before any field rule: what holds on every surface has one answer on all of them.
    Malformed,
    Rejected(u16, String, Option<String>),
}

fn verdict_of_the_reference(case: &Value) -> Verdict {
    if case["accepted"] == true {
        return Verdict::Accepted;
    }
    let text = |name: &str| case[name].as_str().map(str::to_owned);
    let status = case["status"].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
    Verdict::Rejected(status, text("code").unwrap_or_default(), text("param"))
}

fn inspected(
    surface: Surface,
    content_type: &str,
    body: &[u8],
    rules: &Rules<'_>,
) -> Result<Option<Box<ErrorAnswer>>, ErrorAnswer> {
    let format = Format::of(surface, content_type.as_bytes());
    if !surface.is_native() {
        call::named(format, content_type.as_bytes(), body)?;
    }
    Ok(call::inspect(surface, format, body, rules)?.rejection)
}

/// Our verdict, read from the body that the caller would see.
fn verdict(surface: Surface, case: &Value, body: &[u8]) -> Verdict {
    let dense_dim = match body {
        body if memchr::memmem::find(body, b"oracle/dense").is_some() => Some(12),
        body if memchr::memmem::find(body, b"oracle/all").is_some() => Some(64),
        _ => None,
    };
    let rules = Rules { dialect: Dialect::Sie, accept: &[], dense_dim, max_output_tokens: Some(512) };
    let content_type = match (case["headers"]["content-type"].as_str(), case["content"].as_str()) {
        (Some(content_type), _) => content_type,
        (None, Some("msgpack")) => "application/msgpack",
        (None, Some("multipart")) => "multipart/form-data; boundary=boundary",
        _ => "application/json",
    };
    let answer = match inspected(surface, content_type, body, &rules) {
        Ok(None) => return Verdict::Accepted,
        Ok(Some(answer)) => answer,
        Err(answer) => {
            // What cannot be a stream flag has the surface's own code.
            let is_flag = answer.param.as_deref() == Some("stream");
            assert!(answer.status == 400 && (is_flag || answer.code == "INVALID_INPUT"), "{answer:?}");
            return Verdict::Malformed;
        }
    };
    let shown: Value = serde_json::from_slice(&answer.body(Some(surface))).expect("JSON");
    if answer.status == 422 {
        assert_eq!(shown["detail"][0]["loc"][0], "body");
        return Verdict::Rejected(422, String::new(), None);
    }
    let error = &shown[if surface.is_native() { "detail" } else { "error" }];
    let code = error["code"].as_str().expect("a code").to_owned();
    Verdict::Rejected(answer.status, code, error["param"].as_str().map(str::to_owned))
}

/// We may name the field where the reference does not, and show no more than 64 characters of a name.
fn agree(reference: &Verdict, ours: &Verdict) -> bool {
    let Verdict::Rejected(status, code, param) = reference else { return reference == ours };
    match ours {
        Verdict::Accepted => false,
        Verdict::Malformed => matches!(status, 400 | 422),
        Verdict::Rejected(our_status, our_code, our_param) => {
            let shown = param.as_ref().map(|param| param.chars().take(64).collect::<String>());
            (status, code) == (our_status, our_code) && (shown.is_none() || shown == *our_param)
        }
    }
}

#[test]
fn the_reference_is_followed_case_by_case() {
    let fixture: Value =
        serde_json::from_str(include_str!("../fixtures/validation_cases.json")).expect("the fixture is JSON");
    let cases = fixture["cases"].as_array().expect("cases");
    assert!(cases.len() > 2500);
    let mut different = Vec::new();
    for case in cases {
        let name = case["surface"].as_str().expect("a surface");
        let surface = *Surface::ALL.iter().find(|surface| surface.name() == name).expect("a surface of ours");
        let body = expand::body(case);
        let (reference, ours) = (verdict_of_the_reference(case), verdict(surface, case, &body));
        if !agree(&reference, &ours) {
            different.push((name.to_owned(), case["case"].as_str().expect("a name").to_owned(), reference, ours));
        }
    }
    for (surface, case, reference, ours) in &different {
        let known = DIFFERENT.iter().any(|(rows, _)| rows.contains(&(surface, case)));
        assert!(known, "{surface}: {case}: the reference says {reference:?}, we say {ours:?}");
    }
    for row in DIFFERENT.iter().flat_map(|(rows, _)| rows.iter()) {
        assert!(different.iter().any(|(surface, case, ..)| (&**surface, &**case) == *row), "{row:?} is no difference");
    }
}

const OPENAI: Rules<'_> =
    Rules { dialect: Dialect::Openai, accept: &[], dense_dim: Some(64), max_output_tokens: Some(512) };

#[test]
fn other_engines_take_what_openai_documents() {
    let chat = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "reasoning_effort": "low",
        "store": false, "metadata": {"a": "b"}, "max_completion_tokens": 5000, "tools": [{"type": "custom"}]});
    let responses = json!({"model": "m", "input": [{"role": "user", "content": "x"}], "instructions": "y",
        "stream": true, "tools": [], "reasoning": {"effort": "low"}});
    let completions = json!({"model": "m", "prompt": [[1, 2], [3]], "echo": true, "suffix": "z", "logprobs": 3});
    let embeddings = json!({"model": "m", "input": ["a", "b"], "dimensions": 12});
    let rerank = json!({"model": "m", "query": "q", "documents": [{"text": "a"}, "b"], "max_tokens_per_doc": 100});
    for (surface, body, unknown, code) in [
        (Surface::Chat, chat, "top_k", "unsupported_field"),
        (Surface::Responses, responses, "min_p", "unsupported_field"),
        (Surface::Completions, completions, "best_off", "unsupported_field"),
        (Surface::Embeddings, embeddings, "task", "unsupported_field"),
        (Surface::Rerank, rerank, "texts", "INVALID_INPUT"),
    ] {
        let inspect = |body: &Value| inspected(surface, "", body.to_string().as_bytes(), &OPENAI);
        assert_eq!(inspect(&body), Ok(None), "{surface:?}");
        let mut more = body.clone();
        more[unknown] = json!(1);
        more["zzz"] = json!(1);
        let answer = inspect(&more).expect("well-formed").expect("not documented");
        assert_eq!((answer.status, answer.code, answer.param.as_deref()), (400, code, Some(unknown)), "{surface:?}");
    }
}

/// Names that some table knows, and some that none does.
const NAMES: &[&str] = &[
    "model",
    "messages",
    "role",
    "content",
    "type",
    "text",
    "tools",
    "function",
    "name",
    "parameters",
    "tool_choice",
    "response_format",
    "json_schema",
    "schema",
    "strict",
    "properties",
    "$ref",
    "stream",
    "stream_options",
    "include_usage",
    "n",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "stop",
    "prompt",
    "input",
    "dimensions",
    "query",
    "documents",
    "top_n",
    "items",
    "params",
    "options",
    "profile",
    "labels",
    "output_schema",
    "metadata",
    "images",
    "audio",
    "data",
    "grammar",
    "regex",
    "max_new_tokens",
    "default_sampling",
    "if",
    "zz",
    "",
    "\u{e4}",
];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3_i64..200).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| number.is_finite().then(|| json!(number))),
        prop::sample::select(NAMES).prop_map(Value::from),
        "[ -~\u{e4}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(NAMES), inner, 0..6)
                .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn both_formats_have_one_verdict(members in prop::collection::btree_map(prop::sample::select(NAMES), any_value(), 0..8)) {
        let body: Value = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (json, msgpack) = (body.to_string(), expand::packed(&body));
        for surface in Surface::ALL {
            for dialect in [Dialect::Openai, Dialect::Sie] {
                let rules = Rules { dialect, ..OPENAI };
                let text = call::inspect(surface, Format::Json, json.as_bytes(), &rules);
                let packed = call::inspect(surface, Format::Msgpack, &msgpack, &rules);
                // Bytes are written in another way in each.
                if !json.contains("\"data\"") {
                    prop_assert_eq!(text, packed);
                }
            }
        }
    }
}
