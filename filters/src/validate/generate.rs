//! Which fields does generate accept (contract section 1.4)?

mod grammar;

use super::body::PROFILE;
use super::chat::{FREQUENCY, LOGIT_BIAS, PRESENCE, SAFETY, SEED, STREAM, TOP_P, log_probabilities};
use super::completions::{MOST_PROMPT, over_cap};
use super::notes::Notes;
use super::rule::{Base64, Field, List, Note, Over, Range, Rule, Table, Text, UNSUPPORTED, Unknown, field};
use super::seen::{Disagreement, Facts, Rank, Seen, Wrong};
use super::{MIB, Sheet, unsupported};

const TOO_LONG: Over =
    Over { status: 413, code: Some("INPUT_TOO_LONG"), message: Some("`prompt` may hold at most 4 MiB: shorten it") };

pub(super) static SHEET: Sheet = Sheet::new(
    &Table::of(&[
        field!("routing_key", Rule::TEXT, "a text"),
        field!("prompt_cache_key", Rule::TEXT, "a text"),
        SAFETY,
        field!(
            "prompt",
            Rule::Text(Text { most_bytes: MOST_PROMPT, over: TOO_LONG, ..Text::FILLED }),
            "a text that is not empty"
        )
        .required(),
        field!("images", Rule::List(&List::of(Rule::Object(&IMAGE)).counting(1, 16)), "a list of 1 to 16 images"),
        field!(
            "grammar",
            Rule::Object(&grammar::GRAMMAR),
            "an object with exactly one of `json_schema`, `regex` and `ebnf`"
        ),
        field!("max_new_tokens", Rule::Whole(1, i64::MAX), "a whole number of at least 1")
            .required()
            .noted(Note::OutputCap),
        field!("options", Rule::Object(&OPTIONS), "an object of generation options"),
        TEMPERATURE,
        TOP_P,
        field!("stop", Rule::List(&List::of(Rule::FILLED).whole()), "a list of texts, none of them empty"),
        FREQUENCY,
        PRESENCE,
        SEED,
        LOGIT_BIAS,
        STREAM,
        field!("logprobs", Rule::Flag, "true or false").noted(Note::Logprobs),
        field!("top_logprobs", Rule::Whole(0, 20), "a whole number from 0 to 20, with `logprobs` true"),
    ])
    .closed(Unknown::First { code: Some(UNSUPPORTED) })
    .agreeing(fit_together),
    "INVALID_REQUEST",
)
.holding(24 * MIB);

const TEMPERATURE: Field =
    field!("temperature", Rule::Number(Range::between(0.0, f64::INFINITY)), "a finite number of at least 0");

/// 16 MiB of an image.
const MOST_IMAGE: usize = 16 * 1024 * 1024;

const FORMAT: Text = Text { filled: true, most_chars: 32, of: Some(is_format), ..Text::ANY };

const fn is_format(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '.' | '+' | '-')
}

static IMAGE: Table = Table::of(&[
    field!(
        "data",
        Rule::Bytes(Base64 { canonical: true, least: 1, most: MOST_IMAGE }),
        "canonical standard base64 of 1 byte to 16 MiB"
    )
    .required(),
    field!("format", Rule::Text(FORMAT), "a short name of a format"),
])
.closed(Unknown::First { code: Some(UNSUPPORTED) });

static OPTIONS: Table = Table::of(&[
    PROFILE,
    field!(
        "default_sampling",
        Rule::Object(
            &Table::of(&[
                TEMPERATURE,
                TOP_P,
                FREQUENCY,
                PRESENCE,
                field!("top_k", Rule::Whole(1, i64::MAX), "a whole number of at least 1"),
                field!("min_new_tokens", Rule::Whole(0, i64::MAX), "a whole number of at least 0")
                    .noted(Note::LeastTokens),
                SEED,
            ])
            .closed(Unknown::First { code: None })
        ),
        "an object of sampling options"
    )
    .not_null(),
    field!("stop_tokens", Rule::List(&List::of(Rule::FILLED)), "a list of texts, none of them empty").not_null(),
    field!("first_chunk_timeout_s", SECONDS, "a number of seconds above 0").not_null(),
    field!("inter_chunk_timeout_s", SECONDS, "a number of seconds above 0").not_null(),
    field!("overall_timeout_s", SECONDS, "a number of seconds above 0").not_null(),
])
.closed(Unknown::First { code: None })
.whole();

/// Below 2^64, and above nothing.
const SECONDS: Rule = Rule::Number(Range::above(0.0, 18_446_744_073_709_549_568.0));

fn fit_together(facts: &Facts<'_>, notes: &Notes) -> Option<Disagreement> {
    if let Some(over) = over_cap(facts, notes, "max_new_tokens") {
        return Some(Disagreement { rank: Rank::Field, ..over });
    }
    if notes.least_tokens.zip(facts.of("max_new_tokens").whole()).is_some_and(|(least, most)| least > most) {
        let message = "`options.default_sampling.min_new_tokens` must not be more than `max_new_tokens`";
        return Some(Disagreement::at("options", Wrong::saying(message)));
    }
    if facts.of("stream") != Seen::Flag(true) {
        let asked = ["logprobs", "top_logprobs"].into_iter().find(|name| facts.of(name).is_given());
        if let Some(field) = asked {
            return Some(Disagreement::at(
                field,
                unsupported("log probabilities are streamed only: set `stream` to true"),
            ));
        }
    }
    log_probabilities(facts)
}
