//! Upstream error answers are classified as SIE classifies them: every row of `upstream_status_mapping.json`.

use proptest::prelude::*;
use serde::Deserialize;
use spillway_filters::answer::{Content, Expected, check};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::upstream_status::{MAX_BODY_BYTES, classify, retry_after_s};
use spillway_policies::breaker::Outcome;
use spillway_policies::failure::SieCode;
use spillway_policies::{Cause, Class, Failure, Surface};

/// A day of 2025, in seconds since 1970.
const NOW: u64 = 1_750_000_000;

#[derive(Deserialize)]
struct Mapping {
    status: Vec<StatusRow>,
    transport: Vec<TransportRow>,
    retry_after: Vec<WaitRow>,
    error_code_extraction: Vec<CodeRow>,
}

#[derive(Deserialize)]
struct StatusRow {
    status: u16,
    code: Option<String>,
    retry_after: Option<String>,
    outcome: String,
    kind: Option<String>,
    retry_after_s: Option<u64>,
    breaker_failure: bool,
    native_client: Client,
    generation_client: Client,
}

#[derive(Deserialize)]
struct TransportRow {
    error: String,
    outcome: String,
    retry_after_s: Option<u64>,
}

#[derive(Deserialize)]
struct Client {
    code: String,
}

#[derive(Deserialize)]
struct WaitRow {
    value: Option<String>,
    seconds: Option<u64>,
}

#[derive(Deserialize)]
struct CodeRow {
    name: String,
    headers: std::collections::BTreeMap<String, String>,
    body_hex: String,
    code: Option<String>,
}

fn mapping() -> Mapping {
    serde_json::from_str(include_str!("fixtures/upstream_status_mapping.json")).expect("the fixture is JSON")
}

fn class(outcome: &str, kind: Option<&str>) -> Class {
    match (outcome, kind) {
        ("retryable", Some("unavailable")) => Class::Unavailable,
        ("retryable", Some("not_ready")) => Class::NotReady,
        ("retryable", Some("busy")) => Class::Busy,
        ("final", None) => Class::Final,
        ("invalid_input", None) => Class::Invalid,
        ("input_too_long", None) => Class::TooLong,
        other => panic!("the fixture has a new outcome: {other:?}"),
    }
}

#[test]
fn every_status_row_has_its_class() {
    let rows = mapping().status;
    assert_eq!(rows.len(), 42);
    for row in rows {
        let code = row.code.clone().unwrap_or_default();
        let bodies = [
            (None, format!(r#"{{"error":{{"code":"{code}"}}}}"#)),
            (None, format!(r#"{{"detail":{{"code":"{code}","message":"private"}}}}"#)),
            (Some(code.as_str()), String::new()),
        ];
        for (header, body) in bodies {
            // The header knows `provisioning` in capitals only.
            if header == Some("provisioning") {
                continue;
            }
            let retry_after = row.retry_after.as_ref().map(String::as_bytes);
            let failure = classify(
                row.status,
                retry_after,
                header.map(str::as_bytes),
                Some(b"application/json"),
                body.as_bytes(),
                NOW,
            );
            let wanted = class(&row.outcome, row.kind.as_deref());
            let label = format!("{} {code} {body}", row.status);
            assert_eq!((failure.cause, failure.class), (Cause::Status, wanted), "{label}");
            assert_eq!(failure.retry_after_s, row.retry_after_s, "{label}");
            assert_eq!(failure.outcome() == Outcome::Unavailable, row.breaker_failure, "{label}");
            assert_eq!(failure.code(Surface::Encode).token(), row.native_client.code, "{label}");
            let generated = SieCode::of(400, Some(&row.generation_client.code));
            assert_eq!(failure.code(Surface::Generate), generated, "{label}");
        }
    }
}

#[test]
fn every_wait_is_read_as_sie_reads_it() {
    let rows = mapping().retry_after;
    assert_eq!(rows.len(), 21);
    for row in rows {
        let found = row.value.as_ref().and_then(|value| retry_after_s(value.as_bytes(), NOW));
        assert_eq!(found, row.seconds, "{:?}", row.value);
    }
    assert_eq!(retry_after_s(b"\xff", NOW), None);
}

#[test]
fn every_code_is_found_where_sie_finds_it() {
    let rows = mapping().error_code_extraction;
    assert_eq!(rows.len(), 15);
    for row in rows {
        let header = row.headers.get("X-SIE-Error-Code").map(String::as_bytes);
        let content_type = row.headers.get("Content-Type").map(String::as_bytes);
        let found = classify(503, None, header, content_type, &bytes_of(&row.body_hex), NOW);
        let stated = row.code.as_deref().map(|code| classify(503, None, Some(code.as_bytes()), None, b"", NOW));
        assert_eq!(found, stated.unwrap_or_else(|| classify(503, None, None, None, b"", NOW)), "{}", row.name);
        assert_eq!(found.class == Class::Unavailable, row.code.is_none(), "{}", row.name);
    }
}

/// Where an error of the reference's HTTP library becomes a failure.
enum Seen {
    /// In this crate.
    Here(fn() -> Failure),
    /// In `proxy`, which has the socket; what shows it.
    InProxy(&'static str),
    /// Nowhere, and why.
    Never(&'static str),
}

/// Every transport error of the fixture, in its order, and what it is here.
const TRANSPORT: [(&str, Cause, Class, Seen); 15] = [
    ("ConnectError", Cause::Connect, Class::Unavailable, Seen::InProxy("upstream_failure_restores: nobody listens")),
    (
        "ConnectTimeout",
        Cause::Timeout,
        Class::Unavailable,
        Seen::InProxy("TCP or TLS that stalls, which loopback cannot"),
    ),
    ("ReadTimeout", Cause::Timeout, Class::Unavailable, Seen::InProxy("upstream_answers_are_bounded: `total_s`")),
    (
        "WriteTimeout",
        Cause::Timeout,
        Class::Unavailable,
        Seen::InProxy("one deadline for request and head: `first_byte_s`"),
    ),
    ("PoolTimeout", Cause::ConcurrencyCap, Class::Busy, Seen::Never("the cap refuses at once, nobody queues")),
    ("ReadError", Cause::Connect, Class::Unavailable, Seen::InProxy("upstream_failure_restores: a reset")),
    (
        "WriteError",
        Cause::Connect,
        Class::Unavailable,
        Seen::InProxy("an answer may be waiting, and it is read: then as above"),
    ),
    (
        "CloseError",
        Cause::Connect,
        Class::Unavailable,
        Seen::Never("nothing is waited for when a connection is closed"),
    ),
    ("RemoteProtocolError", Cause::Connect, Class::Unavailable, Seen::InProxy("upstream_failure_restores: a close")),
    ("ProxyError", Cause::Connect, Class::Unavailable, Seen::InProxy("a tunnel that is refused is no connection")),
    ("LocalProtocolError", Cause::Unsupported, Class::Final, Seen::InProxy("a request that cannot be written down")),
    (
        "UnsupportedProtocol",
        Cause::Unsupported,
        Class::Final,
        Seen::Never("no configuration is loaded with such a URL"),
    ),
    ("DecodingError", Cause::InvalidAnswer, Class::Final, Seen::Here(undecodable)),
    ("TooManyRedirects", Cause::Redirect, Class::Final, Seen::Here(redirected)),
    ("redirect_3xx", Cause::Redirect, Class::Final, Seen::Here(redirected)),
];

/// A compressed body, or any other that is not what it says.
fn undecodable() -> Failure {
    let body = b"\x1f\x8b\x08\x00\x00\x00\x00\x00";
    check(Surface::Chat, Content::Json, body, &Expected::default()).expect_err("it is no answer")
}

fn redirected() -> Failure {
    classify(302, None, None, None, b"", NOW)
}

#[test]
fn every_transport_error_has_its_class() {
    let rows = mapping().transport;
    assert_eq!(rows.len(), TRANSPORT.len());
    for (row, (error, cause, class, seen)) in rows.iter().zip(TRANSPORT) {
        assert_eq!(row.error, error);
        let failure = Failure::new(cause, class);
        let shown = match seen {
            Seen::Here(found) => {
                assert_eq!(found(), failure, "{error}");
                "here"
            }
            Seen::InProxy(shown) | Seen::Never(shown) => shown,
        };
        let outcome = if failure.is_retryable() { "retryable_unavailable" } else { "final" };
        assert_eq!(outcome, row.outcome, "{error}: {shown}");
        // What the caller of a remote-only model is told.
        for surface in Surface::ALL {
            let answer = ErrorAnswer::remote_failed(&failure, surface);
            assert_eq!(answer.retry_after_s, row.retry_after_s, "{error} {surface:?}: {shown}");
        }
        // A cap of our own says nothing about the upstream; every other retryable failure is one that the breaker counts.
        let counts = row.outcome != "final" && cause != Cause::ConcurrencyCap;
        assert_eq!(failure.outcome() == Outcome::Unavailable, counts, "{error}: {shown}");
    }
}

#[test]
fn redirects_are_final_and_have_a_cause_of_their_own() {
    for status in [301, 302, 303, 304, 307, 308] {
        let failure = classify(status, Some(b"5"), None, None, b"", NOW);
        assert_eq!(failure, Failure::new(Cause::Redirect, Class::Final), "{status}");
    }
}

#[test]
fn statuses_outside_the_table() {
    for (status, wanted) in
        [(505, Class::Final), (503, Class::Unavailable), (529, Class::Unavailable), (498, Class::Final)]
    {
        assert_eq!(
            classify(status, None, None, Some(b"text/html"), b"<html>524</html>", NOW).class,
            wanted,
            "{status}"
        );
    }
    let list = classify(503, None, None, None, br#"[{"code":"QUEUE_FULL"}]"#, NOW);
    assert_eq!(list.class, Class::Unavailable, "a list states nothing");
    let busy = classify(503, Some(b"soon"), None, None, br#"{"error":{"code":"transport_failure"}}"#, NOW);
    assert_eq!(busy.class, Class::Unavailable, "a wait that cannot be read is none");
}

#[test]
fn a_body_over_the_bound_states_nothing() {
    let mut body = br#"{"error":{"code":"QUEUE_FULL"}}"#.to_vec();
    body.resize(MAX_BODY_BYTES, b' ');
    assert_eq!(classify(503, None, None, None, &body, NOW).class, Class::Busy);
    body.push(b' ');
    assert_eq!(classify(503, None, None, None, &body, NOW).class, Class::Unavailable);
}

fn bytes_of(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}

proptest! {
    #[test]
    fn arbitrary_answers_never_panic(
        status in any::<u16>(),
        retry_after in prop::option::of(prop::collection::vec(any::<u8>(), 0..40)),
        code in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        msgpack in any::<bool>(),
        body in prop::collection::vec(any::<u8>(), 0..80),
        now in any::<u64>(),
    ) {
        let content_type = if msgpack { &b"application/msgpack"[..] } else { b"application/json" };
        let failure = classify(status, retry_after.as_deref(), code.as_deref(), Some(content_type), &body, now);
        prop_assert_eq!(failure.retry_after_s.is_some(), failure.is_retryable());
        prop_assert!(failure.retry_after_s.is_none_or(|seconds| (1..=60).contains(&seconds)));
    }

    #[test]
    fn dates_never_panic(text in "[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{1,5} [0-9:]{0,9} GMT", now in any::<u64>()) {
        let _ = retry_after_s(text.as_bytes(), now);
    }
}
