//! Who served, as SIE says it: `serving_disclosure.json`.

use serde::Deserialize;
use spillway_filters::disclose::Disclosure;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::wire::request::{Remote, Verdict, parse};
use spillway_filters::wire::{Reject, RejectKind};
use spillway_policies::failure::SieCode;
use spillway_policies::upstream::UpstreamName;
use spillway_policies::{Cause, Surface, Trigger};
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Fixture {
    request: Asked,
    response: BTreeMap<String, Values>,
    presence: Vec<Row>,
}

#[derive(Deserialize)]
struct Asked {
    header: String,
    accepted: Vec<Vec<String>>,
    refused: Vec<Vec<String>>,
    refusal: Refusal,
}

#[derive(Deserialize)]
struct Refusal {
    status: u16,
    code: String,
}

#[derive(Deserialize)]
struct Values {
    values: Option<Vec<String>>,
    pattern: Option<String>,
}

#[derive(Deserialize)]
struct Row {
    situation: String,
    served_by: Option<String>,
    upstream: Option<String>,
    fallback_reason: Option<String>,
    fallback_error: Option<String>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../fixtures/serving_disclosure.json")).expect("the fixture is JSON")
}

const UPSTREAM: &str = "team-sie";
const TRIGGER: Trigger = Trigger::ModelLoading;
const DIRECT: Disclosure<'_> = Disclosure::Remote { upstream: UPSTREAM, trigger: None };
const BRIDGED: Disclosure<'_> = Disclosure::Remote { upstream: UPSTREAM, trigger: Some(TRIGGER) };
const FAILED: Disclosure<'_> = Disclosure::RemoteFailed { upstream: UPSTREAM, cause: Cause::Connect };
const RESTORED: Disclosure<'_> =
    Disclosure::Restored { trigger: TRIGGER, code: SieCode::QueueFull, cause: Cause::RateCap };

/// Each situation of the fixture, in its order, and what is disclosed in it here. A stream is disclosed as any success is: in its head.
const SITUATIONS: [(&str, &[Disclosure<'static>]); 10] = [
    ("local success", &[Disclosure::Local]),
    ("direct remote success (named remote profile or remote_only)", &[DIRECT]),
    ("bridged success", &[BRIDGED]),
    ("bridge failed, local refusal restored", &[RESTORED]),
    ("local refusal, no bridge (single node)", &[Disclosure::Local]),
    ("local refusal, no bridge (gateway, 5xx)", &[Disclosure::Local]),
    ("direct remote, upstream unavailable: encode/score/extract/embeddings/rerank/chat endpoint", &[FAILED]),
    ("direct remote, upstream unavailable: generate/completions/responses (single node)", &[FAILED]),
    ("4xx of any kind (gateway)", &[Disclosure::Local]),
    ("streamed success", &[Disclosure::Local, DIRECT, BRIDGED]),
];

/// Situations in which SIE says nothing, and a side that answered is named here (product section 5).
const DIFFERENT: [(&str, &str); 3] = [
    ("local refusal, no bridge (single node)", "the engine gave this answer"),
    (
        "direct remote, upstream unavailable: generate/completions/responses (single node)",
        "an upstream gave this answer",
    ),
    (
        "4xx of any kind (gateway)",
        "the engine's own 4xx is an answer of the engine's; a rejection made here discloses nothing",
    ),
];

/// The four headers of SIE's, as they stand in a head.
fn written(disclosure: Disclosure<'_>) -> [Option<String>; 4] {
    let mut head = Vec::new();
    disclosure.write(&mut head);
    let head = String::from_utf8(head).expect("header lines are ASCII");
    ["X-SIE-Served-By", "X-SIE-Upstream", "X-SIE-Fallback-Reason", "X-SIE-Fallback-Error"].map(|name| {
        let mut found = head.split("\r\n").filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let value = found.next().map(str::to_owned);
        assert_eq!(found.next(), None, "{name} stands once");
        value
    })
}

/// What a cell of the fixture stands for in this disclosure.
fn meant(cell: Option<&str>, ours: &Disclosure<'_>) -> Option<String> {
    let is_remote = matches!(ours, Disclosure::Remote { .. } | Disclosure::RemoteFailed { .. });
    let text = match cell? {
        "<name>" => UPSTREAM,
        "<trigger>" => TRIGGER.token(),
        "<CODE>" => SieCode::QueueFull.token(),
        "when remote" if is_remote => UPSTREAM,
        "when bridged" if *ours == BRIDGED => TRIGGER.token(),
        "when remote" | "when bridged" => return None,
        "local or remote, in the HTTP headers only; no in-band disclosure" => {
            if is_remote {
                "remote"
            } else {
                "local"
            }
        }
        value @ ("local" | "remote") => value,
        other => panic!("the fixture has a new cell: {other}"),
    };
    Some(text.to_owned())
}

#[test]
fn every_situation_is_disclosed_as_sie_discloses_it() {
    let rows = fixture().presence;
    let situations: Vec<_> = rows.iter().map(|row| row.situation.as_str()).collect();
    assert_eq!(situations, SITUATIONS.map(|(situation, _)| situation));
    for (row, (situation, disclosures)) in rows.iter().zip(SITUATIONS) {
        for ours in disclosures {
            let cells = [&row.served_by, &row.upstream, &row.fallback_reason, &row.fallback_error];
            let sies = cells.map(|cell| meant(cell.as_deref(), ours));
            if DIFFERENT.iter().any(|(different, _)| *different == situation) {
                assert_eq!(sies, [const { None }; 4], "{situation}: SIE says nothing");
                let (side, upstream) = if *ours == FAILED { ("remote", Some(UPSTREAM)) } else { ("local", None) };
                assert_eq!(
                    written(*ours),
                    [Some(side.to_owned()), upstream.map(str::to_owned), None, None],
                    "{situation}"
                );
            } else {
                assert_eq!(written(*ours), sies, "{situation}");
            }
        }
    }
}

#[test]
fn every_value_is_one_that_the_sdk_keeps() {
    let response = fixture().response;
    let values = |name: &str| response[name].values.clone().expect("its values are listed");
    assert_eq!(values("X-SIE-Served-By"), ["local", "remote"]);
    assert_eq!(values("X-SIE-Fallback-Reason"), Trigger::ALL.map(Trigger::token));
    let pattern = |name: &str| response[name].pattern.clone().expect("it has a pattern");
    assert_eq!(pattern("X-SIE-Fallback-Error"), "^[A-Za-z][A-Za-z0-9_]{0,63}$");
    for code in SieCode::ALL.map(SieCode::token) {
        let plain = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        assert!(plain && code.len() <= 64 && code.as_bytes()[0].is_ascii_alphabetic(), "{code}");
    }
    assert_eq!(pattern("X-SIE-Upstream"), "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$");
    let (long, longer) = ("a".repeat(63), "a".repeat(64));
    for (name, fits) in [
        ("a", true),
        ("7-b", true),
        ("a--b", true),
        (&*long, true),
        (&*longer, false),
        ("", false),
        ("-a", false),
        ("a-", false),
        ("A", false),
        ("a_b", false),
        ("a.b", false),
        ("a\n", false),
        ("\u{e4}", false),
    ] {
        assert_eq!(UpstreamName::parse(name).is_ok(), fits, "{name:?}");
    }
}

#[test]
fn consent_is_what_sie_takes_for_it() {
    let asked = fixture().request;
    let judge = |lines: &[String]| {
        let lines: String = lines.iter().map(|value| format!("{}: {value}\r\n", asked.header)).collect();
        parse(format!("POST /v1/score/m HTTP/1.1\r\nHost: t\r\n{lines}\r\n").as_bytes(), &mut Vec::new())
    };
    let consent = |verdict| if let Verdict::Fast(head) = verdict { Some(head.remote) } else { None };
    assert_eq!(consent(judge(&[])), Some(Remote::Absent));
    assert_eq!((asked.accepted.len(), asked.refused.len()), (1, 7));
    for lines in &asked.accepted {
        assert_eq!(consent(judge(lines)), Some(Remote::Forbid), "{lines:?}");
    }
    for lines in &asked.refused {
        let Verdict::Reject(Reject { kind, path }) = judge(lines) else { panic!("{lines:?} is refused") };
        assert_eq!((kind, kind.status(), path), (RejectKind::Remote, asked.refusal.status, Some(5..16)), "{lines:?}");
        let answer = ErrorAnswer::framing(kind.status(), kind.message());
        assert_eq!(answer.code, asked.refusal.code, "{lines:?}");
        let shown: serde_json::Value = serde_json::from_slice(&answer.body(Some(Surface::Audio))).expect("JSON");
        assert_eq!(shown["error"]["code"], "invalid_request", "audio has a word of its own (contract section 3)");
    }
}
