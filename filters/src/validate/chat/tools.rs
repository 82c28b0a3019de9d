//! Which tools may a chat declare, and which may it choose (contract section 1.5)?

use crate::validate::notes::Notes;
use crate::validate::rule::{Note, Rule, Table, Text, field};
use crate::validate::schema;
use crate::validate::seen::{Disagreement, Facts, Seen, Wrong};

const FUNCTION: Rule = Rule::Text(Text::word(&["function"]));

const NAME: Rule = Rule::Text(Text { kept: true, ..Text::FILLED });

pub(super) static TOOL: Table = Table::of(&[
    field!("type", FUNCTION, "`function`").required(),
    field!(
        "function",
        Rule::Object(&Table::of(&[
            field!("name", NAME, "a text").required().noted(Note::Tool),
            field!("description", Rule::TEXT, "a text"),
            field!("strict", Rule::Flag, "true or false"),
            field!("parameters", Rule::Tree(&schema::PARAMETERS), "a supported JSON Schema"),
        ])),
        "an object with `name`"
    )
    .required(),
])
.whole();

pub(super) const CHOICE: Rule =
    Rule::OneOf(&[Rule::Text(Text::word(&["auto", "none", "required"])), Rule::Object(&CHOSEN)]);

const REQUIRED: Option<u8> = Some(2);

static CHOSEN: Table = Table::of(&[
    field!("type", FUNCTION, "`function`").required(),
    field!(
        "function",
        Rule::Object(&Table::of(&[field!("name", NAME, "a text").required().noted(Note::Function)])),
        "an object with `name`"
    )
    .required(),
])
.whole();

/// A choice needs a tool to choose.
pub(super) fn choice(facts: &Facts<'_>, notes: &Notes) -> Option<Disagreement> {
    let fits = match facts.of("tool_choice") {
        Seen::Text { word: REQUIRED, .. } => !notes.tools.is_empty(),
        Seen::Object => notes.function.as_ref().is_some_and(|name| notes.tools.contains(name)),
        _ => true,
    };
    (!fits).then(|| Disagreement::at("tool_choice", Wrong::PLAIN))
}
