//! `[listen]`, `[admin]`, `[drain]` and `[log]`: where callers come in, and what is kept about them.

use super::surroundings::Surroundings;
use crate::config::address::{Address, BadAddress};
use crate::config::table::{Node, Place, Table};
use crate::config::{AccessLog, Drain, Listen, ListenTls, Log, LogFormat};
use std::ops::RangeInclusive;

/// From a millisecond to a day.
pub(super) const ANY_TIME_MS: RangeInclusive<u64> = 1..=86_400_000;
/// From nothing to an hour.
const PAUSE_MS: RangeInclusive<u64> = 0..=3_600_000;
const MOST_BODY_BYTES: u64 = 1 << 32;
const MOST_HELD_BYTES: u64 = 1 << 40;

/// An address, and where it was written, or where it was left out.
pub(super) struct Placed<'t> {
    pub(super) address: Address,
    pub(super) place: Place<'t>,
    pub(super) is_written: bool,
}

impl<'t> Placed<'t> {
    pub(super) fn new(address: Address, node: Option<&Node<'t>>, table: &Table<'t>) -> Self {
        let place = node.map_or_else(|| table.place.clone(), |node| node.place.clone());
        Self { address, place, is_written: node.is_some() }
    }
}

pub(super) fn listen<'t>(mut table: Table<'t>, surroundings: &Surroundings<'_>) -> (Listen, Placed<'t>) {
    let front = listener(&mut table, "127.0.0.1:8080");
    let (max_body_bytes, max_held_bytes) = sizes(&mut table);
    let listen = Listen {
        address: front.address.clone(),
        tls: table.take("tls").and_then(|node| tls(node.table()?, surroundings)),
        max_body_bytes: bytes(max_body_bytes),
        max_held_bytes: bytes(max_held_bytes),
        first_byte_budget_ms: table.seconds_or("first_byte_budget_s", ANY_TIME_MS, 140_000),
        fast_lane: fast_lane(&mut table),
        workers: bytes(table.whole_or("workers", 0..=1024, 1)),
        head_timeout_ms: table.seconds_or("head_timeout_s", ANY_TIME_MS, 10_000),
        body_timeout_ms: table.seconds_or("body_timeout_s", ANY_TIME_MS, 60_000),
        idle_timeout_ms: table.seconds_or("idle_timeout_s", ANY_TIME_MS, 60_000),
    };
    table.finish();
    (listen, front)
}

/// Without the fast lane nothing is bridged, whatever models declare: that is never what an operator forgets to know.
fn fast_lane(table: &mut Table<'_>) -> bool {
    let Some(node) = table.take("fast_lane") else { return true };
    let wanted = node.flag().unwrap_or(true);
    if !wanted {
        node.name.warn("is false: calls are served by the engine only, and none reaches an upstream", "");
    }
    wanted
}

/// `max_body_bytes` and `max_held_bytes`: one largest body must fit.
fn sizes(table: &mut Table<'_>) -> (u64, u64) {
    let (body, held) = (table.take("max_body_bytes"), table.take("max_held_bytes"));
    let body_bytes = body.as_ref().map_or(Some(35_651_584), |node| node.whole(1..=MOST_BODY_BYTES));
    let held_bytes = held.as_ref().map_or(Some(268_435_456), |node| node.whole(1..=MOST_HELD_BYTES));
    let (body_bytes, held_bytes) = (body_bytes.unwrap_or(0), held_bytes.unwrap_or(u64::MAX));
    if held_bytes < body_bytes {
        let hint = "one largest body must fit: raise max_held_bytes or lower max_body_bytes";
        match (held, body) {
            (Some(held), _) => {
                held.place.wrong(format!("must not be less than max_body_bytes, which is {body_bytes}"), hint)
            }
            (None, Some(body)) => {
                body.place.wrong(format!("must not be more than max_held_bytes, which is {held_bytes}"), hint)
            }
            (None, None) => unreachable!("the defaults fit"),
        }
    }
    (body_bytes, held_bytes)
}

fn bytes(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn tls(mut table: Table<'_>, surroundings: &Surroundings<'_>) -> Option<ListenTls> {
    let hint = "a listener with TLS needs cert_file and key_file";
    let file = |node: Option<Node<'_>>| node.and_then(|node| surroundings.file(&node));
    let cert_file = file(table.need("cert_file", hint));
    let key_file = file(table.need("key_file", hint));
    let client_ca_file = file(table.take("client_ca_file"));
    table.finish();
    Some(ListenTls { cert_file: cert_file?, key_file: key_file?, client_ca_file })
}

pub(super) fn admin(mut table: Table<'_>) -> Placed<'_> {
    let admin = listener(&mut table, "127.0.0.1:9901");
    table.finish();
    admin
}

fn listener<'t>(table: &mut Table<'t>, default: &str) -> Placed<'t> {
    let node = table.take("address");
    let written = node.as_ref().and_then(|node| address(node, Address::listening));
    Placed::new(written.unwrap_or_else(|| Address::Tcp(default.into())), node.as_ref(), table)
}

/// An address, or a note of why it is none.
pub(super) fn address<T>(node: &Node<'_>, parse: impl Fn(&str) -> Result<T, BadAddress>) -> Option<T> {
    parse(node.text()?).map_err(|bad| node.place.wrong(bad.problem, bad.hint)).ok()
}

pub(super) fn drain(mut table: Table<'_>) -> Drain {
    let drain = Drain {
        lame_duck_ms: table.seconds_or("lame_duck_s", PAUSE_MS, 0),
        max_ms: table.seconds_or("max_s", PAUSE_MS, 30_000),
    };
    table.finish();
    drain
}

pub(super) fn log(mut table: Table<'_>) -> Log {
    let formats = [("auto", LogFormat::Auto), ("json", LogFormat::Json), ("text", LogFormat::Text)];
    let accesses = [
        ("all", AccessLog::All),
        ("bridged", AccessLog::Bridged),
        ("errors", AccessLog::Errors),
        ("none", AccessLog::None),
    ];
    let log = Log {
        format: table.choice_or("format", &formats, LogFormat::Auto),
        access: table.choice_or("access", &accesses, AccessLog::All),
    };
    table.finish();
    log
}
