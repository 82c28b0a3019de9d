//! Which fields does chat accept (contract section 1.5)?

mod messages;
pub(super) mod openai;
mod tools;

use super::notes::Notes;
use super::rule::{Field, List, Map, Note, Range, Rule, Table, Text, UNSUPPORTED, Unknown, field};
use super::seen::{Disagreement, Facts, Seen, Wrong};
use super::{MIB, Sheet, schema, unsupported};

pub(super) use openai::OPENAI;

const CODE: &str = "INVALID_INPUT";

pub(super) const MODEL: Field =
    field!("model", Rule::Text(Text { visible: true, ..Text::ANY }), "the name of a model").required();

/// The order is that in which SIE checks; what is unknown comes after the fields that need no device.
pub(super) static SIE: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!(
            "messages",
            Rule::List(&List::of(Rule::Object(&messages::SIE)).counting(1, 4096)),
            "a list of 1 to 4096 messages"
        )
        .required(),
        field!(
            "chat_template_kwargs",
            Rule::Object(&TEMPLATE),
            "an object with `enable_thinking` or `guardian_config` only"
        ),
        STREAM,
        field!("max_completion_tokens", Rule::COUNT, "a whole number of at least 1").noted(Note::OutputCap),
        field!("max_tokens", Rule::COUNT, "a whole number of at least 1").noted(Note::OutputCap),
        SEED,
        RESPONSE_FORMAT,
        N,
        field!("min_tokens", Rule::Whole(0, u32::MAX as i64), "a whole number of at least 0"),
        field!("temperature", Rule::Number(Range::between(0.0, f64::INFINITY)), "a finite number of at least 0"),
        TOP_P,
        FREQUENCY,
        PRESENCE,
        field!("repetition_penalty", Rule::Number(Range::above(0.0, 2.0)), "a number above 0 and at most 2"),
        field!("top_k", Rule::Whole(1, i64::MAX), "a whole number of at least 1"),
        LOGPROBS,
        TOP_LOGPROBS,
        LOGIT_BIAS,
        STOP,
        PARALLEL,
        field!("schema_in_prompt", Rule::Flag, "true or false"),
        field!("include_reasoning", Rule::Flag, "true or false").noted(Note::IncludeReasoning),
        USER,
        SAFETY,
        field!(
            "tools",
            Rule::List(&List::of(Rule::Object(&tools::TOOL)).counting(0, 64).whole()),
            "a list of at most 64 functions, each with a name and a supported JSON Schema as its parameters"
        ),
        field!(
            "tool_choice",
            tools::CHOICE,
            "`auto`, `none`, `required` with tools, or the name of a declared function"
        ),
        field!(
            "stream_options",
            Rule::Object(&USAGE_ONLY),
            "an object with nothing but `include_usage`, true or false"
        ),
    ])
    .closed(Unknown::After { field: "seed", code: Some(UNSUPPORTED) })
    .agreeing(fit_together),
    CODE,
)
.holding(8 * MIB);

pub(super) const STREAM: Field = field!("stream", Rule::Flag, "true or false").noted(Note::Stream);
pub(super) const SEED: Field = field!("seed", Rule::SEED, "a whole number of 64 bits");
const N: Field = field!("n", Rule::Whole(1, 128), "a whole number from 1 to 128").noted(Note::Choices);
pub(super) const TOP_P: Field = field!("top_p", Rule::Number(Range::above(0.0, 1.0)), "a number above 0 and at most 1");
pub(super) const FREQUENCY: Field = field!("frequency_penalty", Rule::PENALTY, "a number from -2 to 2");
pub(super) const PRESENCE: Field = field!("presence_penalty", Rule::PENALTY, "a number from -2 to 2");
/// What generate checks too has its code also here.
const SHARED: &str = "INVALID_REQUEST";
const LOGPROBS: Field = field!("logprobs", Rule::Flag, "true or false").noted(Note::Logprobs).coded(SHARED);
const TOP_LOGPROBS: Field =
    field!("top_logprobs", Rule::Whole(0, 20), "a whole number from 0 to 20, with `logprobs` true").coded(SHARED);
const STOP: Field =
    field!("stop", Rule::OneOf(&[Rule::TEXT, Rule::List(&List::of(Rule::TEXT).whole())]), "a text or a list of texts");
const PARALLEL: Field = field!("parallel_tool_calls", Rule::Flag, "true or false");
pub(super) const USER: Field = field!("user", Rule::TEXT, "a text");
pub(super) const SAFETY: Field = field!("safety_identifier", Rule::TEXT, "a text");

/// `logit_bias`: token ids as texts, and at most so much to each.
pub(super) const LOGIT_BIAS: Field = field!(
    "logit_bias",
    Rule::Map(&Map { key: is_token, of: Rule::Number(Range::between(-100.0, 100.0)), most: 1024 }),
    "an object of at most 1024 token ids with a number from -100 to 100 each"
)
.coded(SHARED);

fn is_token(key: &str) -> bool {
    key.trim().parse::<i128>().is_ok()
}

pub(super) const RESPONSE_FORMAT: Field = field!("response_format", Rule::Object(&FORMAT), "an object");

static FORMAT: Table = Table::of(&[
    field!("type", Rule::OneOf(&[KNOWN_FORMAT, Rule::Any]), "a text").noted(Note::JsonSchema),
    field!(
        "json_schema",
        Rule::OneOf(&[
            Rule::Object(&Table::of(&[
                field!("strict", Rule::Any, "true or false").noted(Note::Strict),
                field!("schema", Rule::OneOf(&[Rule::Tree(&schema::RESPONSE), Rule::Any]), "an object")
                    .noted(Note::Unverifiable),
            ])),
            Rule::Any
        ]),
        "an object"
    ),
])
.whole();

const KNOWN_FORMAT: Rule = Rule::Text(Text { words: &["json_schema"], ..Text::ANY });

/// `stream_options` with `include_usage` and no other.
static USAGE_ONLY: Table = Table::of(&[INCLUDE_USAGE.not_null()]).closed(Unknown::First { code: None }).whole();

pub(super) const INCLUDE_USAGE: Field = field!("include_usage", Rule::Flag, "true or false").noted(Note::IncludeUsage);

const NOT_A_TEMPLATE_FIELD: &str = "invalid_request";

static TEMPLATE: Table = Table::of(&[
    field!("enable_thinking", Rule::Flag, "true or false").not_null().coded(NOT_A_TEMPLATE_FIELD),
    field!(
        "guardian_config",
        Rule::Object(
            &Table::of(&[field!(
                "risk_name",
                Rule::Text(Text { filled: true, most_chars: 128, ..Text::ANY }),
                "a text of 1 to 128 characters"
            )
            .required()])
            .closed(Unknown::First { code: Some(UNSUPPORTED) })
            .whole()
        ),
        "an object with `risk_name` only"
    )
    .not_null()
    .coded(NOT_A_TEMPLATE_FIELD),
])
.closed(Unknown::First { code: Some(UNSUPPORTED) })
.whole();

fn fit_together(facts: &Facts<'_>, notes: &Notes) -> Option<Disagreement> {
    verifiable(notes)
        .or_else(|| log_probabilities(facts))
        .or_else(|| tools::choice(facts, notes))
        .or_else(|| over_cap(facts, notes))
}

/// What is promised strictly must be checked when it is done.
fn verifiable(notes: &Notes) -> Option<Disagreement> {
    let message = "`unevaluatedProperties` is not supported in a strict schema: use `additionalProperties`";
    let wrong = unsupported(message);
    (notes.unverifiable && notes.json_schema && notes.strict).then_some(Disagreement::at("response_format", wrong))
}

/// `top_logprobs` belongs to `logprobs`.
pub(super) fn log_probabilities(facts: &Facts<'_>) -> Option<Disagreement> {
    let asked = facts.of("top_logprobs").whole().is_some_and(|number| number > 0);
    let alone = asked && facts.of("logprobs") != Seen::Flag(true);
    alone.then(|| Disagreement::at("top_logprobs", Wrong::PLAIN))
}

/// The caller's cap fits the model's, and its minimum fits its cap.
fn over_cap(facts: &Facts<'_>, notes: &Notes) -> Option<Disagreement> {
    let of = |name| facts.of(name).whole();
    let (field, cap) = match (of("max_completion_tokens"), of("max_tokens")) {
        (Some(cap), _) => ("max_completion_tokens", Some(cap)),
        (None, cap) => ("max_tokens", cap),
    };
    let most = notes.max_output_tokens.and_then(|most| i64::try_from(most).ok());
    if most.zip(cap).is_some_and(|(most, cap)| cap > most) {
        return Some(Disagreement::last(field, Wrong::saying("this is more than the model may put out: ask for less")));
    }
    let least = of("min_tokens")?;
    (least > cap.or(most)?).then(|| {
        Disagreement::last("min_tokens", Wrong::saying("`min_tokens` must not be more than the most tokens asked for"))
    })
}
