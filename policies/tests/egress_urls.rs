//! Which URLs are accepted, against the executed verdicts in `fixtures/egress_url_cases.json`.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

use serde_json::Value;
use spillway_policies::url::{BaseUrl, Url};

fn cases() -> Vec<Value> {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/egress_url_cases.json")).unwrap();
    fixture["cases"].as_array().unwrap().clone()
}

/// What the fixture expects: the normalised text, or the token of the reason.
fn expected(verdict: &Value) -> Result<String, String> {
    let text = |key: &str| verdict[key].as_str().unwrap().to_owned();
    if verdict["accept"].as_bool().unwrap() { Ok(text("normalized")) } else { Err(text("reason")) }
}

fn base_url(text: &str) -> Result<String, String> {
    BaseUrl::parse(text).map(|url| url.as_str().to_owned()).map_err(|bad| bad.token().to_owned())
}

fn proxy_url(text: &str) -> Result<String, String> {
    Url::parse(text).map(|url| url.as_str().to_owned()).map_err(|bad| bad.token().to_owned())
}

#[test]
fn every_executed_verdict_holds_with_its_reason() {
    let cases = cases();
    assert_eq!(cases.len(), 42);
    for case in &cases {
        let text = case["url"].as_str().unwrap();
        assert_eq!(base_url(text), expected(&case["base_url"]), "base_url {text}");
        assert_eq!(proxy_url(text), expected(&case["proxy_url"]), "proxy_url {text}");
    }
}

#[test]
fn a_reason_never_repeats_the_url() {
    for case in &cases() {
        let text = case["url"].as_str().unwrap();
        if let Err(bad) = BaseUrl::parse(text) {
            for piece in ["user", "pw", "example", "10.0.0.5", "evil"] {
                assert!(!bad.to_string().contains(piece), "{text}: {bad}");
            }
        }
    }
}

#[test]
fn the_parts_of_a_url_are_what_a_connection_needs() {
    let rows = [
        ("https://host.example.com/v1/", "host.example.com", 443, "/v1", "host.example.com"),
        ("http://[::1]:8080", "::1", 8080, "", "[::1]:8080"),
        ("HTTPS://HOST.example.com:8443/a/b", "HOST.example.com", 8443, "/a/b", "HOST.example.com:8443"),
        ("http://127.0.0.1", "127.0.0.1", 80, "", "127.0.0.1"),
        ("https://host.example.com:", "host.example.com", 443, "", "host.example.com"),
        ("https://host.example.com:/v1", "host.example.com", 443, "/v1", "host.example.com"),
    ];
    for (text, host, port, path, authority) in rows {
        let url = BaseUrl::parse(text).unwrap();
        assert_eq!((url.host(), url.port(), url.path(), url.authority()), (host, port, path, authority), "{text}");
    }
}

#[test]
fn an_address_that_only_looks_like_a_host_is_refused() {
    for text in [
        "https://[::1",
        "https://[::1]x",
        "https://[::1]8080",
        "https://[not-an-address]",
        "https://host]:80",
        "https://a[b",
        "https://host\\evil",
        "https://host:65536",
        "https://host:-1",
        "https://host:80:80",
        "https://:443",
    ] {
        assert!(Url::parse(text).is_err(), "{text}");
    }
}
