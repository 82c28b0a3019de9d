//! `docs/engines.md` says of each engine what its preset says. `BLESS=1` writes the tables anew; the words between them are people's.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "config/support.rs"]
mod support;
#[path = "engine_docs/tables.rs"]
mod tables;

use spillway_filters::presets::{NAMES, preset};
use support::{blessing, here};

const PAGE: &str = "docs/engines.md";
const END: &str = "<!-- end of the table -->";

fn start(name: &str) -> String {
    format!("<!-- table: {name}, written by tests/engine_docs.rs -->\n")
}

/// The page with the tables of now, and the names of those that it lacks.
fn renewed(page: &str) -> (String, Vec<&'static str>) {
    let mut page = page.to_owned();
    let mut missing = Vec::new();
    for name in NAMES {
        let start = start(name);
        let found = page.find(&start).map(|at| at + start.len());
        match found.and_then(|at| page[at..].find(END).map(|length| at..at + length)) {
            Some(range) => page.replace_range(range, &tables::of(preset(name).unwrap())),
            None => missing.push(*name),
        }
    }
    (page, missing)
}

#[test]
fn the_page_says_what_the_presets_say() {
    let page = std::fs::read_to_string(here(PAGE)).unwrap();
    let (renewed, missing) = renewed(&page);
    assert!(missing.is_empty(), "{PAGE} has no place for {missing:?}");
    if blessing() {
        std::fs::write(here(PAGE), renewed).unwrap();
    } else {
        assert!(page == renewed, "{PAGE} is not what the presets say now; see it with BLESS=1 and git diff");
    }
}

#[test]
fn the_examples_in_the_page_can_be_used() {
    let page = std::fs::read_to_string(here(PAGE)).unwrap();
    let examples: Vec<_> = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 3, "{examples:?}");
    for example in examples {
        let found = spillway::config::parse("f", example, &|_| None);
        assert!(found.is_ok(), "{example}\n{:#?}", found.err());
    }
}

#[test]
fn a_row_that_nobody_has_seen_is_marked() {
    for name in NAMES {
        let preset = preset(name).unwrap();
        let unseen = preset.origins().filter(|origin| !origin.is_seen()).count();
        let table = tables::of(preset);
        let rows = table.lines().filter(|line| line.starts_with('|') && line.contains(tables::UNSEEN)).count();
        assert_eq!(rows, unseen, "{name}\n{table}");
    }
}
