//! SIE's own verdicts on answers: `upstream_answer_cases.json`. Those of embeddings and rerank are judged in `tests/vectors`.

use super::{INVALID, bytes_of, of};
use spillway_filters::answer::{Content, Expected, check};
use spillway_policies::Surface;

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

#[test]
fn answers_are_judged_as_sie_judges_them() {
    let cases: Cases =
        serde_json::from_str(include_str!("../fixtures/upstream_answer_cases.json")).expect("the fixture is JSON");
    for case in cases.cases.iter().filter(|case| (200..300).contains(&case.status)) {
        let (surface, items) = match case.surface.as_str() {
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
        match (check(surface, content, &body, &declared(surface, items)), case.outcome.as_str()) {
            (Ok(shown), "ok") => {
                if let Some(normalized) = &case.normalized {
                    let mut shown: serde_json::Value = serde_json::from_slice(&shown).expect("it is JSON");
                    let object = shown.as_object_mut().expect("it is an object");
                    assert!(object.remove("id").is_some() && object.remove("created").is_some());
                    assert_eq!(&shown, normalized, "{}", case.case);
                }
            }
            (Err(failure), "final") => assert_eq!(failure, INVALID, "{}", case.case),
            (ours, outcome) => panic!("{} {}: {outcome}, not {ours:?}", case.surface, case.case),
        }
    }
}

/// The model that the fixture declares, and how SIE asks for scores: by place.
fn declared(surface: Surface, items: usize) -> Expected {
    let ids = if surface == Surface::Score { vec![None; items] } else { Vec::new() };
    Expected { dim: Some(2), sparse_dim: Some(10), multivector_dim: Some(2), ids, ..of(items) }
}
