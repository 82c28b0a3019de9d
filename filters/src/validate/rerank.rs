//! Which fields does rerank accept (contract section 1.5; Cohere v1, v2 and Jina for other engines)?

use super::chat::MODEL;
use super::native::{MOST_TEXT, PLAIN_OPTIONS};
use super::rule::{Field, List, Note, Over, Rule, Table, Text, Unknown, field};
use super::{MIB, Sheet};

const CODE: &str = "INVALID_INPUT";

const TOO_LONG: Over = Over { status: 400, code: None, message: Some("a text may hold at most 2 MiB: split it") };

const VISIBLE: Text = Text { visible: true, most_bytes: MOST_TEXT, over: TOO_LONG, ..Text::ANY };

const TOP_N: Field = field!("top_n", Rule::Whole(1, i64::MAX), "a whole number of at least 1").noted(Note::TopN);

pub(super) static SIE: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!("query", Rule::Text(VISIBLE), "a text with something in it").required(),
        field!(
            "documents",
            Rule::List(&List::of(Rule::Text(VISIBLE)).counting(1, 1000).whole()),
            "a list of 1 to 1000 texts with something in each"
        )
        .required(),
        TOP_N,
        field!("return_documents", Rule::Flag, "true or false").not_null(),
        field!("options", Rule::Object(&PLAIN_OPTIONS), "an object"),
    ])
    .closed(Unknown::First { code: None }),
    CODE,
)
.holding(8 * MIB);

pub(super) static OPENAI: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!("query", Rule::OneOf(&[Rule::FILLED, Rule::OBJECT]), "a text, or an object with one").required(),
        field!(
            "documents",
            Rule::List(&List::of(Rule::OneOf(&[Rule::TEXT, Rule::OBJECT])).counting(1, usize::MAX).whole()),
            "a list of at least one text, or of objects with one"
        )
        .required(),
        TOP_N,
        field!("return_documents", Rule::Flag, "true or false"),
        field!("max_chunks_per_doc", Rule::COUNT, "a whole number of at least 1"),
        field!("max_tokens_per_doc", Rule::COUNT, "a whole number of at least 1"),
        field!("priority", Rule::SEED, "a whole number"),
        field!("rank_fields", Rule::List(&List::of(Rule::TEXT)), "a list of texts"),
        field!("return_embeddings", Rule::Flag, "true or false"),
        field!("truncation", Rule::Flag, "true or false"),
    ])
    .closed(Unknown::First { code: None }),
    CODE,
);
