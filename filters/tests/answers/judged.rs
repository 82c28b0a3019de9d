//! SIE's own verdicts on answers: `upstream_answer_cases.json`.

use super::{INVALID, bytes_of, of};
use spillway_filters::answer::{Content, Expected, check};
use spillway_filters::upstream_status::classify;
use spillway_policies::{Cause, Class, Failure, Surface};
use std::collections::BTreeMap;

#[derive(serde::Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    surface: String,
    case: String,
    status: u16,
    headers: BTreeMap<String, String>,
    body_json: Option<serde_json::Value>,
    body_text: Option<String>,
    body_hex: Option<String>,
    outcome: String,
    #[serde(default)]
    normalized: Option<serde_json::Value>,
}

impl Case {
    fn body(&self) -> Vec<u8> {
        match (&self.body_json, &self.body_text, &self.body_hex) {
            (Some(json), None, None) => json.to_string().into_bytes(),
            (None, Some(text), None) => text.clone().into_bytes(),
            (None, None, Some(hex)) => bytes_of(hex),
            _ => panic!("{} has one body", self.case),
        }
    }

    /// Who judges it.
    fn judge(&self) -> Judge {
        let (surface, items) = match self.surface.as_str() {
            _ if !(200..300).contains(&self.status) => return Judge::Status,
            "chat.stream" | "openai.completions" | "sie.generate" => return Judge::Stream,
            "openai.embeddings" | "openai.rerank" => return Judge::Dialect,
            "sie.encode.dense" | "sie.encode.multivector" | "sie.encode.sparse" => (Surface::Encode, 1),
            "sie.score" => (Surface::Score, 2),
            "sie.extract" => (Surface::Extract, 1),
            "chat.buffered" => (Surface::Chat, 1),
            other => panic!("the fixture has a new surface: {other}"),
        };
        Judge::Whole(surface, items)
    }
}

/// The test that gives a verdict on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judge {
    /// `vectors/`, where embeddings and rankings are read.
    Dialect,
    /// Its status says what it is, whatever the surface.
    Status,
    /// `streams/fixture.rs`.
    Stream,
    /// A whole answer on this surface to so many items.
    Whole(Surface, usize),
}

fn cases() -> Vec<Case> {
    let cases: Cases =
        serde_json::from_str(include_str!("../fixtures/upstream_answer_cases.json")).expect("the fixture is JSON");
    cases.cases
}

/// No case is left out: `streams/fixture.rs` counts the streams that it judges.
#[test]
fn every_case_has_its_judge() {
    let cases = cases();
    let count = |is: &dyn Fn(Judge) -> bool| cases.iter().filter(|case| is(case.judge())).count();
    assert_eq!(count(&|judge| judge == Judge::Dialect), 31);
    assert_eq!(count(&|judge| matches!(judge, Judge::Whole(..))), 56);
    assert_eq!(count(&|judge| judge == Judge::Stream), 42);
    assert_eq!(count(&|judge| judge == Judge::Status), 4);
    assert_eq!(cases.len(), 133);
}

#[test]
fn a_status_that_is_no_success_is_judged_as_sie_judges_it() {
    for case in cases().iter().filter(|case| case.judge() == Judge::Status) {
        let header = |name: &str| case.headers.get(name).map(String::as_bytes);
        let (wait, content_type) = (header("Retry-After"), header("Content-Type"));
        let failure = classify(case.status, wait, header("X-SIE-Error-Code"), content_type, &case.body(), 0);
        let cause = if case.status == 304 { Cause::Redirect } else { Cause::Status };
        let wanted = match case.outcome.as_str() {
            "final" => Failure::new(cause, Class::Final),
            "input_too_long" => Failure::new(cause, Class::TooLong),
            // It states a wait of nine seconds.
            "retryable:not_ready" => Failure { retry_after_s: Some(9), ..Failure::new(cause, Class::NotReady) },
            other => panic!("the fixture has a new outcome: {other}"),
        };
        assert_eq!(failure, wanted, "{} {}", case.surface, case.case);
    }
}

/// Cases whose headers decide, which `proxy` reads before a body is looked at: the case `upstream_answers_are_bounded` proves them.
#[test]
fn only_one_case_turns_on_a_header_that_is_not_read_here() {
    let cases = cases();
    let coded: Vec<_> = cases.iter().filter(|case| case.headers.contains_key("Content-Encoding")).collect();
    let [coded] = coded[..] else { panic!("one case") };
    assert_eq!((coded.case.as_str(), coded.outcome.as_str()), ("identity content-encoding", "ok"));
    assert_eq!(coded.headers["Content-Encoding"], "identity");
    // Its body is judged with the others.
    assert_eq!(coded.judge(), Judge::Dialect);
}

#[test]
fn answers_are_judged_as_sie_judges_them() {
    for case in &cases() {
        let Judge::Whole(surface, items) = case.judge() else { continue };
        let body = case.body();
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
            (judged, outcome) => panic!("{} {}: {outcome}, not {judged:?}", case.surface, case.case),
        }
    }
}

/// The model that the fixture declares, and how SIE asks for scores: by place.
fn declared(surface: Surface, items: usize) -> Expected {
    let ids = if surface == Surface::Score { vec![None; items] } else { Vec::new() };
    Expected { dim: Some(2), sparse_dim: Some(10), multivector_dim: Some(2), ids, ..of(items) }
}
