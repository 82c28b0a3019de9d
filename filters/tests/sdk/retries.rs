//! What the SDK does with an answer, and what we do with it before: `retry_classification.json`.

use serde::Deserialize;
use serde_json::Value;
use spillway_filters::answer::{Content, Expected, check};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::presets::preset;
use spillway_filters::refusal::{Answer, Phase, recognise};
use spillway_policies::trigger::Trigger::{self, ModelLoading, Provisioning, Saturated, Unhealthy};
use spillway_policies::{Cause, Class, Failure, Refusal, Surface, TriggerSet};
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Row>,
}

/// An answer, and what each method of the SDK does with it.
#[derive(Deserialize)]
struct Row {
    name: String,
    status: u16,
    body: Value,
    retry_after: Option<String>,
    x_sie_error_code: Option<String>,
    decision: BTreeMap<String, String>,
}

/// The methods of the SDK and the surfaces that they call.
const METHODS: [(&str, Surface); 6] = [
    ("encode", Surface::Encode),
    ("score", Surface::Score),
    ("extract", Surface::Extract),
    ("generate", Surface::Generate),
    ("chat", Surface::Chat),
    ("stream_generate", Surface::Generate),
];

impl Row {
    fn retries(&self, method: &str) -> bool {
        match self.decision[method].as_str() {
            "retry" => true,
            terminal => {
                assert!(terminal.starts_with("terminal:"), "{}: a new decision", self.name);
                false
            }
        }
    }

    fn refusal(&self) -> Option<Refusal> {
        let line = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name}: {value}\r\n")).unwrap_or_default()
        };
        let head = line("Retry-After", &self.retry_after) + &line("X-SIE-Error-Code", &self.x_sie_error_code);
        let body = if self.body.is_null() { String::new() } else { self.body.to_string() };
        let answer = Answer {
            phase: Phase::Head,
            status: self.status,
            head: head.as_bytes(),
            body: body.as_bytes(),
            served_remotely: false,
            work: None,
        };
        recognise(preset("sie").expect("the preset is listed"), &[], &answer)
    }
}

fn rows() -> Vec<Row> {
    let text = include_str!("../fixtures/retry_classification.json");
    let fixture: Fixture = serde_json::from_str(text).expect("the fixture is JSON");
    assert_eq!(fixture.cases.len(), 40);
    fixture.cases
}

/// The answers that are refusals, in the fixture's order, and which; every other answer goes to the caller as it is.
const REFUSALS: [(&str, Trigger); 14] = [
    ("503_detail_PROVISIONING", Provisioning),
    ("503_detail_MODEL_LOADING", ModelLoading),
    ("503_detail_QUEUE_FULL", Saturated),
    ("503_detail_QUEUE_UNAVAILABLE", Saturated),
    ("503_detail_MODEL_NOT_LOADED", ModelLoading),
    ("503_openai_provisioning", Provisioning),
    ("503_openai_MODEL_LOADING", ModelLoading),
    ("503_openai_QUEUE_FULL", Saturated),
    ("503_openai_provisioning_with_header", Provisioning),
    ("503_header_only_MODEL_LOADING_no_body", ModelLoading),
    ("503_header_MODEL_LOADING_beats_body_INTERNAL", ModelLoading),
    ("503_MODEL_NOT_LOADED_no_retry_after", ModelLoading),
    ("502_MODEL_LOAD_FAILED", Unhealthy),
    ("202_legacy_provisioning", Provisioning),
];

/// Refusals that no method of the SDK comes back after: without the bridge the caller has failed. By default one code bridges so.
const TERMINAL_YET_BRIDGED: [(&str, &str); 4] = [
    ("503_detail_MODEL_NOT_LOADED", "a model that is being unloaded (contract section 0 item 2)"),
    ("503_MODEL_NOT_LOADED_no_retry_after", "the same as it is really sent"),
    ("502_MODEL_LOAD_FAILED", "only where the operator switched `unhealthy` on"),
    ("202_legacy_provisioning", "a gateway of April 2026, which the SDK of its time waited for"),
];

/// Answers that every method of the SDK comes back after, and that are no refusals: work may have been done, or it is not said what for.
const RETRIED_YET_KEPT: [(&str, &str); 6] = [
    ("503_detail_RESOURCE_EXHAUSTED", "inference was attempted"),
    ("503_detail_BILLING_CAPACITY_UNAVAILABLE", "the account's, not the engine's"),
    ("503_openai_transport_failure", "it hides what happened"),
    ("503_openai_RESOURCE_EXHAUSTED", "inference was attempted"),
    ("429_no_code", "the caller's own limit"),
    ("429_openai_rate_limit_exceeded", "the same"),
];

#[test]
fn these_answers_bridge_and_no_other() {
    let found: Vec<_> = rows().iter().filter_map(|row| Some((row.name.clone(), row.refusal()?))).collect();
    let wanted: Vec<_> =
        REFUSALS.iter().map(|(name, trigger)| ((*name).to_owned(), Refusal::certain(*trigger))).collect();
    assert_eq!(found, wanted);
}

#[test]
fn a_bridge_saves_what_the_sdk_gives_up() {
    let rows = rows();
    let of = |row: &Row| METHODS.iter().filter(|(method, _)| row.retries(method)).count();
    let names = |keep: &dyn Fn(&Row) -> bool| -> Vec<String> {
        rows.iter().filter(|row| keep(row)).map(|row| row.name.clone()).collect()
    };
    let terminal = names(&|row| of(row) == 0 && row.refusal().is_some());
    assert_eq!(terminal, TERMINAL_YET_BRIDGED.map(|(name, _)| name));
    let kept = names(&|row| of(row) == METHODS.len() && row.refusal().is_none());
    assert_eq!(kept, RETRIED_YET_KEPT.map(|(name, _)| name));
    // Unasked, a terminal answer of the present contract bridges for one code.
    let on = |row: &Row| row.refusal().is_some_and(|refusal| TriggerSet::default().contains(refusal.trigger));
    let codes: Vec<_> =
        rows.iter().filter(|row| of(row) == 0 && on(row) && row.status != 202).map(|row| code(&row.body)).collect();
    assert_eq!(codes, [Some("MODEL_NOT_LOADED".to_owned()), Some("MODEL_NOT_LOADED".to_owned())]);
}

/// The code in a body, where the SDK looks for it (contract section 2).
fn code(body: &Value) -> Option<String> {
    let of = |envelope: &str| body[envelope]["code"].as_str().map(str::to_owned);
    let code = of("error").or_else(|| of("detail"))?;
    Some(if code == "provisioning" { "PROVISIONING".to_owned() } else { code })
}

/// Whether a method of the SDK comes back after an answer of ours.
///
/// What the fixture does not name is raised at once (contract section 2), but for 429 and 504, which have one decision whatever the code.
fn comes_back(rows: &[Row], answer: &ErrorAnswer, method: &str, surface: Surface) -> bool {
    let body: Value = serde_json::from_slice(&answer.body(Some(surface))).expect("JSON");
    let ours = code(&body).expect("every answer has a code");
    let of_status = || rows.iter().filter(|row| row.status == answer.status);
    let named: Vec<_> = of_status()
        .filter(|row| row.x_sie_error_code.is_none() && code(&row.body).as_ref() == Some(&ours))
        // A wait can be what decides (contract section 2).
        .filter(|row| row.retry_after.is_some() == answer.retry_after_s.is_some())
        .map(|row| row.retries(method))
        .collect();
    match named.first() {
        Some(first) => {
            assert!(named.iter().all(|retries| retries == first), "{ours}: one decision");
            *first
        }
        None => of_status().next().is_some() && of_status().all(|row| row.retries(method)),
    }
}

/// What is meant by an answer: who should come back after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meant {
    /// Everybody: there was no work.
    ComeBack,
    /// Nobody: asking again changes nothing, or may do the work twice.
    GiveUp,
    /// Who asks for what can be computed twice: encode, score and extract. It is the caller's own decision, not ours.
    ComeBackForVectors,
}

impl Meant {
    const fn of(self, surface: Surface) -> bool {
        match self {
            Self::ComeBack => true,
            Self::GiveUp => false,
            Self::ComeBackForVectors => matches!(surface, Surface::Encode | Surface::Extract | Surface::Score),
        }
    }
}

#[test]
fn the_sdk_does_what_our_own_answers_mean() {
    let rows = rows();
    for (answer, meant) in [
        (ErrorAnswer::provisioning(), Meant::ComeBack),
        (ErrorAnswer::queue_full(), Meant::ComeBack),
        (ErrorAnswer::not_on_this_lane(), Meant::ComeBack),
        // Its code is product.md's own (section 8), and nothing that the SDK waits for.
        (ErrorAnswer::engine_unreachable(), Meant::GiveUp),
        (ErrorAnswer::engine_timeout(), Meant::ComeBackForVectors),
        (ErrorAnswer::engine_reset(), Meant::GiveUp),
        (ErrorAnswer::engine_protocol(), Meant::GiveUp),
        (ErrorAnswer::switched_off(), Meant::GiveUp),
        (ErrorAnswer::forbidden_remote(), Meant::GiveUp),
        (ErrorAnswer::not_this_task(Surface::Chat), Meant::GiveUp),
        (ErrorAnswer::not_this_task(Surface::Embeddings), Meant::GiveUp),
        (ErrorAnswer::body_too_large(), Meant::GiveUp),
        (ErrorAnswer::too_slow("m"), Meant::GiveUp),
        (ErrorAnswer::invalid("m"), Meant::GiveUp),
        (ErrorAnswer::invalid_field("model", "m"), Meant::GiveUp),
        (ErrorAnswer::framing(400, "m"), Meant::GiveUp),
        (ErrorAnswer::framing(413, "m"), Meant::GiveUp),
        (ErrorAnswer::framing(414, "m"), Meant::GiveUp),
        (ErrorAnswer::framing(417, "m"), Meant::GiveUp),
        (ErrorAnswer::framing(431, "m"), Meant::GiveUp),
        (ErrorAnswer::framing(501, "m"), Meant::GiveUp),
        (ErrorAnswer::framing(505, "m"), Meant::GiveUp),
    ] {
        for (method, surface) in METHODS {
            assert_eq!(comes_back(&rows, &answer, method, surface), meant.of(surface), "{method}: {answer:?}");
        }
        if meant == Meant::ComeBack {
            assert!(answer.retry_after_s.is_some_and(|wait| (1..=60).contains(&wait)), "{answer:?} says when");
        }
    }
}

#[test]
fn the_sdk_waits_for_an_upstream_exactly_when_it_may_recover() {
    let rows = rows();
    for class in [
        Class::Busy,
        Class::Final,
        Class::Invalid,
        Class::NotReady,
        Class::TooLong,
        Class::Unavailable,
        Class::Unparsable,
    ] {
        for (method, surface) in METHODS {
            let failure = Failure::new(Cause::Status, class);
            let answer = ErrorAnswer::remote_failed(&failure, surface);
            assert_eq!(comes_back(&rows, &answer, method, surface), failure.is_retryable(), "{method}: {answer:?}");
            assert_eq!(answer.retry_after_s.is_some(), failure.is_retryable(), "{answer:?}");
        }
    }
    let unsupported = Failure::new(Cause::Unsupported, Class::Final);
    for (method, surface) in METHODS {
        assert!(!comes_back(&rows, &ErrorAnswer::remote_failed(&unsupported, surface), method, surface), "{method}");
    }
}

/// An error that an upstream states inside a 200 has a code of its own. What the caller of a remote-only model gets is MODEL_LOADING or
/// QUEUE_FULL, of generation RESOURCE_EXHAUSTED (contract section 5, remote_only refusals): what it waits for.
#[test]
fn the_sdk_waits_whatever_code_an_upstream_states_in_a_200() {
    let rows = rows();
    let mut wrong = Vec::new();
    for stated in ["LORA_LOADING", "MODEL_LOADING", "PROVISIONING", "QUEUE_FULL", "RESOURCE_EXHAUSTED", "429", "503"] {
        let body = format!(r#"{{"error":{{"code":"{stated}","message":"m"}}}}"#);
        for (method, surface) in METHODS {
            let answer = check(surface, Content::Json, body.as_bytes(), &Expected::default());
            let failure = answer.expect_err("it is an error");
            assert!(failure.is_retryable(), "{stated}: {failure:?}");
            let answer = ErrorAnswer::remote_failed(&failure, surface);
            let busy = if surface.exhausts_resources() { "RESOURCE_EXHAUSTED" } else { "QUEUE_FULL" };
            let is_contracts = answer.status == 503 && ["MODEL_LOADING", busy].contains(&answer.code);
            if !is_contracts || !comes_back(&rows, &answer, method, surface) {
                wrong.push(format!("{method}: {stated} became {} {}", answer.status, answer.code));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
