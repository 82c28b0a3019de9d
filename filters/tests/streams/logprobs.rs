//! Log-probabilities: valid, in the caller's form, and there when they were asked for.

use super::{BROKEN, expected, first, json, read, with_reasoning};
use spillway_filters::answer::Expected;
use spillway_filters::prime::Progress;
use spillway_policies::Surface;

fn asked() -> Expected {
    Expected { logprobs: true, ..expected() }
}

fn chat_shows(logprobs: &str) -> Option<String> {
    let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"h"}},"logprobs":{logprobs}}}]}}"#);
    let (result, shown) = first(Surface::Chat, &asked(), &chunk);
    let rest = |chunk: &String| chunk.split_once(r#""logprobs":"#).expect("they are there").1.to_owned();
    result.ok().map(|_| rest(&shown[0]).strip_suffix("}]}").expect("it is a chunk").to_owned())
}

#[test]
fn chats_have_what_clients_read_and_nothing_else() {
    let full = r#"{"content":[{"token":"h","logprob":-1.50,"bytes":[104],"top_logprobs":[{"token":"i","logprob":-9999.0,"bytes":null}]}]}"#;
    assert_eq!(chat_shows(full).as_deref(), Some(full));
    let wanted = r#"{"content":[{"token":"h","logprob":0,"bytes":null,"top_logprobs":[]}]}"#;
    assert_eq!(
        chat_shows(r#"{"content":[{"token":"h","logprob":0,"extra":"x"}],"extra":"x"}"#).as_deref(),
        Some(wanted)
    );
    assert_eq!(chat_shows("null").as_deref(), Some("null"));
    assert_eq!(chat_shows(r#"{"content":null,"refusal":null}"#).as_deref(), Some(r#"{"content":null}"#));
    for bad in [
        "7",
        "[]",
        r#"{"content":[{"token":"h","logprob":0.1}]}"#,
        r#"{"content":[{"token":"h","logprob":null}]}"#,
        r#"{"content":[{"token":"h","logprob":"-1"}]}"#,
        r#"{"content":[{"token":"h","logprob":-1e999}]}"#,
        r#"{"content":[{"token":"h","logprob":-1,"bytes":[256]}]}"#,
        r#"{"content":[{"token":"h","logprob":-1,"top_logprobs":[{"token":"i","logprob":1}]}]}"#,
        r#"{"content":[{"logprob":-1}]}"#,
        r#"{"content":[1.50]}"#,
        r#"{"content":{}}"#,
    ] {
        assert_eq!(chat_shows(bad), None, "{bad}");
    }
}

/// A completions upstream that gives these, for a caller of `surface`.
fn completions(surface: Surface, logprobs: &str) -> Option<serde_json::Value> {
    let chunk = format!(r#"{{"choices":[{{"index":0,"text":"hi","logprobs":{logprobs}}}]}}"#);
    let shown = read((surface, Surface::Completions), &asked(), [chunk.as_str()]).1;
    let shown = json(shown.first()?);
    Some(if surface == Surface::Generate { shown["logprobs"].clone() } else { shown["choices"][0]["logprobs"].clone() })
}

#[test]
fn columns_stay_columns_or_become_rows() {
    let columns =
        r#"{"tokens":["h","i"],"token_logprobs":[-1,-0.5],"top_logprobs":[{"h":-1,"j":-2},null],"text_offset":[0,1]}"#;
    assert_eq!(completions(Surface::Completions, columns), Some(json(columns)));
    let rows = json(
        r#"[{"token":"h","logprob":-1,"bytes":null,"top_logprobs":[{"token":"h","logprob":-1,"bytes":null},{"token":"j","logprob":-2,"bytes":null}]},
            {"token":"i","logprob":-0.5,"bytes":null,"top_logprobs":[]}]"#,
    );
    assert_eq!(completions(Surface::Generate, columns).as_ref(), Some(&rows));
    assert_eq!(completions(Surface::Chat, columns), Some(serde_json::json!({"content": rows})));
    // Some hosts give rows on completions too.
    let own = r#"{"content":[{"token":"h","logprob":-1,"bytes":[104],"top_logprobs":[]}]}"#;
    assert_eq!(completions(Surface::Generate, own), Some(json(own)["content"].clone()));
    assert_eq!(completions(Surface::Completions, own), Some(json(own)));
    for bad in [
        r#"{"tokens":["h"],"token_logprobs":[]}"#,
        r#"{"tokens":["h"],"token_logprobs":[0.5]}"#,
        r#"{"tokens":["h"],"token_logprobs":[-1],"top_logprobs":[]}"#,
        r#"{"tokens":["h"],"token_logprobs":[-1],"top_logprobs":[{"h":1}]}"#,
        r#"{"tokens":[7],"token_logprobs":[-1]}"#,
    ] {
        for surface in [Surface::Chat, Surface::Completions, Surface::Generate] {
            assert_eq!(completions(surface, bad), None, "{bad}");
        }
    }
    // A token of the prompt has none, which only columns can say.
    let echo = r#"{"tokens":["h"],"token_logprobs":[null],"top_logprobs":null}"#;
    assert_eq!(completions(Surface::Completions, echo), Some(json(echo)));
    assert_eq!(completions(Surface::Generate, echo), None);
}

#[test]
fn who_asked_gets_them_beside_every_text() {
    let text = r#"{"choices":[{"index":0,"text":"h","logprobs":null}]}"#;
    let empty = r#"{"choices":[{"index":0,"text":"","finish_reason":null}]}"#;
    for caller in [Surface::Chat, Surface::Completions, Surface::Generate] {
        assert_eq!(read((caller, Surface::Completions), &asked(), [text]).0, Err(BROKEN));
        assert_eq!(read((caller, Surface::Completions), &asked(), [text]).1, Vec::<String>::new());
    }
    assert_eq!(first(Surface::Completions, &asked(), empty).0, Ok(Progress::Nothing));
    assert_eq!(first(Surface::Completions, &expected(), text).0, Ok(Progress::Committed));
}

#[test]
fn who_did_not_ask_sees_none() {
    let logprobs = r#""logprobs":{"content":[{"token":"h","logprob":7}]}"#;
    let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"h"}},{logprobs}}}]}}"#);
    assert!(first(Surface::Chat, &expected(), &chunk).1[0].contains(r#""logprobs":null"#));
    let event = r#"{"text_delta":"h","done":false,"logprobs":[{"token":"h","logprob":-1.0}]}"#;
    assert!(!first(Surface::Generate, &expected(), event).1[0].contains("logprobs"));
}

#[test]
fn those_of_half_a_text_are_kept_for_who_sees_reasoning_while_the_stream_is_held() {
    let half =
        r#"{"choices":[{"index":0,"delta":{"content":""},"logprobs":{"content":[{"token":"h","logprob":-1}]}}]}"#;
    let all = Expected { logprobs: true, ..with_reasoning() };
    assert_eq!(read((Surface::Chat, Surface::Chat), &all, [half, half, half]).1.len(), 3);
    assert_eq!(read((Surface::Chat, Surface::Chat), &asked(), [half, half, half]).1.len(), 1);
    assert_eq!(read((Surface::Chat, Surface::Chat), &expected(), [half, half, half]).1.len(), 1);
}

#[test]
fn generate_has_its_own_list() {
    let event = |logprobs: &str| format!(r#"{{"text_delta":"h","done":false,"logprobs":{logprobs}}}"#);
    let (result, shown) = first(Surface::Generate, &asked(), &event(r#"[{"token":"h","logprob":-1.0}]"#));
    assert_eq!(result, Ok(Progress::Committed));
    assert!(
        shown[0].ends_with(r#""logprobs":[{"token":"h","logprob":-1.0,"bytes":null,"top_logprobs":[]}]}"#),
        "{shown:?}"
    );
    for bad in ["{}", "[1]", r#"[{"token":"h","logprob":1.0}]"#] {
        assert_eq!(first(Surface::Generate, &asked(), &event(bad)), (Err(BROKEN), vec![]), "{bad}");
    }
}

#[test]
fn those_beside_no_text_may_be_of_reasoning() {
    let logprobs = r#"{"tokens":["s"],"token_logprobs":[-1],"top_logprobs":null}"#;
    let hidden = format!(r#"{{"choices":[{{"index":0,"text":"","logprobs":{logprobs}}}]}}"#);
    let thought = r#"{"choices":[{"index":0,"text":"","reasoning_content":"s"}]}"#;
    for caller in [Surface::Completions, Surface::Generate] {
        for events in [[thought, hidden.as_str()], [hidden.as_str(), thought]] {
            let shown = read((caller, Surface::Completions), &asked(), events).1.concat();
            assert!(!shown.contains("\"s\""), "{shown}");
        }
    }
}
