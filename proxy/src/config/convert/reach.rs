//! How an upstream is reached: its URL, TLS, a proxy on the way, and how long each step may take.

use super::later;
use super::listen::ANY_TIME_MS;
use super::surroundings::Surroundings;
use crate::config::table::{Node, Table};
use spillway_policies::upstream::{Timeouts, TlsFiles};
use spillway_policies::url::{BaseUrl, Url};

/// A URL, or a note of why it is none. The note never holds the URL.
pub(super) fn base_url(node: &Node<'_>) -> Option<BaseUrl> {
    BaseUrl::parse(node.text()?).map_err(|bad| node.place.wrong(bad.to_string(), "")).ok()
}

pub(super) fn timeouts(mut table: Table<'_>) -> Timeouts {
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

pub(super) fn tls(node: &Node<'_>, base_url: Option<&BaseUrl>, surroundings: &Surroundings<'_>) -> TlsFiles {
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

/// The proxy on the way to an upstream.
pub(super) fn proxy(node: &Node<'_>, base_url: Option<&BaseUrl>) -> Option<Url> {
    let url = Url::parse(node.text()?).ok();
    if url.is_none() {
        node.place.wrong("must be http://host:port or https://host:port, without credentials, query or fragment", "");
    }
    if base_url.is_some_and(|url| !url.as_str().starts_with("https://")) {
        node.name.wrong("needs a base_url that starts with https://", "");
    } else if url.as_ref().is_some_and(Url::is_tls) {
        later::refused(&node.name, "name a proxy by http://; what passes through it is encrypted all the same");
    }
    url
}
