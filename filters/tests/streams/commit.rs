//! When a stream commits, and when it is whole.

use super::{BROKEN, OPEN, USAGE, bare, chat, data, events, expected, first, read, wire};
use spillway_filters::answer::Expected;
use spillway_filters::event_stream::Event;
use spillway_filters::prime::{Progress, tells_nothing};
use spillway_filters::stream::Stream;
use spillway_policies::Surface;

#[test]
fn a_chat_stream_commits_on_what_its_caller_sees() {
    for (event, wanted) in [
        (
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            Progress::Nothing,
        ),
        (r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[]}}]}"#, Progress::Nothing),
        (r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":""}]}"#, Progress::Nothing),
        (r#"{"choices":[{"index":0,"delta":null}]}"#, Progress::Nothing),
        (r#"{"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#, Progress::Nothing),
        (r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1}}"#, Progress::Nothing),
        (r#"{"choices":null,"cost":"0"}"#, Progress::Nothing),
        (r#"{"choices":[],"usage":null}"#, Progress::Nothing),
        (r#"{"choices":[{"index":0,"delta":{"audio":{"data":"AA=="},"annotations":[1]}}]}"#, Progress::Nothing),
        (r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c"}]}}]}"#, Progress::Nothing),
        (r#"{"choices":[{"index":0,"delta":{"reasoning_content":"h"}}]}"#, Progress::Alive),
        (r#"{"choices":[{"index":0,"delta":{"reasoning":"h","content":""}}]}"#, Progress::Alive),
        (r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"text":"h"}]}}]}"#, Progress::Alive),
        (r#"{"choices":[{"index":0,"delta":{"content":"h"}}]}"#, Progress::Committed),
        (r#"{"choices":[{"index":0,"delta":{"refusal":"no"}}]}"#, Progress::Committed),
        (
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}"#,
            Progress::Committed,
        ),
        (r#"{"choices":[{"index":0,"delta":{"content":"h"},"finish_reason":"stop"}]}"#, Progress::Committed),
        // An end is valid once its usage is there.
        (r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#, Progress::Nothing),
        (
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":1,"completion_tokens":0}}"#,
            Progress::Committed,
        ),
        (": keepalive", Progress::Nothing),
        ("", Progress::Nothing),
        ("null", Progress::Nothing),
        ("\"text\"", Progress::Nothing),
    ] {
        assert_eq!(first(Surface::Chat, &expected(), event).0, Ok(wanted), "{event}");
    }
}

#[test]
fn a_chat_stream_fails_where_it_breaks() {
    for event in [
        "[DONE]",
        "[]",
        "{",
        "{}x",
        r#"{"choices":[{"index":0,"delta":{"content":"\ud800"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":NaN}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking"}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":{"text":"h"}}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"a","content":"b"}}]}"#,
        r#"{"choices":[{"delta":{}}]}"#,
        r#"{"choices":[{"index":0,"text":"of completions"}]}"#,
        r#"{"choices":[{"index":0,"message":{"content":"of a whole answer"}}]}"#,
        r#"{"choices":[{"index":1,"delta":{}}]}"#,
        r#"{"choices":[{"index":-1,"delta":{}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":7}]}"#,
        r#"{"choices":{"index":0}}"#,
        r#"{"choices":[[0]]}"#,
        r#"{"choices":[{"index":0,"delta":["x"]}]}"#,
        r#"{"choices":[],"error":null}"#,
        r#"{"error":"Unauthorized"}"#,
        r#"{"error":{}}"#,
        r#"{"object":"error","message":"x"}"#,
    ] {
        assert_eq!(first(Surface::Chat, &expected(), event), (Err(BROKEN), vec![]), "{event}");
    }
    let choices = vec![r#"{"index":0}"#; 129].join(",");
    assert_eq!(first(Surface::Chat, &expected(), &format!(r#"{{"choices":[{choices}]}}"#)).0, Err(BROKEN));
    let unknown = Expected { choices: None, ..expected() };
    assert_eq!(first(Surface::Chat, &unknown, r#"{"choices":[{"index":127,"delta":{}}]}"#).0, Ok(Progress::Nothing));
    assert_eq!(first(Surface::Chat, &unknown, r#"{"choices":[{"index":128,"delta":{}}]}"#).0, Err(BROKEN));
}

#[test]
fn chunks_of_the_other_surface_are_not_taken_for_text() {
    let delta = r#"{"choices":[{"index":0,"delta":{"content":"of chat"}}]}"#;
    assert_eq!(first(Surface::Completions, &expected(), delta).0, Err(BROKEN));
    let text = r#"{"choices":[{"index":0,"text":"h"}]}"#;
    assert_eq!(first(Surface::Completions, &expected(), text).0, Ok(Progress::Committed));
}

#[test]
fn a_chat_stream_is_whole_when_every_choice_has_ended() {
    let two = Expected { choices: Some(2), ..expected() };
    let say = |index: u8| format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"a"}}}}]}}"#);
    let end = |index: u8| format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}"#);
    let (zero, one, zero_ends, one_ends) = (say(0), say(1), end(0), end(1));
    for (stream, wanted) in [
        (vec![], Err(BROKEN)),
        (vec![&*zero, &one, &zero_ends, &one_ends, USAGE], Ok(())),
        (vec![&*zero, &one, &zero_ends, &one_ends, USAGE, "[DONE]"], Ok(())),
        (vec![&*zero, &one, &zero_ends, &one_ends, "[DONE]"], Err(BROKEN)),
        (vec![&*zero, &one, &zero_ends, USAGE, "[DONE]"], Err(BROKEN)),
        (vec![&*zero_ends, USAGE, "[DONE]"], Err(BROKEN)),
        (vec![&*zero_ends, &one_ends, USAGE, &zero], Err(BROKEN)),
        (vec![&*zero, &zero_ends, &zero, &one_ends, USAGE], Err(BROKEN)),
    ] {
        assert_eq!(chat(&two, stream.iter().copied()).0, wanted, "{stream:?}");
    }
    // A host that was not asked how many answers as many as it will.
    let unknown = Expected { choices: None, ..expected() };
    assert_eq!(chat(&unknown, [&*zero, &one, &zero_ends, &one_ends, USAGE]).0, Ok(()));
    assert_eq!(chat(&unknown, [&*zero, &one, &zero_ends, USAGE]).0, Err(BROKEN));
}

#[test]
fn an_empty_choice_behind_its_end_is_not_for_the_caller() {
    let (result, shown) = chat(
        &expected(),
        [
            r#"{"choices":[{"index":0,"delta":{"content":"h"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
        ],
    );
    assert_eq!(result, Ok(()));
    assert_eq!(
        bare(shown),
        [
            r#"[{"index":0,"delta":{"content":"h"},"finish_reason":"stop"}]}"#,
            r#"[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
            "[DONE]"
        ]
    );
}

#[test]
fn a_completions_stream_needs_its_done() {
    let texts = [
        r#"{"choices":[{"index":0,"text":"","finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"text":"hi","finish_reason":""}]}"#,
        r#"{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}"#,
        USAGE,
    ];
    let surfaces = (Surface::Completions, Surface::Completions);
    assert_eq!(read(surfaces, &expected(), texts).0, Err(BROKEN));
    assert_eq!(read(surfaces, &expected(), texts.into_iter().chain(["[DONE]"])).0, Ok(()));
    let called = r#"{"choices":[{"index":0,"text":"","finish_reason":"tool_calls"}]}"#;
    assert_eq!(first(Surface::Completions, &expected(), called).0, Err(BROKEN));
}

#[test]
fn a_chunk_is_dressed_as_the_callers() {
    let chunk = r#"{"id":"up","object":"x","created":9,"model":"up","system_fingerprint":"f","choices":[{"index":0,"delta":{"role":"assistant","content":"h","extra":1},"native_finish_reason":"x"}]}"#;
    let wanted =
        format!(r#"{OPEN}[{{"index":0,"delta":{{"role":"assistant","content":"h"}},"finish_reason":null}}]}}"#);
    assert_eq!(first(Surface::Chat, &expected(), chunk).1, [wanted]);
    let text = r#"{"id":"up","model":"up","choices":[{"index":0,"text":"h","finish_reason":null,"stop_reason":1,"logprobs":null}]}"#;
    let wanted = r#"{"id":"chatcmpl-1","object":"text_completion","created":1750000000,"model":"public/m","choices":[{"index":0,"text":"h","finish_reason":null,"logprobs":null}]}"#;
    assert_eq!(first(Surface::Completions, &expected(), text).1, [wanted]);
}

#[test]
fn a_role_is_shown_once() {
    let chunk = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#;
    let mut out = Vec::new();
    let _ = Stream::new(Surface::Chat, Surface::Chat, &expected()).feed(wire([chunk, chunk]).as_bytes(), &mut out);
    assert_eq!(bare(data(&out))[1], r#"[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#);
}

#[test]
fn nothing_is_read_or_written_behind_the_end() {
    let whole = [r#"{"choices":[{"index":0,"delta":{"content":"h"},"finish_reason":"stop"}]}"#, USAGE, "[DONE]"];
    let late = wire([r#"{"choices":[{"index":0,"delta":{"content":"late"}}]}"#, "[DONE]", "{"]);
    let mut stream = Stream::new(Surface::Chat, Surface::Chat, &expected());
    let mut out = Vec::new();
    assert_eq!(stream.feed((wire(whole) + &late).as_bytes(), &mut out), Ok(Progress::Committed));
    assert!(stream.is_done());
    let length = out.len();
    assert_eq!(stream.feed(late.as_bytes(), &mut out), Ok(Progress::Nothing));
    assert_eq!(stream.end(&mut out), Ok(()));
    stream.fail(&BROKEN, &mut out);
    assert_eq!((out.len(), events(&out).len()), (length, 3));
}

#[test]
fn a_failure_is_told_once_and_last() {
    for surface in [Surface::Chat, Surface::Completions, Surface::Generate] {
        let mut stream = Stream::new(surface, surface, &expected());
        let mut out = Vec::new();
        assert_eq!(stream.feed(b"data: {\n\n", &mut out), Err(BROKEN));
        assert_eq!(
            (stream.feed(b"data: [DONE]\n\n", &mut out), stream.end(&mut out)),
            (Ok(Progress::Nothing), Err(BROKEN))
        );
        assert!(out.is_empty() && !stream.is_done());
        stream.fail(&BROKEN, &mut out);
        let length = out.len();
        assert!(length > 0 && !stream.is_done());
        stream.fail(&BROKEN, &mut out);
        assert_eq!((stream.end(&mut out), out.len()), (Err(BROKEN), length), "{surface:?}");
        assert_eq!(stream.fails_whole(), surface == Surface::Generate);
    }
}

#[test]
fn an_event_over_its_bound_ends_the_stream() {
    let mut stream = Stream::new(Surface::Chat, Surface::Chat, &expected());
    let mut out = Vec::new();
    let failure = stream.feed(&vec![b'x'; (1 << 20) + 1], &mut out).expect_err("it is too large");
    assert_eq!(failure.cause, spillway_policies::Cause::TooLarge);
}

#[test]
fn the_engines_own_stream_is_held_while_it_tells_nothing() {
    for (surface, event, wanted) in [
        (Surface::Chat, r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#, true),
        (Surface::Chat, ": keepalive", true),
        (Surface::Chat, r#"{"choices":[],"usage":null}"#, true),
        (Surface::Chat, r#"{"choices":[{"index":0,"delta":{"content":"h"}}]}"#, false),
        (Surface::Chat, r#"{"choices":[{"index":0,"delta":{"reasoning":"h"}}]}"#, false),
        (Surface::Chat, r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, false),
        (Surface::Chat, r#"{"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}"#, false),
        (Surface::Chat, r#"{"error":{"code":503}}"#, false),
        (Surface::Chat, "[DONE]", false),
        (Surface::Chat, "{", false),
        (Surface::Completions, r#"{"choices":[{"index":0,"text":""}]}"#, true),
        (Surface::Completions, r#"{"choices":[{"index":0,"text":"h"}]}"#, false),
        (Surface::Generate, r#"{"text_delta":"","done":false}"#, true),
        (Surface::Generate, r#"{"text_delta":"h","done":false}"#, false),
        (Surface::Generate, r#"{"text_delta":"","done":true,"finish_reason":"stop"}"#, false),
        (Surface::Generate, r#"{"done":false,"error":{"code":"QUEUE_FULL"}}"#, false),
        (Surface::Responses, r#"{"type":"response.created"}"#, true),
        (Surface::Responses, r#"{"type":"response.output_text.delta","delta":"h"}"#, false),
        (Surface::Responses, r#"{"type":"response.output_text.delta","delta":""}"#, true),
        (Surface::Responses, r#"{"type":"response.in_progress","response":{},"error":null}"#, true),
        (Surface::Responses, r#"{"type":"response.completed"}"#, false),
        (Surface::Responses, r#"{"type":"response.failed"}"#, false),
        (Surface::Responses, r#"{"error":{}}"#, false),
        (Surface::Responses, r#"{"type":"a","type":"b"}"#, false),
        (Surface::Responses, r#"{"type":"error"}"#, false),
    ] {
        let event = Event { name: None, data: event.into() };
        assert_eq!(tells_nothing(surface, &event), wanted, "{event:?}");
    }
}
