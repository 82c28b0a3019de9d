//! `[upstreams.<name>]`: who may be asked, with whose key, how often and for how long.

use super::listen::ANY_TIME_MS;
use super::surroundings::Surroundings;
use super::{equivalence, later, params};
use crate::config::table::{Node, Place, Table};
use spillway_policies::upstream::{CredentialRef, Endpoint, Kind, Params, Timeouts, TlsFiles, UpstreamName};
use spillway_policies::url::{BadUrl, BaseUrl, Url};
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
    let base_url = base_url_node.as_ref().and_then(|node| url(node, BaseUrl::parse));
    let credential = credential(&mut table, surroundings);
    let rate_cap_hint = "say how much it may be asked: rate_cap = { requests_per_minute = 60, max_concurrency = 4 }";
    let rate_cap = table.need("rate_cap", rate_cap_hint).and_then(|node| rate_cap(node.table()?));
    let breaker = breaker(table.section("breaker"));
    let params = openai_only(&mut table, kind.as_ref());
    let timeouts = timeouts(table.section("timeouts"));
    let tls = table.take("tls").map_or_else(TlsFiles::default, |node| tls(&node, base_url.as_ref(), surroundings));
    if let Some(node) = table.take("proxy_url") {
        proxy(&node, base_url.as_ref());
    }
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
        proxy_url: None,
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

/// A URL, or a note of why it is none. The note never holds the URL.
fn url<T>(node: &Node<'_>, parse: impl Fn(&str) -> Result<T, BadUrl>) -> Option<T> {
    parse(node.text()?).map_err(|bad| node.place.wrong(bad.to_string(), "")).ok()
}

fn credential(table: &mut Table<'_>, surroundings: &Surroundings<'_>) -> Option<CredentialRef> {
    let (secret, file) = (table.take("api_key_secret"), table.take("api_key_file"));
    if let (Some(_), Some(file)) = (&secret, &file) {
        file.name.wrong("stands beside api_key_secret", "keep one of them: a key has one source");
    }
    let env = secret.and_then(|node| variable(&node, surroundings)).map(CredentialRef::Env);
    env.or(file.and_then(|node| surroundings.file_text(&node)).map(CredentialRef::File))
}

/// The name of an environment variable that holds an upstream's key.
fn variable(node: &Node<'_>, surroundings: &Surroundings<'_>) -> Option<String> {
    let name = variable_name(node)?;
    surroundings.expect_variable(name, &node.place);
    Some(name.into())
}

/// A well-formed name of an environment variable; what is none is never repeated, it may be the key itself.
pub(super) fn variable_name<'t>(node: &Node<'t>) -> Option<&'t str> {
    let name = node.text()?;
    if params::is_identifier(name, 128) {
        return Some(name);
    }
    let hint = "letters, digits and _, at most 128, not starting with a digit; put the key into such a variable, never into this file";
    node.place.wrong("must be the name of an environment variable", hint);
    None
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

fn timeouts(mut table: Table<'_>) -> Timeouts {
    let default = Timeouts::default();
    let timeouts = Timeouts {
        connect_ms: table.seconds_or("connect_s", ANY_TIME_MS, default.connect_ms),
        first_byte_ms: table.seconds_or("first_byte_s", ANY_TIME_MS, default.first_byte_ms),
        idle_ms: table.seconds_or("idle_s", ANY_TIME_MS, default.idle_ms),
        total_ms: table.seconds_or("total_s", ANY_TIME_MS, default.total_ms),
    };
    table.finish();
    timeouts
}

fn tls(node: &Node<'_>, base_url: Option<&BaseUrl>, surroundings: &Surroundings<'_>) -> TlsFiles {
    let Some(mut table) = node.table() else { return TlsFiles::default() };
    let ca_file = table.take("ca_file").and_then(|node| surroundings.file_text(&node));
    let (cert, key) = (table.take("client_cert_file"), table.take("client_key_file"));
    match (&cert, &key) {
        (Some(node), None) | (None, Some(node)) => {
            node.name.wrong("stands alone", "client_cert_file and client_key_file go together");
        }
        _ => {}
    }
    let cert = cert.and_then(|node| surroundings.file_text(&node));
    let client = cert.zip(key.and_then(|node| surroundings.file_text(&node)));
    table.finish();
    if base_url.is_some_and(|url| !url.is_tls()) {
        node.name.wrong("needs a base_url that starts with https://", "");
    }
    TlsFiles { ca_file, client }
}

/// `proxy_url` is judged as SIE judges it, and then refused: nothing may take another way out than its operator thinks.
fn proxy(node: &Node<'_>, base_url: Option<&BaseUrl>) {
    let Some(text) = node.text() else { return };
    let well_formed = Url::parse(text).is_ok();
    if !well_formed {
        node.place.wrong("must be http://host:port or https://host:port, without credentials, query or fragment", "");
    }
    if base_url.is_some_and(|url| !url.as_str().starts_with("https://")) {
        node.name.wrong("needs a base_url that starts with https://", "");
    } else if well_formed {
        later::refused(&node.name, "take it out, and let the network route to the upstream directly");
    }
}

/// Notes that an upstream of this name is not defined. The name is not repeated: the place shows it.
pub(super) fn undefined(place: &Place<'_>, written: &str, defined: &[&str]) {
    let near = crate::config::table::did_you_mean(written, defined.iter().copied());
    let hint = match (near.is_empty(), defined.is_empty()) {
        (false, _) => near,
        (true, true) => "no upstream is defined: add [upstreams.<name>] to the deployment file".into(),
        (true, false) => format!("defined are {}", crate::config::suggest::quoted(defined, "and")),
    };
    place.wrong("names an upstream that is not defined", hint);
}
