//! Which URLs an upstream may have, against the executed verdicts in `fixtures/egress_url_cases.json`, as the configuration says it.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

use serde_json::Value;
use spillway::config::{Diagnostic, parse};

fn cases() -> Vec<Value> {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/egress_url_cases.json")).unwrap();
    fixture["cases"].as_array().unwrap().clone()
}

fn judged(extra: &str) -> Result<String, Vec<Diagnostic>> {
    let text = format!(
        "engine.preset = \"vllm\"\n[upstreams.a]\nkind = \"sie\"\nrate_cap = {{ requests_per_minute = 1, max_concurrency = 1 }}\n{extra}"
    );
    parse("f", &text, &|_| None).map(|config| config.upstreams[0].base_url.as_str().to_owned())
}

#[test]
fn every_base_url_verdict_holds_and_no_url_is_repeated() {
    let cases = cases();
    assert_eq!(cases.len(), 42);
    for case in cases {
        let url = case["url"].as_str().unwrap();
        let verdict = &case["base_url"];
        match judged(&format!("base_url = {}\n", case["url"])) {
            Ok(kept) => assert_eq!(Some(kept.as_str()), verdict["normalized"].as_str(), "{url}"),
            Err(found) => {
                assert_eq!(verdict["accept"], false, "{url}: {found:?}");
                assert_eq!((found.len(), found[0].key.as_str()), (1, "upstreams.a.base_url"), "{url}");
                assert!(!found[0].to_string().contains(url) && !found[0].to_string().contains("pw@"), "{}", found[0]);
            }
        }
    }
}

#[test]
fn every_proxy_url_verdict_holds() {
    for case in cases() {
        let text = format!("base_url = \"https://host.example.com\"\nproxy_url = {}\n", case["url"]);
        let encrypted = case["url"].as_str().unwrap().to_ascii_lowercase().starts_with("https:");
        let well_formed = match judged(&text) {
            Ok(_) => !encrypted,
            // TLS to the proxy itself is not in this version.
            Err(found) => encrypted && found.len() == 1 && found[0].problem == "is not in this version",
        };
        assert_eq!(well_formed, case["proxy_url"]["accept"].as_bool().unwrap(), "{}", case["url"]);
    }
}
