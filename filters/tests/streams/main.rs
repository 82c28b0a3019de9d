//! Streams of an upstream: when they commit, how they fail, how they end, and what the caller sees of them.

mod calls;
mod commit;
mod errors;
mod fixture;
mod generate;
mod logprobs;
mod marks;
mod properties;
mod reasoning;
mod translated;
mod usage;

use spillway_filters::answer::Expected;
use spillway_filters::event_stream::{Event, EventStream};
use spillway_filters::prime::Progress;
use spillway_filters::shape::Shown;
use spillway_filters::stream::Stream;
use spillway_policies::{Cause, Class, Failure, Surface};

const BROKEN: Failure = Failure::new(Cause::StreamError, Class::Final);

/// How every chat chunk of a test begins.
const OPEN: &str =
    r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1750000000,"model":"public/m","choices":"#;

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;

fn expected() -> Expected {
    Expected {
        shown: Shown {
            model: "public/m".into(),
            id: "chatcmpl-1".into(),
            created_s: 1_750_000_000,
            include_reasoning: false,
            include_usage: true,
        },
        choices: Some(1),
        ..Expected::default()
    }
}

fn with_reasoning() -> Expected {
    let mut expected = expected();
    expected.shown.include_reasoning = true;
    expected
}

/// The stream in which each of these is the data of one event.
fn wire<'d>(data: impl IntoIterator<Item = &'d str>) -> String {
    data.into_iter().map(|data| format!("data: {data}\n\n")).collect()
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let mut reader = EventStream::new(1 << 20);
    reader.feed(bytes);
    std::iter::from_fn(|| reader.finish()).collect()
}

/// The data of the events.
fn data(bytes: &[u8]) -> Vec<String> {
    let text = |event: Event| String::from_utf8(event.data).expect("it is text");
    events(bytes).into_iter().map(text).collect()
}

/// What one event in a fresh stream leads to, and what the caller gets of it.
fn first(surface: Surface, expected: &Expected, event: &str) -> (Result<Progress, Failure>, Vec<String>) {
    let mut out = Vec::new();
    let progress = Stream::new(surface, surface, expected).feed(wire([event]).as_bytes(), &mut out);
    (progress, data(&out))
}

/// How a whole stream ends, and what the caller gets of it.
fn read<'d>(
    (caller, upstream): (Surface, Surface),
    expected: &Expected,
    events: impl IntoIterator<Item = &'d str>,
) -> (Result<(), Failure>, Vec<String>) {
    let mut out = Vec::new();
    let mut stream = Stream::new(caller, upstream, expected);
    let fed = stream.feed(wire(events).as_bytes(), &mut out).map(drop);
    (fed.and_then(|()| stream.end(&mut out)), data(&out))
}

/// The same of chat.
fn chat<'d>(expected: &Expected, events: impl IntoIterator<Item = &'d str>) -> (Result<(), Failure>, Vec<String>) {
    read((Surface::Chat, Surface::Chat), expected, events)
}

/// Chunks as the caller sees them: without what is the same in all of them.
fn bare(chunks: Vec<String>) -> Vec<String> {
    chunks.into_iter().map(|chunk| chunk.strip_prefix(OPEN).unwrap_or(&chunk).to_owned()).collect()
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("it is JSON")
}
