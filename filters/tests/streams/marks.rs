//! Private reasoning and tool calls that a model writes into its text.

use super::{USAGE, bare, chat as plain_chat, data, expected, json, wire, with_reasoning};
use proptest::prelude::*;
use serde_json::Value;
use spillway_filters::answer::Expected;
use spillway_filters::prime::Progress;
use spillway_filters::reasoning::Reasoning;
use spillway_filters::stream::{Marks, Stream};
use spillway_filters::tools::{ToolFormat, ToolReader};
use spillway_policies::Surface;

const CHAT: (Surface, Surface) = (Surface::Chat, Surface::Chat);
const TRANSLATED: (Surface, Surface) = (Surface::Chat, Surface::Completions);

fn thinking(format: &str) -> Marks {
    Marks { reasoning: Reasoning::new(format), tools: None }
}

fn both() -> Marks {
    Marks { tools: Some(ToolReader::new(ToolFormat::Hermes, vec!["f".into()])), ..thinking("qwen3") }
}

/// One chunk with a text, in the upstream's protocol.
fn chunk(upstream: Surface, index: usize, text: &str, reason: Option<&str>) -> String {
    let mut choice = serde_json::json!({"index": index, "finish_reason": reason});
    if upstream == Surface::Chat {
        choice["delta"] = serde_json::json!({"content": text});
    } else {
        choice["text"] = text.into();
    }
    serde_json::json!({"choices": [choice]}).to_string()
}

/// What a caller of chat gets of the text of one choice, in these pieces.
struct Got {
    content: String,
    reasoning: String,
    calls: Vec<(u64, String, String, String)>,
    reason: String,
    first_content: Option<usize>,
}

fn got((caller, upstream): (Surface, Surface), expected: &Expected, marks: Marks, pieces: &[&str]) -> Got {
    let mut stream = Stream::new(caller, upstream, expected).marked(marks);
    let mut out = Vec::new();
    let mut first_content = None;
    for (place, piece) in pieces.iter().enumerate() {
        let progress =
            stream.feed(wire([&*chunk(upstream, 0, piece, None)]).as_bytes(), &mut out).expect("it is valid");
        if progress == Progress::Committed {
            first_content.get_or_insert(place);
        } else {
            assert_eq!(progress, if piece.is_empty() { Progress::Nothing } else { Progress::Alive });
        }
    }
    let end = wire([&*chunk(upstream, 0, "", Some("stop")), USAGE, "[DONE]"]);
    stream.feed(end.as_bytes(), &mut out).expect("it is valid");
    assert!(stream.is_done());
    let shown = data(&out);
    let (done, chunks) = shown.split_last().expect("it ends");
    assert_eq!(done, "[DONE]");
    let mut got =
        Got { content: String::new(), reasoning: String::new(), calls: vec![], reason: String::new(), first_content };
    for chunk in chunks {
        let chunk = json(chunk);
        let choice = &chunk["choices"][0];
        got.content.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        got.reasoning.push_str(choice["delta"]["reasoning_content"].as_str().unwrap_or_default());
        got.reason.push_str(choice["finish_reason"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().expect("it is text").to_owned();
            let function = &call["function"];
            let index = call["index"].as_u64().expect("it is a number");
            got.calls.push((index, text(&call["id"]), text(&function["name"]), text(&function["arguments"])));
        }
    }
    got
}

#[test]
fn hidden_reasoning_is_stripped_wherever_it_is_cut() {
    let text = "<think>sécret</think>\n\nanswer < 3";
    for way in [CHAT, TRANSLATED] {
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let got = got(way, &expected(), thinking("qwen3"), &[&text[..at], &text[at..]]);
            assert_eq!((got.content.trim_start(), &*got.reasoning, &*got.reason), ("answer < 3", "", "stop"), "{at}");
        }
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let asked = got(way, &with_reasoning(), thinking("qwen3"), &pieces);
        assert_eq!((asked.content.trim_start(), &*asked.reasoning), ("answer < 3", "sécret"));
        assert_eq!(asked.first_content, Some(7));
        let hidden = got(way, &expected(), thinking("qwen3"), &pieces);
        assert_eq!((hidden.content, hidden.first_content), (asked.content, Some(21)));
    }
}

#[test]
fn reasoning_that_never_ends_is_no_content() {
    for text in ["<think>secret", "<think>secret</thin"] {
        let got = got(CHAT, &expected(), thinking("qwen3"), &[text]);
        assert_eq!((&*got.content, got.first_content), ("", None));
    }
    // What only looked like a mark is text once the choice ends.
    let got = got(CHAT, &expected(), thinking("qwen3"), &["a <thin"]);
    assert_eq!((&*got.content, got.first_content), ("a <thin", Some(0)));
}

#[test]
fn log_probabilities_stand_beside_plain_text_only() {
    let logprobs = r#"{"content":[{"token":"t","logprob":-1}]}"#;
    let chunks: Vec<_> = ["a", "<think>", "s", "</think>", "", "b", "<", "c"]
        .iter()
        .map(|text| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"logprobs":{logprobs}}}]}}"#))
        .collect();
    let asked = Expected { logprobs: true, ..expected() };
    let mut stream = Stream::new(Surface::Chat, Surface::Chat, &asked).marked(thinking("qwen3"));
    let mut out = Vec::new();
    let stream_text = wire(chunks.iter().map(String::as_str));
    assert_eq!(stream.feed(stream_text.as_bytes(), &mut out), Ok(Progress::Committed));
    let has: Vec<_> = data(&out).iter().map(|chunk| !chunk.contains(r#""logprobs":null"#)).collect();
    assert_eq!(has, [true, false, false, false, false, true, false, false]);
}

#[test]
fn tool_calls_are_read_out_of_the_text() {
    let text = "<think>s</think>Let me see.<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
    let pieces: Vec<String> = text.chars().map(String::from).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    for pieces in [&[text][..], &pieces] {
        let got = got(TRANSLATED, &expected(), both(), pieces);
        assert_eq!((&*got.content, &*got.reason), ("Let me see.", "tool_calls"));
        let call = |index: u64, id: &str, arguments: &str| (index, id.into(), "f".into(), arguments.into());
        assert_eq!(got.calls, [call(0, "pswgk9aqe", r#"{"a":1}"#), call(1, "6sumn59ce", "{}")]);
    }
    let got = got(TRANSLATED, &expected(), both(), &["<tool_call>{\"name\":\"g\"}"]);
    assert_eq!((&*got.content, &*got.reason, got.calls.len()), ("<tool_call>{\"name\":\"g\"}", "stop", 0));
}

#[test]
fn every_choice_is_read_for_itself() {
    let two = Expected { choices: Some(2), ..expected() };
    let stream = [
        chunk(Surface::Completions, 0, "<think>s", None),
        chunk(Surface::Completions, 1, "open", None),
        chunk(Surface::Completions, 0, "ecret</think>done", Some("stop")),
        chunk(Surface::Completions, 1, "", Some("length")),
    ];
    let mut read = Stream::new(Surface::Chat, Surface::Completions, &two).marked(thinking("qwen3"));
    let mut out = Vec::new();
    read.feed(wire(stream.iter().map(String::as_str)).as_bytes(), &mut out).expect("it is valid");
    assert_eq!(
        bare(data(&out)),
        [
            r#"[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            r#"[{"index":1,"delta":{"role":"assistant","content":"open"},"finish_reason":null}]}"#,
            r#"[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}"#,
            r#"[{"index":1,"delta":{"content":""},"finish_reason":"length"}]}"#,
        ]
    );
}

#[test]
fn an_upstream_that_takes_reasoning_out_itself_is_believed() {
    let thought = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"s"}}]}"#;
    let stream = [thought.to_owned(), chunk(Surface::Chat, 0, "answer <think>s</think>", Some("stop"))];
    let mut read = Stream::new(Surface::Chat, Surface::Chat, &expected()).marked(thinking("deepseek_r1"));
    let mut out = Vec::new();
    assert_eq!(read.feed(wire(stream.iter().map(String::as_str)).as_bytes(), &mut out), Ok(Progress::Committed));
    assert!(data(&out)[1].contains(r#""content":"answer ""#));
    // One that does not begins in it.
    let hidden = got(CHAT, &expected(), thinking("deepseek_r1"), &["secret</think>answer"]);
    assert_eq!(hidden.content, "answer");
    let late = [chunk(Surface::Chat, 0, "secret", None), thought.to_owned(), chunk(Surface::Chat, 0, "more", None)];
    let mut read = Stream::new(Surface::Chat, Surface::Chat, &expected()).marked(thinking("deepseek_r1"));
    assert_eq!(read.feed(wire(late.iter().map(String::as_str)).as_bytes(), &mut out), Ok(Progress::Alive));
}

#[test]
fn text_without_readers_is_text() {
    let marked = r#"{"choices":[{"index":0,"delta":{"content":"<think>s</think>"}}]}"#;
    assert!(bare(plain_chat(&expected(), [marked]).1)[0].contains("<think>s</think>"));
}

proptest! {
    #[test]
    fn cuts_do_not_matter(
        words in prop::collection::vec(
            prop_oneof![
                Just("<think>"), Just("</think>"), Just("<tool_call>"), Just("</tool_call>"), Just("<"), Just("é"), Just(" "),
                Just("{\"name\":\"f\",\"arguments\":{\"a\":\"<\"}}"), Just("text"),
            ],
            0..10,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        asks in any::<bool>(),
    ) {
        let text = words.concat();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.retain(|place| text.is_char_boundary(*place));
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<&str> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let expected = if asks { with_reasoning() } else { expected() };
        for way in [CHAT, TRANSLATED] {
            let whole = got(way, &expected, both(), &[&text]);
            let cut = got(way, &expected, both(), &pieces);
            prop_assert_eq!((whole.content, whole.reasoning, whole.calls, whole.reason), (cut.content, cut.reasoning, cut.calls, cut.reason));
        }
    }
}
