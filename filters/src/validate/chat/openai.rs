//! Which fields does the OpenAI API document for chat? Types and documented ranges; what engines add is the operator's to accept.

use super::super::Sheet;
use super::{
    CODE, FREQUENCY, INCLUDE_USAGE, LOGIT_BIAS, LOGPROBS, MODEL, N, PARALLEL, PRESENCE, RESPONSE_FORMAT, SAFETY, SEED,
    STOP, STREAM, TOP_LOGPROBS, USER, log_probabilities, messages,
};
use crate::validate::rule::{Field, List, Note, Range, Rule, Table, Text, UNSUPPORTED, Unknown, field};

pub(in crate::validate) static OPENAI: Sheet = Sheet::new(
    &Table::of(&[
        MODEL,
        field!(
            "messages",
            Rule::List(&List::of(Rule::Object(&messages::OPENAI)).counting(1, usize::MAX)),
            "a list of at least one message"
        )
        .required(),
        field!("audio", Rule::OBJECT, "an object"),
        FREQUENCY,
        field!("function_call", Rule::OneOf(&[Rule::TEXT, Rule::OBJECT]), "a text or an object"),
        field!("functions", Rule::List(&List::of(Rule::OBJECT)), "a list of objects"),
        LOGIT_BIAS,
        LOGPROBS,
        field!("max_completion_tokens", Rule::COUNT, "a whole number of at least 1").noted(Note::OutputCap),
        field!("max_tokens", Rule::COUNT, "a whole number of at least 1").noted(Note::OutputCap),
        METADATA,
        field!("modalities", Rule::List(&List::of(Rule::TEXT)), "a list of texts"),
        field!("moderation", Rule::OBJECT, "an object"),
        N,
        PARALLEL,
        field!("prediction", Rule::OBJECT, "an object"),
        PRESENCE,
        CACHE_KEY,
        CACHE_OPTIONS,
        CACHE_RETENTION,
        field!("reasoning_effort", Rule::TEXT, "a text"),
        RESPONSE_FORMAT,
        SAFETY,
        SEED,
        SERVICE_TIER,
        STOP,
        STORE,
        STREAM,
        STREAM_OPTIONS,
        TEMPERATURE,
        field!("tool_choice", Rule::OneOf(&[Rule::TEXT, Rule::OBJECT]), "a text or an object"),
        field!("tools", Rule::List(&List::of(Rule::Object(&TOOL)).counting(0, 128)), "a list of at most 128 tools"),
        TOP_LOGPROBS,
        TOP_P,
        USER,
        field!("verbosity", Rule::TEXT, "a text"),
        field!("web_search_options", Rule::OBJECT, "an object"),
    ])
    .closed(Unknown::First { code: Some(UNSUPPORTED) })
    .agreeing(|facts, _| log_probabilities(facts)),
    CODE,
);

static TOOL: Table = Table::of(&[field!("type", Rule::Text(Text::FILLED), "a text").required()]);

pub(in crate::validate) const METADATA: Field = field!("metadata", Rule::OBJECT, "an object");
pub(in crate::validate) const CACHE_KEY: Field = field!("prompt_cache_key", Rule::TEXT, "a text");
pub(in crate::validate) const CACHE_OPTIONS: Field = field!("prompt_cache_options", Rule::OBJECT, "an object");
pub(in crate::validate) const CACHE_RETENTION: Field = field!("prompt_cache_retention", Rule::TEXT, "a text");
pub(in crate::validate) const SERVICE_TIER: Field = field!("service_tier", Rule::TEXT, "a text");
pub(in crate::validate) const STORE: Field = field!("store", Rule::Flag, "true or false");
pub(in crate::validate) const STREAM_OPTIONS: Field =
    field!("stream_options", Rule::Object(&USAGE), "an object with `include_usage`, true or false");
pub(in crate::validate) const TEMPERATURE: Field =
    field!("temperature", Rule::Number(Range::between(0.0, 2.0)), "a number from 0 to 2");
pub(in crate::validate) const TOP_P: Field =
    field!("top_p", Rule::Number(Range::between(0.0, 1.0)), "a number from 0 to 1");

static USAGE: Table = Table::of(&[INCLUDE_USAGE]);
