//! Which fields do completions accept (contract section 1.5)?

use super::chat::{FREQUENCY, INCLUDE_USAGE, LOGIT_BIAS, MODEL, PRESENCE, SEED, STREAM, TOP_P, USER, openai};
use super::notes::Notes;
use super::rule::{Field, List, Note, Over, Range, Rule, Table, Text, UNSUPPORTED, Unknown, field};
use super::seen::{Disagreement, Facts, Seen, Wrong};
use super::{MIB, Sheet, unsupported};

pub(super) const CODE: &str = "invalid_request";

/// The most bytes of a prompt.
pub(super) const MOST_PROMPT: usize = 4 * MIB;

const TOO_LONG: Over =
    Over { status: 413, code: Some("context_exceeded"), message: Some("a prompt may hold at most 4 MiB: shorten it") };

const PROMPT: Rule = Rule::Text(Text { most_bytes: MOST_PROMPT, over: TOO_LONG, ..Text::ANY });

/// One prompt, also as a list of one.
const ONE_PROMPT: List = List { count_code: Some(UNSUPPORTED), ..List::of(PROMPT).counting(1, 1).whole() };

pub(super) static SIE: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!("prompt", Rule::OneOf(&[PROMPT, Rule::List(&ONE_PROMPT)]), "one text").required().noted(Note::Prompts),
        STREAM,
        field!("stream_options", Rule::Object(&USAGE_ONLY), "an object"),
        field!("n", Rule::COUNT, "1").noted(Note::Choices),
        MAX_TOKENS,
        SIE_TEMPERATURE,
        TOP_P,
        FREQUENCY,
        PRESENCE,
        SEED,
        field!(
            "stop",
            Rule::OneOf(&[Rule::FILLED, Rule::List(&List::of(Rule::FILLED).whole())]),
            "a text or a list of texts, none of them empty"
        ),
    ])
    .closed(Unknown::First { code: Some(UNSUPPORTED) })
    .agreeing(fit_together),
    CODE,
)
.holding(24 * MIB);

pub(super) const MAX_TOKENS: Field =
    field!("max_tokens", Rule::COUNT, "a whole number of at least 1").noted(Note::OutputCap);

/// The largest temperature that survives as a 32-bit float.
pub(super) const SIE_TEMPERATURE: Field =
    field!("temperature", Rule::Number(Range::between(0.0, f32::MAX as f64)), "a number of at least 0");

static USAGE_ONLY: Table = Table::of(&[INCLUDE_USAGE]).closed(Unknown::First { code: Some(UNSUPPORTED) });

fn fit_together(facts: &Facts<'_>, notes: &Notes) -> Option<Disagreement> {
    if facts.of("n").whole().is_some_and(|n| n > 1) {
        return Some(Disagreement::at("n", unsupported("`n` must be 1: send one call for each answer")));
    }
    over_cap(facts, notes, "max_tokens")
}

/// The caller's cap fits the model's.
pub(super) fn over_cap(facts: &Facts<'_>, notes: &Notes, field: &'static str) -> Option<Disagreement> {
    let Seen::Whole(cap) = facts.of(field) else { return None };
    let over = notes.max_output_tokens.is_some_and(|most| u64::try_from(cap).is_ok_and(|cap| cap > most));
    let wrong = Wrong::coded("context_exceeded", "this is more than the model may put out: ask for less");
    over.then_some(Disagreement::last(field, wrong))
}

const TOKENS: Rule = Rule::List(&List::of(Rule::SEED));

pub(super) static OPENAI: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!(
            "prompt",
            Rule::OneOf(&[Rule::TEXT, Rule::List(&List::of(Rule::OneOf(&[Rule::TEXT, Rule::SEED, TOKENS])).whole())]),
            "a text, a list of texts, or token ids"
        )
        .required()
        .noted(Note::Prompts),
        field!("best_of", Rule::Whole(1, 20), "a whole number from 1 to 20"),
        field!("echo", Rule::Flag, "true or false"),
        FREQUENCY,
        LOGIT_BIAS,
        field!("logprobs", Rule::Whole(0, 5), "a whole number from 0 to 5").noted(Note::Logprobs),
        MAX_TOKENS,
        field!("n", Rule::Whole(1, 128), "a whole number from 1 to 128").noted(Note::Choices),
        PRESENCE,
        SEED,
        field!(
            "stop",
            Rule::OneOf(&[Rule::TEXT, Rule::List(&List::of(Rule::TEXT).whole())]),
            "a text or a list of texts"
        ),
        STREAM,
        openai::STREAM_OPTIONS,
        field!("suffix", Rule::TEXT, "a text"),
        openai::TEMPERATURE,
        openai::TOP_P,
        USER,
    ])
    .closed(Unknown::First { code: Some(UNSUPPORTED) }),
    CODE,
);
