//! What is a grammar (contract section 1.4)?

use crate::validate::notes::Notes;
use crate::validate::rule::{Count, Over, Rule, Table, Text, UNSUPPORTED, Unknown, field};
use crate::validate::seen::{Disagreement, Facts, Rank, Seen};
use crate::validate::{schema, unsupported};

pub(super) static GRAMMAR: Table = Table::of(&[
    field!("label", Rule::Text(Text { count: Count::Json, ..Text::ANY }), "a text"),
    field!("strict", Rule::Flag, "true or false"),
    field!("json_schema", Rule::Tree(&schema::GRAMMAR), "an object").not_null(),
    field!(
        "regex",
        Rule::Text(Text { most_chars: 4 * 1024, over: LONG, count: Count::Json, ..Text::ANY }),
        "a text of at most 4096 characters"
    )
    .not_null(),
    field!(
        "ebnf",
        Rule::Text(Text { most_chars: 8 * 1024, over: LONG, count: Count::Json, ..Text::ANY }),
        "a text of at most 8192 characters"
    )
    .not_null(),
])
.closed(Unknown::First { code: Some(UNSUPPORTED) })
.agreeing(fit_together);

const LONG: Over = Over { status: 400, code: None, message: None };

/// The most bytes of a grammar, as JSON in ASCII.
const MOST_BYTES: usize = 64 * 1024;

fn fit_together(grammar: &Facts<'_>, _: &Notes) -> Option<Disagreement> {
    let kinds = ["json_schema", "regex", "ebnf"].map(|name| grammar.of(name));
    if kinds.iter().filter(|kind| **kind != Seen::Absent).count() != 1 {
        let message = "`grammar` must hold exactly one of `json_schema`, `regex` and `ebnf`";
        return Some(Disagreement::whole(Rank::First, message));
    }
    if bytes(grammar) > MOST_BYTES {
        return Some(Disagreement::whole(Rank::First, "`grammar` may hold at most 64 KiB: make it smaller"));
    }
    let wrong = unsupported("`strict` is not supported for EBNF grammars: leave it out");
    let strict = kinds[2] != Seen::Absent && grammar.of("strict") == Seen::Flag(true);
    strict.then_some(Disagreement::last("strict", wrong))
}

/// The bytes of the whole grammar: braces, and for each member its name in quotes, a colon, its value and a comma.
fn bytes(grammar: &Facts<'_>) -> usize {
    let len = |seen| match seen {
        Seen::Absent => None,
        Seen::Tree { bytes, .. } => Some(bytes as usize),
        Seen::Text { count, .. } => Some(count as usize),
        Seen::Flag(false) => Some(5),
        _ => Some(4),
    };
    let members = grammar.table.fields.iter().zip(grammar.seen);
    1 + members.filter_map(|(field, seen)| Some(field.name.len() + 4 + len(*seen)?)).sum::<usize>()
}
