//! A stream of generate from an upstream that speaks it.

use super::{BROKEN, data, expected, first, json, read, wire};
use spillway_filters::answer::Expected;
use spillway_filters::prime::Progress;
use spillway_filters::stream::Stream;
use spillway_policies::Surface;

const GENERATE: (Surface, Surface) = (Surface::Generate, Surface::Generate);

const END: &str = r#"{"request_id":"up","seq":7,"text_delta":"","done":true,"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1,"images":2},"ttft_ms":12.5,"tpot_ms":"x","secret":1}"#;

#[test]
fn it_is_numbered_and_named_by_us() {
    let first = r#"{"request_id":"up","seq":3,"text_delta":"h\u00e9","done":false,"model":"up","extra":1}"#;
    let (result, shown) = read(GENERATE, &expected(), [first, END, r#"{"text_delta":"late","done":false}"#, "[DONE]"]);
    assert_eq!(result, Ok(()));
    assert_eq!(
        shown,
        [
            r#"{"request_id":"chatcmpl-1","seq":0,"text_delta":"hé","done":false}"#,
            r#"{"request_id":"chatcmpl-1","seq":1,"text_delta":"","done":true,"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"images":2},"ttft_ms":12.5}"#,
            "[DONE]"
        ]
    );
    // Without an id of our own it keeps the upstream's.
    let mut anonymous = expected();
    anonymous.shown.id.clear();
    assert_eq!(json(&read(GENERATE, &anonymous, [first, END]).1[1])["request_id"], "up");
    let long = format!(r#"{{"request_id":"{}","text_delta":"a","done":false}}"#, "x".repeat(257));
    assert_eq!(json(&read(GENERATE, &anonymous, [long.as_str()]).1[0])["request_id"], "");
}

#[test]
fn it_commits_on_text_or_a_valid_end() {
    for (event, wanted) in [
        (r#"{"text_delta":"","done":false}"#, Ok(Progress::Nothing)),
        (r#"{"done":false}"#, Ok(Progress::Nothing)),
        (r#"{"text_delta":"h","done":false}"#, Ok(Progress::Committed)),
        (END, Ok(Progress::Committed)),
        (r#"{"text_delta":"","done":true,"finish_reason":"cancelled"}"#, Err(BROKEN)),
        (
            r#"{"text_delta":"","done":true,"finish_reason":"content_filter","usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
            Err(BROKEN),
        ),
        (r#"{"text_delta":"","done":true,"finish_reason":"stop"}"#, Err(BROKEN)),
        (r#"{"text_delta":"","done":true,"usage":{"prompt_tokens":1,"completion_tokens":1}}"#, Err(BROKEN)),
        (r#"{"text_delta":1,"done":false}"#, Err(BROKEN)),
        (r#"{"text_delta":"h"}"#, Err(BROKEN)),
        (r#"["text_delta"]"#, Err(BROKEN)),
        ("[DONE]", Err(BROKEN)),
    ] {
        assert_eq!(first(Surface::Generate, &expected(), event).0, wanted, "{event}");
    }
    let capped = Expected { output_cap: Some(1), context: Some(2), ..expected() };
    assert_eq!(first(Surface::Generate, &capped, END).0, Ok(Progress::Committed));
    let capped = Expected { output_cap: Some(0), ..capped };
    assert_eq!(first(Surface::Generate, &capped, END).0, Err(BROKEN));
}

#[test]
fn it_may_lack_its_done_but_not_its_end() {
    let text = r#"{"text_delta":"h","done":false}"#;
    assert_eq!(read(GENERATE, &expected(), [text, END]).0, Ok(()));
    assert_eq!(read(GENERATE, &expected(), [text]).0, Err(BROKEN));
    assert_eq!(read(GENERATE, &expected(), [text, "[DONE]"]).0, Err(BROKEN));
}

#[test]
fn nothing_is_waited_for_behind_its_end() {
    let mut stream = Stream::new(Surface::Generate, Surface::Generate, &expected());
    let mut out = Vec::new();
    let late = wire([END, r#"{"done":true,"finish_reason":"error","error":{"code":"QUEUE_FULL"}}"#]);
    assert_eq!(stream.feed(late.as_bytes(), &mut out), Ok(Progress::Committed));
    assert!(stream.is_done());
    assert_eq!(data(&out)[1..], ["[DONE]"]);
}

#[test]
fn what_was_cancelled_after_its_first_text_ends_so() {
    let text = r#"{"text_delta":"h","done":false}"#;
    let cancelled = r#"{"text_delta":"","done":true,"finish_reason":"cancelled","usage":null}"#;
    let (result, shown) = read(GENERATE, &expected(), [text, cancelled]);
    assert_eq!((result, json(&shown[1])["finish_reason"].as_str()), (Ok(()), Some("cancelled")));
}

#[test]
fn a_failure_goes_on_where_the_events_stopped() {
    let mut stream = Stream::new(Surface::Generate, Surface::Generate, &expected());
    let mut out = Vec::new();
    assert_eq!(stream.feed(wire([r#"{"text_delta":"h","done":false}"#]).as_bytes(), &mut out), Ok(Progress::Committed));
    stream.fail(&BROKEN, &mut out);
    let shown = data(&out);
    let terminal = json(&shown[1]);
    assert_eq!((&terminal["request_id"], &terminal["seq"]), (&"chatcmpl-1".into(), &1.into()));
    assert_eq!((&terminal["finish_reason"], shown[2].as_str()), (&"error".into(), "[DONE]"));
}
