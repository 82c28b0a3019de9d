//! `[engine]`: which engine stands beside us, where, and how long it may take.

use super::listen::{ANY_TIME_MS, Placed, address};
use super::recogniser;
use crate::config::Engine;
use crate::config::address::Address;
use crate::config::suggest::quoted;
use crate::config::table::{Node, Table, did_you_mean};
use spillway_filters::presets::{self, Preset};

/// The engine, and where its address and its shim's were written.
pub(super) fn engine(mut table: Table<'_>) -> Option<(Engine, Placed<'_>, Option<Placed<'_>>)> {
    let hint = format!("say which engine it is: {}", quoted(presets::NAMES, "or"));
    let preset = table.need("preset", &hint).and_then(|node| preset(&node));
    let base_url = table.take("base_url");
    let written = base_url.as_ref().and_then(|node| address(node, Address::engine));
    let shim_node = table.take("shim");
    let shim = shim_node.as_ref().and_then(|node| address(node, Address::shim));
    let (connect_ms, first_byte_ms, idle_ms) = timeouts(table.section("timeouts"));
    let max_in_flight = table.take("max_in_flight").and_then(|node| node.whole(1..=1_000_000));
    let rules = table.take("refusal").and_then(|node| node.list()).unwrap_or_default();
    let rules = rules.iter().filter_map(|rule| recogniser::rule(rule.table()?)).collect();
    let placed_shim = shim.clone().map(|shim| Placed::new(shim, shim_node.as_ref(), &table));
    let place = Placed::new(Address::Tcp(String::new()), base_url.as_ref(), &table);
    table.finish();

    let preset = preset?;
    let (address, path_prefix) =
        written.unwrap_or_else(|| (Address::Tcp(format!("127.0.0.1:{}", preset.port)), String::new()));
    let placed = Placed { address: address.clone(), ..place };
    let max_in_flight = max_in_flight.map(|most| usize::try_from(most).expect("at most a million"));
    let engine =
        Engine { preset, address, path_prefix, shim, connect_ms, first_byte_ms, idle_ms, max_in_flight, rules };
    Some((engine, placed, placed_shim))
}

fn preset(node: &Node<'_>) -> Option<&'static Preset> {
    let name = node.text()?;
    let found = presets::preset(name);
    if found.is_none() {
        let near = did_you_mean(name, presets::NAMES.iter().copied());
        node.place.wrong(format!("must be {}", quoted(presets::NAMES, "or")), near);
    }
    found
}

fn timeouts(mut table: Table<'_>) -> (u64, u64, u64) {
    let connect_ms = table.whole_or("connect_ms", 1..=60_000, 250);
    let first_byte_ms = table.seconds_or("first_byte_s", 0..=*ANY_TIME_MS.end(), 0);
    let idle_ms = table.seconds_or("idle_s", ANY_TIME_MS, 300_000);
    table.finish();
    (connect_ms, first_byte_ms, idle_ms)
}

/// Notes listeners that would take each other's connections, and listeners that would call themselves.
pub(super) fn keep_apart(front: &Placed<'_>, admin: &Placed<'_>, engine: &Placed<'_>, shim: Option<&Placed<'_>>) {
    apart(admin, "admin.address", front, "listen.address");
    apart(engine, "engine.base_url", front, "listen.address");
    apart(engine, "engine.base_url", admin, "admin.address");
    if let Some(shim) = shim {
        apart(shim, "engine.shim", front, "listen.address");
        apart(shim, "engine.shim", admin, "admin.address");
        apart(shim, "engine.shim", engine, "engine.base_url");
    }
}

/// The mistake is noted at an address that was written, when one was.
fn apart(one: &Placed<'_>, name: &str, other: &Placed<'_>, other_name: &str) {
    if !one.address.collides(&other.address) {
        return;
    }
    let differ = format!("{name} and {other_name} must differ");
    match (one.is_written, other.is_written) {
        (true, true) => one.place.wrong(format!("is the same address as {other_name}"), differ),
        (true, false) => one.place.wrong(format!("is the same address as the default of {other_name}"), differ),
        (false, true) => other.place.wrong(format!("is the same address as the default of {name}"), differ),
        (false, false) => {
            one.place.wrong(format!("{name} and {other_name} have the same default here"), "write one of them")
        }
    }
}
