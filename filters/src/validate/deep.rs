//! Does nesting of any depth end, wherever it stands? Every field of every table is tried, in both formats, on a small stack.

use super::rule::{Rule, Table};
use super::{Dialect, Rules, sheet};
use crate::call::{Format, inspect};
use spillway_policies::Surface;

/// Deeper than any stack reaches.
const DEPTH: usize = 100_000;

const SMALL_STACK: usize = 512 * 1024;

/// A step from a value into it.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Element,
    Member(&'static str),
}

/// The ways to every value that a table has a rule for, and into those that it has none for.
fn ways(table: &'static Table) -> Vec<Vec<Step>> {
    fn below(rule: &'static Rule, way: &[Step], into: &mut Vec<Vec<Step>>) {
        let mut step = |step, rule: Option<&'static Rule>| {
            let way = [way, &[step]].concat();
            if !into.contains(&way) {
                into.push(way.clone());
            }
            if let Some(rule) = rule {
                below(rule, &way, into);
            }
        };
        match rule {
            Rule::List(list) => step(Step::Element, Some(&list.of)),
            Rule::Map(map) => ["1", "a"].into_iter().for_each(|name| step(Step::Member(name), Some(&map.of))),
            Rule::Object(table) => {
                table.fields.iter().for_each(|field| step(Step::Member(field.name), Some(&field.rule)));
                step(Step::Member("unknown"), None);
            }
            Rule::OneOf(rules) => rules.iter().for_each(|rule| below(rule, way, into)),
            Rule::Tree(_) => ["properties", "unknown"].into_iter().for_each(|name| step(Step::Member(name), None)),
            _ => {}
        }
    }
    let mut all = vec![vec![Step::Member("unknown")], vec![Step::Member("options"), Step::Member("profile")]];
    for field in table.fields {
        let way = [Step::Member(field.name)];
        all.push(way.to_vec());
        below(&field.rule, &way, &mut all);
    }
    all
}

/// A value that nests too deeply in both formats: arrays, or objects.
fn deep() -> [(Vec<u8>, Vec<u8>); 2] {
    let json = |open: &str, close: &str| [&open.repeat(DEPTH), "null", &close.repeat(DEPTH)].concat().into_bytes();
    let msgpack = |open: &[u8]| [&open.repeat(DEPTH)[..], &[0xc0]].concat();
    [(json("[", "]"), msgpack(&[0x91])), (json("{\"\":", "}"), msgpack(&[0x81, 0xa0]))]
}

fn json(way: &[Step], value: &[u8]) -> Vec<u8> {
    let wrapped = |value: Vec<u8>, step: &Step| match step {
        Step::Element => [b"[", &value[..], b"]"].concat(),
        Step::Member(name) => [b"{\"", name.as_bytes(), b"\":", &value, b"}"].concat(),
    };
    way.iter().rev().fold(value.to_vec(), wrapped)
}

fn msgpack(way: &[Step], value: &[u8]) -> Vec<u8> {
    let wrapped = |value: Vec<u8>, step: &Step| match step {
        Step::Element => [&[0x91], &value[..]].concat(),
        Step::Member(name) => {
            let head = [0x81, 0xd9, u8::try_from(name.len()).expect("a short name")];
            [&head, name.as_bytes(), &value].concat()
        }
    };
    way.iter().rev().fold(value.to_vec(), wrapped)
}

/// Tries every field of a surface.
fn try_all(surface: Surface, dialect: Dialect, deep: &[(Vec<u8>, Vec<u8>)]) -> usize {
    // Native surfaces have one sheet for both.
    let sheet = sheet(surface, dialect).filter(|_| dialect == Dialect::Sie || !surface.is_native());
    let Some(sheet) = sheet else { return 0 };
    let rules = Rules { dialect, accept: &[], dense_dim: None, max_output_tokens: None };
    let ways = ways(sheet.table);
    for way in &ways {
        for (in_json, in_msgpack) in deep {
            let read = inspect(surface, Format::Json, &json(way, in_json), &rules);
            // A native call may say more than anybody looks at.
            let is_refused = read.is_err() || read.is_ok_and(|details| details.rejection.is_some());
            assert!(is_refused || surface.is_native(), "{surface:?}");
            assert!(inspect(surface, Format::Msgpack, &msgpack(way, in_msgpack), &rules).is_err(), "{surface:?}");
        }
    }
    ways.len()
}

#[test]
#[expect(clippy::disallowed_types, reason = "only a thread of its own has a stack of this size")]
fn nesting_of_any_depth_ends() {
    let small = std::thread::Builder::new().stack_size(SMALL_STACK);
    let tried = small.spawn(|| {
        let deep = deep();
        let all = Surface::ALL.into_iter().flat_map(|surface| [(surface, Dialect::Openai), (surface, Dialect::Sie)]);
        all.map(|(surface, dialect)| try_all(surface, dialect, &deep)).sum::<usize>()
    });
    assert!(tried.expect("a thread").join().expect("no panic") > 200);
}
