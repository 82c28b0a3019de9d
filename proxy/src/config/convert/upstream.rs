//! `[upstreams.<name>]`: who may be asked, with whose key, how often and for how long.

use super::surroundings::Surroundings;
use super::{credential, equivalence, later, params, reach};
use crate::config::suggest::quoted;
use crate::config::table::{Node, Place, Table, did_you_mean};
use spillway_policies::upstream::{Endpoint, Kind, Params, TlsFiles, UpstreamName};
use spillway_policies::{Upstream, breaker, rate_cap};
use std::ops::RangeInclusive;

/// Above zero and at most an hour (contract section 4).
const BREAKER_TIME_MS: RangeInclusive<u64> = 1..=3_600_000;

/// Converts one upstream; none when anything about it is wrong.
pub(super) fn upstream(name: &str, node: &Node<'_>, surroundings: &Surroundings<'_>) -> Option<Upstream> {
    let mistakes = node.place.mistakes();
    let name = UpstreamName::parse(name).map_err(|bad| node.name.wrong(format!("an upstream's name {bad}"), "")).ok();
    let mut table = node.table()?;
    let kind = kind(&mut table);
    let base_url_node = table.need("base_url", "where the upstream is, such as https://host.example.com/v1");
    let base_url = base_url_node.as_ref().and_then(reach::base_url);
    let credential = credential::credential(&mut table, surroundings);
    let rate_cap_hint = "say how much it may be asked: rate_cap = { requests_per_minute = 60, max_concurrency = 4 }";
    let rate_cap = table.need("rate_cap", rate_cap_hint).and_then(|node| rate_cap(node.table()?));
    let breaker = breaker(table.section("breaker"));
    let params = openai_only(&mut table, kind.as_ref());
    let timeouts = reach::timeouts(table.section("timeouts"));
    let tls =
        table.take("tls").map_or_else(TlsFiles::default, |node| reach::tls(&node, base_url.as_ref(), surroundings));
    let proxy_url = table.take("proxy_url").and_then(|node| reach::proxy(&node, base_url.as_ref()));
    table.finish_with(unknown_key);
    let upstream = Upstream {
        name: name?,
        kind: kind?,
        base_url: base_url?,
        credential,
        rate_cap: rate_cap?,
        breaker,
        params,
        timeouts,
        tls,
        proxy_url,
    };
    (node.place.mistakes() == mistakes).then_some(upstream)
}

fn unknown_key(name: &str) -> Option<String> {
    let is_key = ["api_key", "key", "token", "secret", "password", "bearer", "authorization"]
        .contains(&name.to_ascii_lowercase().as_str());
    is_key.then(|| {
        "a key is never written here: name an environment variable with api_key_secret, or a file with api_key_file"
            .into()
    })
}

/// The kind, with the endpoints that only an `openai` upstream declares.
fn kind(table: &mut Table<'_>) -> Option<Kind> {
    let place = table.place.clone();
    let kind = table.need("kind", "say which protocol it speaks: kind = \"sie\" or kind = \"openai\"");
    let kind = kind.and_then(|node| node.choice(&[("sie", "sie"), ("openai", "openai")]));
    let endpoints = table.take("endpoints");
    let is_openai = kind? == "openai";
    let Some(node) = endpoints else {
        if is_openai {
            let hint = "list what it serves: endpoints = [\"chat\", \"completions\", \"embeddings\", \"rerank\"], or some of them";
            place.missing("endpoints", hint);
        }
        return (!is_openai).then_some(Kind::Sie);
    };
    let mistakes = place.mistakes();
    let declared = self::endpoints(&node)?;
    match (is_openai, declared.is_empty()) {
        _ if place.mistakes() > mistakes => {}
        (true, true) => node.place.wrong("must list at least one endpoint", "chat, completions, embeddings, rerank"),
        (false, false) => node.place.wrong("is for kind = \"openai\" only", "a sie upstream takes every surface"),
        (true, false) => return Some(Kind::Openai(declared)),
        (false, true) => return Some(Kind::Sie),
    }
    None
}

fn endpoints(node: &Node<'_>) -> Option<Vec<Endpoint>> {
    let mut declared = Vec::new();
    for item in node.list()? {
        let Some(endpoint) = item.choice(&Endpoint::ALL.map(|endpoint| (endpoint.token(), endpoint))) else { continue };
        if declared.contains(&endpoint) {
            item.place.wrong("stands here twice", "keep one of them");
        }
        declared.push(endpoint);
    }
    Some(declared)
}

fn rate_cap(mut table: Table<'_>) -> Option<rate_cap::Settings> {
    let requests = table.need("requests_per_minute", "most requests in any minute");
    let concurrency = table.need("max_concurrency", "most requests at the same time");
    table.finish();
    let requests_per_minute = requests.and_then(|node| node.count(1..=u32::MAX));
    let max_concurrency = concurrency.and_then(|node| node.count(1..=u32::MAX));
    Some(rate_cap::Settings { requests_per_minute: requests_per_minute?, max_concurrency: max_concurrency? })
}

fn breaker(mut table: Table<'_>) -> breaker::Settings {
    let default = breaker::Settings::default();
    let breaker = breaker::Settings {
        failures: table.take("failures").and_then(|node| node.count(1..=1000)).unwrap_or(default.failures),
        window_ms: table.seconds_or("window_s", BREAKER_TIME_MS, default.window_ms),
        cooldown_ms: table.seconds_or("cooldown_s", BREAKER_TIME_MS, default.cooldown_ms),
    };
    table.finish();
    breaker
}

/// The keys that change OpenAI requests, or prove OpenAI vectors.
fn openai_only(table: &mut Table<'_>, kind: Option<&Kind>) -> Params {
    let (set, strip, equivalence) = (table.take("set_params"), table.take("strip_params"), table.take("equivalence"));
    if matches!(kind, Some(Kind::Sie)) {
        for node in [&set, &strip, &equivalence].into_iter().flatten() {
            node.name.wrong("is for kind = \"openai\" only", "");
        }
        return Params::default();
    }
    if let Some(node) = equivalence {
        equivalence::check(&node);
        later::unread(&node.name, "encode, score, embeddings and rerank models stay local, or are remote_only");
    }
    params::params(set.as_ref(), strip.as_ref())
}

/// Notes that an upstream of this name is not defined. The name is not repeated: the place shows it.
pub(super) fn undefined(place: &Place<'_>, written: &str, defined: &[&str]) {
    let defined: Vec<_> = defined.iter().copied().filter(|name| UpstreamName::parse(name).is_ok()).collect();
    let hint = match did_you_mean(written, defined.iter().copied()) {
        _ if defined.is_empty() => "no upstream is defined: add [upstreams.<name>] to the deployment file".into(),
        near if near.is_empty() => format!("defined: {}", quoted(&defined, "and")),
        near => near,
    };
    place.wrong("names an upstream that is not defined", hint);
}
