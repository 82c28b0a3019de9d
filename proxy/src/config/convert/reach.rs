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

/// `proxy_url` is judged as SIE judges it, and then refused: nothing may take another way out than its operator thinks.
pub(super) fn proxy(node: &Node<'_>, base_url: Option<&BaseUrl>) {
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
