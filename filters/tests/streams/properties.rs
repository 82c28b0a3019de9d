//! What holds for every stream.

use super::{BROKEN, data, expected, wire, with_reasoning};
use proptest::prelude::*;
use serde::de::IgnoredAny;
use spillway_filters::answer::Expected;
use spillway_filters::event_stream::Event;
use spillway_filters::prime::{Progress, tells_nothing};
use spillway_filters::stream::Stream;
use spillway_policies::{Failure, Surface};

const WAYS: [(Surface, Surface); 5] = [
    (Surface::Chat, Surface::Chat),
    (Surface::Completions, Surface::Completions),
    (Surface::Generate, Surface::Generate),
    (Surface::Generate, Surface::Completions),
    (Surface::Chat, Surface::Completions),
];

/// What a caller gets of a stream that comes in these pieces, and how it goes.
fn outcome<'p>(
    (caller, upstream): (Surface, Surface),
    expected: &Expected,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> (Progress, Result<(), Failure>, Vec<u8>) {
    let mut stream = Stream::new(caller, upstream, expected);
    let (mut out, mut progress) = (Vec::new(), Progress::Nothing);
    for piece in pieces {
        match stream.feed(piece, &mut out) {
            Ok(further) => progress = progress.max(further),
            Err(failure) => return (Progress::Nothing, Err(failure), out),
        }
    }
    let ended = stream.end(&mut out);
    (progress, ended, out)
}

fn chunk(chat: bool) -> impl Strategy<Value = String> {
    let said = if chat {
        prop_oneof![
            "[a-z<>é你]{0,3}".prop_map(|text| format!(r#""delta":{{"content":"{text}"}}"#)),
            Just(r#""delta":{"role":"assistant","content":""}"#.to_owned()),
            "[a-z]{0,3}".prop_map(|text| format!(r#""delta":{{"reasoning_content":"{text}"}}"#)),
            Just(
                r#""delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}"#.to_owned()
            ),
            Just(r#""delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#.to_owned()),
        ]
        .boxed()
    } else {
        "[a-z<>é你]{0,3}".prop_map(|text| format!(r#""text":"{text}""#)).boxed()
    };
    let index = prop_oneof![9 => Just(0), 1 => 0..3_u8];
    let reason = prop_oneof![6 => Just("null"), 2 => Just("\"stop\""), 1 => Just("\"weird\"")];
    let usage = prop_oneof![
        4 => Just(""),
        1 => Just(r#","usage":null"#),
        2 => Just(r#","usage":{"prompt_tokens":1,"completion_tokens":1}"#)
    ];
    (index, said, reason, usage).prop_map(|(index, said, reason, usage)| {
        format!(r#"{{"choices":[{{"index":{index},{said},"finish_reason":{reason}}}]{usage}}}"#)
    })
}

fn event(upstream: Surface) -> BoxedStrategy<String> {
    let own = match upstream {
        Surface::Generate => prop_oneof![
            "[a-z你]{0,3}".prop_map(|text| format!(r#"{{"text_delta":"{text}","done":false}}"#)),
            Just(r#"{"text_delta":"","done":true,"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1}}"#.to_owned()),
        ]
        .boxed(),
        _ => chunk(upstream == Surface::Chat).boxed(),
    };
    prop_oneof![
        12 => own,
        1 => Just(r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#.to_owned()),
        1 => Just("[DONE]".to_owned()),
        1 => Just(": keepalive".to_owned()),
        1 => Just(r#"{"error":{"code":429}}"#.to_owned()),
        1 => "[\\[\\]{}\":,a-z0-9 ]{0,30}",
    ]
    .boxed()
}

fn stream() -> impl Strategy<Value = ((Surface, Surface), String)> {
    prop::sample::select(WAYS.to_vec()).prop_flat_map(|way| {
        let events = prop::collection::vec((event(way.1), prop_oneof![Just("\n\n"), Just("\r\n\r\n")]), 0..12);
        let text =
            |events: Vec<(String, &str)>| events.iter().map(|(data, end)| format!("data: {data}{end}")).collect();
        (Just(way), events.prop_map(text))
    })
}

proptest! {
    #[test]
    fn every_cut_gives_the_same((way, text) in stream()) {
        let bytes = text.as_bytes();
        let whole = outcome(way, &expected(), [bytes]);
        for at in 0..=bytes.len() {
            prop_assert_eq!(&outcome(way, &expected(), [&bytes[..at], &bytes[at..]]), &whole, "cut at {}", at);
        }
        prop_assert_eq!(outcome(way, &expected(), bytes.chunks(1)), whole);
    }

    #[test]
    fn what_the_caller_gets_is_events_of_json((way, text) in stream(), reasons in any::<bool>()) {
        let expected = if reasons { with_reasoning() } else { expected() };
        let (_, ended, out) = outcome(way, &expected, [text.as_bytes()]);
        let shown = data(&out);
        for (place, event) in shown.iter().enumerate() {
            if event == "[DONE]" {
                prop_assert_eq!((place + 1, ended), (shown.len(), Ok(())));
            } else {
                prop_assert!(serde_json::from_str::<IgnoredAny>(event).is_ok(), "{}", event);
            }
        }
        let ends = shown.last().is_some_and(|last| last == "[DONE]");
        prop_assert_eq!(ends, ended.is_ok());
    }

    #[test]
    fn arbitrary_events_never_panic(data in prop::collection::vec(
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            "[\\[\\]{}\":,a-z0-9 ]{0,60}".prop_map(String::into_bytes),
            "\\{\"choices\":\\[\\{\"index\":[0-9]{1,4},\"delta\":\\{\"content\":\"[a-z\\\\u\"]{0,6}\\}\\}\\]\\}".prop_map(String::into_bytes),
            "\\{\"(type|error|done|usage|response)\":[\\[\\]{}\":,a-z0-9]{0,20}\\}".prop_map(String::into_bytes),
        ],
        0..6,
    )) {
        for caller in Surface::ALL {
            for upstream in Surface::ALL {
                let mut stream = Stream::new(caller, upstream, &expected());
                let mut out = Vec::new();
                for data in &data {
                    let _ = tells_nothing(upstream, &Event { name: None, data: data.clone() });
                    let _ = stream.feed(&[b"data: ", data.as_slice(), b"\n\n"].concat(), &mut out);
                }
                let _ = stream.end(&mut out);
                stream.fail(&BROKEN, &mut out);
                prop_assert!(std::str::from_utf8(&out).is_ok());
            }
        }
    }

    #[test]
    fn a_text_reaches_the_caller_as_it_was(text in ".{0,20}", index in 0_u8..128) {
        let expected = Expected { choices: Some(128), ..expected() };
        for (way, event, path) in [
            (WAYS[0], serde_json::json!({"choices": [{"index": index, "delta": {"content": text}}]}), "/choices/0/delta/content"),
            (WAYS[1], serde_json::json!({"choices": [{"index": index, "text": text}]}), "/choices/0/text"),
            (WAYS[4], serde_json::json!({"choices": [{"index": index, "text": text}]}), "/choices/0/delta/content"),
            (WAYS[2], serde_json::json!({"text_delta": text, "done": false}), "/text_delta"),
        ] {
            let (progress, _, out) = outcome(way, &expected, [wire([event.to_string().as_str()]).as_bytes()]);
            prop_assert_eq!(progress, if text.is_empty() { Progress::Nothing } else { Progress::Committed });
            let shown = super::json(&data(&out)[0]);
            prop_assert_eq!(shown.pointer(path).and_then(|shown| shown.as_str()), Some(text.as_str()));
        }
    }
}
