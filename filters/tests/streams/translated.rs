//! Streams for callers of generate and chat from an upstream with raw completions.

use super::{BROKEN, USAGE, bare, data, expected, read, wire};
use spillway_filters::answer::Expected;
use spillway_filters::prime::Progress;
use spillway_filters::stream::Stream;
use spillway_policies::Surface;

const GENERATE: (Surface, Surface) = (Surface::Generate, Surface::Completions);
const CHAT: (Surface, Surface) = (Surface::Chat, Surface::Completions);

const TEXTS: [&str; 4] = [
    r#"{"id":"up","choices":[{"index":0,"text":"","finish_reason":null}]}"#,
    r#"{"id":"up","choices":[{"index":0,"text":"h","finish_reason":null}]}"#,
    r#"{"id":"up","choices":[{"index":0,"text":"i","finish_reason":"length"}]}"#,
    USAGE,
];

fn whole() -> impl Iterator<Item = &'static str> {
    TEXTS.into_iter().chain(["[DONE]"])
}

#[test]
fn generate_is_written_as_sie_writes_it() {
    let (result, shown) = read(GENERATE, &expected(), whole());
    assert_eq!(result, Ok(()));
    assert_eq!(
        shown,
        [
            r#"{"request_id":"chatcmpl-1","seq":0,"text_delta":"h","done":false}"#,
            r#"{"request_id":"chatcmpl-1","seq":1,"text_delta":"i","done":false}"#,
            r#"{"request_id":"chatcmpl-1","seq":2,"text_delta":"","done":true,"finish_reason":"length","usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
            "[DONE]"
        ]
    );
}

#[test]
fn generate_ends_with_usage_and_done_or_fails() {
    for stream in [&TEXTS[..3], &TEXTS[..4], &[TEXTS[1], USAGE, "[DONE]"], &[TEXTS[1], TEXTS[2], "[DONE]"]] {
        assert_eq!(read(GENERATE, &expected(), stream.iter().copied()).0, Err(BROKEN), "{stream:?}");
    }
    let capped = Expected { output_cap: Some(1), ..expected() };
    assert_eq!(read(GENERATE, &capped, whole()).0, Err(BROKEN));
    let second = r#"{"choices":[{"index":1,"text":"h"}]}"#;
    assert_eq!(read(GENERATE, &expected(), [second]).0, Err(BROKEN));
    let empty = [r#"{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}"#, USAGE, "[DONE]"];
    let (result, shown) = read(GENERATE, &expected(), empty);
    assert_eq!((result, shown.len()), (Ok(()), 2));
}

#[test]
fn generate_that_was_filtered_is_an_error() {
    let filtered = r#"{"choices":[{"index":0,"text":"","finish_reason":"content_filter"}]}"#;
    let mut stream = Stream::new(Surface::Generate, Surface::Completions, &expected());
    let mut out = Vec::new();
    assert_eq!(stream.feed(wire([TEXTS[1], filtered]).as_bytes(), &mut out), Err(BROKEN));
    stream.fail(&BROKEN, &mut out);
    let shown = data(&out);
    assert_eq!(shown.len(), 3);
    assert!(shown[1].contains(r#""seq":1"#) && shown[1].contains(r#""finish_reason":"error""#), "{shown:?}");
    assert!(shown[1].contains(r#""code":"inference_error""#) && shown[2] == "[DONE]", "{shown:?}");
}

#[test]
fn chat_has_its_role_first() {
    let (result, shown) = read(CHAT, &expected(), whole());
    assert_eq!(result, Ok(()));
    assert_eq!(
        bare(shown),
        [
            r#"[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            r#"[{"index":0,"delta":{"content":"h"},"finish_reason":null}]}"#,
            r#"[{"index":0,"delta":{"content":"i"},"finish_reason":"length"}]}"#,
            r#"[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
            "[DONE]"
        ]
    );
    assert_eq!(read(CHAT, &expected(), TEXTS).0, Err(BROKEN), "completions need their [DONE]");
}

#[test]
fn chat_choices_come_in_any_order() {
    let two = Expected { choices: Some(2), ..expected() };
    let text = |index: u8, text: &str, reason: &str| {
        format!(r#"{{"choices":[{{"index":{index},"text":"{text}","finish_reason":{reason}}}]}}"#)
    };
    let stream =
        [text(1, "b", "null"), text(0, "a", "\"stop\""), text(1, "c", "\"stop\""), USAGE.into(), "[DONE]".into()];
    let (result, shown) = read(CHAT, &two, stream.iter().map(String::as_str));
    assert_eq!(result, Ok(()));
    assert_eq!(
        bare(shown)[..3],
        [
            r#"[{"index":1,"delta":{"role":"assistant","content":"b"},"finish_reason":null}]}"#,
            r#"[{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}"#,
            r#"[{"index":1,"delta":{"content":"c"},"finish_reason":"stop"}]}"#,
        ]
    );
}

#[test]
fn a_translated_stream_commits_on_text() {
    for (caller, upstream) in [GENERATE, CHAT] {
        let mut stream = Stream::new(caller, upstream, &expected());
        let mut out = Vec::new();
        let mut feed = |event| stream.feed(wire([event]).as_bytes(), &mut out);
        assert_eq!(feed(TEXTS[0]), Ok(Progress::Nothing));
        assert_eq!(feed(TEXTS[1]), Ok(Progress::Committed));
    }
}
