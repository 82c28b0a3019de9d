//! Which fields do responses accept (contract section 1.5)?

use super::chat::{MODEL, SAFETY, SEED, STREAM, TOP_P, USER, openai};
use super::completions::{CODE, MOST_PROMPT, SIE_TEMPERATURE, over_cap};
use super::notes::Notes;
use super::rule::{Field, List, Note, Over, Rule, Table, Text, UNSUPPORTED, Unknown, field};
use super::seen::{Disagreement, Facts, Seen};
use super::{MIB, Sheet, unsupported};

const TOO_LONG: Over =
    Over { status: 413, code: Some("context_exceeded"), message: Some("the input may hold at most 4 MiB: shorten it") };

const TEXT: Rule = Rule::Text(Text { most_bytes: MOST_PROMPT, over: TOO_LONG, ..Text::ANY });

pub(super) static SIE: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!(
            "input",
            Rule::OneOf(&[TEXT, Rule::List(&List::of(Rule::Object(&MESSAGE)).counting(1, usize::MAX))]),
            "a text or a list of messages"
        )
        .required(),
        STREAM,
        MAX_OUTPUT_TOKENS,
        SIE_TEMPERATURE,
        TOP_P,
        SEED,
    ])
    .closed(Unknown::First { code: Some(UNSUPPORTED) })
    .agreeing(fit_together),
    CODE,
)
.holding(24 * MIB);

const MAX_OUTPUT_TOKENS: Field =
    field!("max_output_tokens", Rule::COUNT, "a whole number of at least 1").noted(Note::OutputCap);

static MESSAGE: Table = Table::of(&[
    field!(
        "role",
        Rule::Text(Text::word(&["assistant", "developer", "system", "user"])),
        "`system`, `developer`, `user` or `assistant`"
    )
    .required(),
    field!("content", Rule::OneOf(&[TEXT, Rule::List(&List::of(Rule::Object(&PART)))]), "a text or parts of text")
        .required(),
])
.closed(Unknown::First { code: Some(UNSUPPORTED) });

const TYPES: Text = Text { word_code: Some(UNSUPPORTED), ..Text::word(&["input_text", "output_text", "text"]) };

static PART: Table = Table::of(&[
    field!("type", Rule::Text(TYPES), "`input_text`, `output_text` or `text`").required(),
    field!("text", TEXT, "a text").required(),
])
.closed(Unknown::First { code: Some(UNSUPPORTED) });

fn fit_together(facts: &Facts<'_>, notes: &Notes) -> Option<Disagreement> {
    if facts.of("stream") == Seen::Flag(true) {
        return Some(Disagreement::at("stream", unsupported("responses are not streamed here: leave `stream` out")));
    }
    over_cap(facts, notes, "max_output_tokens")
}

pub(super) static OPENAI: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!(
            "input",
            Rule::OneOf(&[Rule::TEXT, Rule::List(&List::of(Rule::OBJECT))]),
            "a text or a list of input items"
        ),
        field!("background", Rule::Flag, "true or false"),
        field!("context_management", Rule::LIST, "a list"),
        field!("conversation", Rule::OneOf(&[Rule::TEXT, Rule::OBJECT]), "a text or an object"),
        field!("include", Rule::List(&List::of(Rule::TEXT)), "a list of texts"),
        field!("instructions", Rule::TEXT, "a text"),
        MAX_OUTPUT_TOKENS,
        field!("max_tool_calls", Rule::COUNT, "a whole number of at least 1"),
        openai::METADATA,
        field!("moderation", Rule::OBJECT, "an object"),
        field!("parallel_tool_calls", Rule::Flag, "true or false"),
        field!("previous_response_id", Rule::TEXT, "a text"),
        field!("prompt", Rule::OBJECT, "an object"),
        openai::CACHE_KEY,
        openai::CACHE_OPTIONS,
        openai::CACHE_RETENTION,
        field!("reasoning", Rule::OBJECT, "an object"),
        SAFETY,
        openai::SERVICE_TIER,
        openai::STORE,
        STREAM,
        field!("stream_options", Rule::OBJECT, "an object"),
        openai::TEMPERATURE,
        field!("text", Rule::OBJECT, "an object"),
        field!("tool_choice", Rule::OneOf(&[Rule::TEXT, Rule::OBJECT]), "a text or an object"),
        field!("tools", Rule::List(&List::of(Rule::OBJECT)), "a list of objects"),
        field!("top_logprobs", Rule::Whole(0, 20), "a whole number from 0 to 20"),
        openai::TOP_P,
        field!("truncation", Rule::TEXT, "a text"),
        USER,
    ])
    .closed(Unknown::First { code: Some(UNSUPPORTED) }),
    CODE,
);
