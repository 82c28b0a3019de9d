//! Which fields do embeddings accept (contract section 1.5)? SIE ignores others; the OpenAI API does not know them.

use super::chat::MODEL;
use super::native::MOST_TEXT;
use super::notes::Notes;
use super::rule::{Count, Field, List, Note, Over, Range, Rule, Table, Text, UNSUPPORTED, Unknown, field};
use super::seen::{Disagreement, Facts, Seen, Wrong};
use super::{Sheet, unsupported};

const ENCODING: Field =
    field!("encoding_format", Rule::Text(Text::word(&["float", "base64"])), "`float` or `base64`").noted(Note::Base64);

const USER: Field = field!("user", Rule::TEXT, "a text");

const TOO_LONG: Over =
    Over { status: 400, code: Some("invalid_request"), message: Some("a text may hold at most 2 MiB: split it") };

const INPUT: Rule = Rule::Text(Text { count: Count::Chars, most_bytes: MOST_TEXT, over: TOO_LONG, ..Text::ANY });

const TOKENS: Rule = Rule::List(&List::of(Rule::SEED));

/// What is not text is token ids, however they are written.
const ANY_NUMBER: Rule = Rule::Number(Range::between(f64::NEG_INFINITY, f64::INFINITY));

/// Wrong types are FastAPI's 422.
pub(super) static SIE: Sheet = Sheet {
    table: &Table::of(&[
        MODEL,
        field!(
            "input",
            Rule::OneOf(&[
                INPUT,
                Rule::List(&List::of(Rule::OneOf(&[INPUT, ANY_NUMBER, Rule::Flag, Rule::LIST])).whole())
            ]),
            "a text or a list of texts"
        )
        .required()
        .noted(Note::Input),
        ENCODING,
        field!("dimensions", Rule::SEED, "a whole number"),
        USER,
    ])
    .agreeing(fit_together),
    code: None,
    most_bytes: usize::MAX,
};

fn fit_together(facts: &Facts<'_>, notes: &Notes) -> Option<Disagreement> {
    if let mixed @ Some(_) = one_kind_of_input(facts, notes) {
        return mixed;
    }
    if let Seen::Whole(asked) = facts.of("dimensions")
        && notes.dense_dim.is_none_or(|native| u64::try_from(asked) != Ok(native))
    {
        let wrong = unsupported("`dimensions` must be the model's own width: leave it out");
        return Some(Disagreement::last("dimensions", wrong));
    }
    let message = match facts.of("input") {
        Seen::List { len: 0, .. } => "`input` must hold at least one text",
        Seen::List { texts: 0, .. } => "send `input` as text: token ids are not supported",
        _ => return None,
    };
    Some(Disagreement::last("input", Wrong::coded("invalid_request", message)))
}

pub(super) static OPENAI: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!(
            "input",
            Rule::OneOf(&[
                Rule::Text(Text { count: Count::Chars, ..Text::ANY }),
                Rule::List(
                    &List::of(Rule::OneOf(&[
                        Rule::Text(Text { count: Count::Chars, ..Text::ANY }),
                        Rule::SEED,
                        TOKENS
                    ]))
                    .counting(1, usize::MAX)
                    .whole()
                )
            ]),
            "a text, a list of texts, or token ids"
        )
        .required()
        .noted(Note::Input),
        ENCODING,
        field!("dimensions", Rule::COUNT, "a whole number of at least 1"),
        USER,
    ])
    .closed(Unknown::First { code: Some(UNSUPPORTED) })
    .agreeing(one_kind_of_input),
    "invalid_request",
);

fn one_kind_of_input(facts: &Facts<'_>, _: &Notes) -> Option<Disagreement> {
    match facts.of("input") {
        Seen::List { len, texts, .. } if texts > 0 && texts < len => Some(Disagreement::at("input", Wrong::PLAIN)),
        _ => None,
    }
}
