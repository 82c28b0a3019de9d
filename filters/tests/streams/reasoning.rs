//! Private reasoning: hidden from who did not ask, and no content for them.

use super::{bare, data, wire};
use spillway_filters::answer::Expected;
use spillway_filters::prime::Progress;
use spillway_filters::stream::Stream;
use spillway_policies::Surface;

fn expected() -> Expected {
    Expected { logprobs: true, ..super::expected() }
}

fn with_reasoning() -> Expected {
    Expected { logprobs: true, ..super::with_reasoning() }
}

/// The progress of each event, and what the caller sees.
fn fed(expected: &Expected, events: &[&str]) -> (Vec<Progress>, Vec<String>) {
    let mut stream = Stream::new(Surface::Chat, Surface::Chat, expected);
    let mut out = Vec::new();
    let progress =
        events.iter().map(|event| stream.feed(wire([*event]).as_bytes(), &mut out).expect("it is valid")).collect();
    (progress, bare(data(&out)))
}

const THOUGHT: &str = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"s"},"logprobs":{"content":[{"token":"s","logprob":-1}]}}]}"#;
const CONTENT: &str =
    r#"{"choices":[{"index":0,"delta":{"content":"h"},"logprobs":{"content":[{"token":"h","logprob":-1}]}}]}"#;

#[test]
fn hidden_reasoning_is_life_and_no_content() {
    let (progress, shown) = fed(&expected(), &[THOUGHT, THOUGHT, THOUGHT, CONTENT, THOUGHT, THOUGHT]);
    let alive = Progress::Alive;
    assert_eq!(progress, [alive, alive, alive, Progress::Committed, alive, alive]);
    let emptied = r#"[{"index":0,"delta":{},"finish_reason":null,"logprobs":null}]}"#;
    // Of what is held back one emptied chunk stands for all.
    assert_eq!(shown.len(), 4);
    assert_eq!((&*shown[0], &*shown[2], &*shown[3]), (emptied, emptied, emptied));
    assert!(shown[1].contains(r#""content":"h""#) && shown[1].contains(r#""token":"h""#), "{shown:?}");
}

#[test]
fn who_asked_sees_it() {
    let (progress, shown) = fed(&with_reasoning(), &[THOUGHT]);
    assert_eq!(progress, [Progress::Committed]);
    let wanted = r#"[{"index":0,"delta":{"reasoning_content":"s"},"finish_reason":null,"logprobs":{"content":[{"token":"s","logprob":-1,"bytes":null,"top_logprobs":[]}]}}]}"#;
    assert_eq!(shown, [wanted]);
    let details = r#"{"choices":[{"index":0,"delta":{"r\u0065asoning":"s","reasoning_details":[{"text":"s"}]}}]}"#;
    let wanted = r#"[{"index":0,"delta":{"reasoning":"s"},"finish_reason":null}]}"#;
    assert_eq!(fed(&with_reasoning(), &[details]).1, [wanted]);
}

#[test]
fn reasoning_that_cannot_be_shown_is_life_for_who_asked_too() {
    let details = r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"text":"s"}]}}]}"#;
    assert_eq!(fed(&with_reasoning(), &[details]).0, [Progress::Alive]);
}

#[test]
fn log_probabilities_go_with_the_reasoning() {
    let mark = r#"{"choices":[{"index":0,"delta":{"content":""},"logprobs":{"content":[{"token":"</think>","logprob":-1}]}}]}"#;
    let both = r#"{"choices":[{"index":0,"delta":{"r\u0065asoning":"s","content":"h"},"logprobs":{"content":[{"token":"s","logprob":-1}]}}]}"#;
    let none = r#"{"choices":[{"index":0,"delta":{"reasoning_content":null,"content":"h"},"logprobs":{"content":[{"token":"h","logprob":-1}]}}]}"#;
    let shown = fed(&expected(), &[CONTENT, mark, both, mark, none]).1;
    let has = |chunk: &String| !chunk.contains(r#""logprobs":null"#);
    // An empty text may be a token whose bytes are not a text yet, or one of reasoning.
    assert_eq!(shown.iter().map(has).collect::<Vec<_>>(), [true, false, false, false, true], "{shown:?}");
    assert!(!shown.concat().contains("\"s\""));
    let early = fed(&expected(), &[mark, THOUGHT, CONTENT]).1.concat();
    assert!(!early.contains("think") && early.contains(r#""token":"h""#), "{early}");
    assert!(fed(&with_reasoning(), &[mark]).1[0].contains("think"), "who asked sees all");
    let beside = r#"{"choices":[{"index":0,"delta":{"content":"h"},"reasoning_details":["s"],"logprobs":{"content":[{"token":"s","logprob":-1}]}}]}"#;
    assert!(!fed(&expected(), &[beside]).1.concat().contains("\"s\""));
}
