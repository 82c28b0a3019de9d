//! Tool calls in pieces, as hosts send them and as clients can join them.

use super::{BROKEN, OPEN, USAGE, chat, expected, json};

/// What the caller sees of these `tool_calls`, one list a chunk; none when the stream fails.
fn shown(lists: &[&str]) -> Option<Vec<String>> {
    let chunk = |list: &&str| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":{list}}}}}]}}"#);
    let mut stream: Vec<_> = lists.iter().map(chunk).collect();
    stream.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned());
    stream.push(USAGE.to_owned());
    let (result, shown) = chat(&expected(), stream.iter().map(String::as_str));
    if result.is_err() {
        assert_eq!(result, Err(BROKEN));
        return None;
    }
    let list = |chunk: String| json(&chunk)["choices"][0]["delta"].get("tool_calls").map(ToString::to_string);
    Some(shown.into_iter().filter(|chunk| chunk.starts_with(OPEN)).filter_map(list).collect())
}

const OPENED: &str = r#"[{"function":{"arguments":"","name":"f"},"id":"c1","index":0,"type":"function"}]"#;
const CITY: &str = r#"[{"function":{"arguments":"{\"ci"},"index":0}]"#;

#[test]
fn pieces_are_put_in_one_form() {
    let first = r#"[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]"#;
    let more = r#"[{"index":0,"function":{"arguments":"{\"ci"}}]"#;
    for (pieces, wanted) in [
        ([first, more], [OPENED, CITY]),
        // Ids and names that are repeated, or null.
        (
            [first, r#"[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"ci"}}]"#],
            [OPENED, CITY],
        ),
        (
            [first, r#"[{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{\"ci"}}]"#],
            [OPENED, CITY],
        ),
        ([first, r#"[{"index":0,"id":"other","function":{"arguments":"{\"ci"}}]"#], [OPENED, CITY]),
        // No index.
        ([r#"[{"id":"c1","function":{"name":"f"}}]"#, r#"[{"function":{"arguments":"{\"ci"}}]"#], [OPENED, CITY]),
        // An index from elsewhere.
        (
            [r#"[{"index":1,"id":"c1","function":{"name":"f"}}]"#, r#"[{"index":1,"function":{"arguments":"{\"ci"}}]"#],
            [OPENED, CITY],
        ),
    ] {
        assert_eq!(shown(&pieces).expect("it is valid"), wanted, "{pieces:?}");
    }
}

#[test]
fn a_call_is_shown_once_it_is_named() {
    let wanted = [OPENED, CITY];
    let pieces = [
        r#"[{"index":0,"id":"c1"}]"#,
        r#"[{"index":0,"function":{"name":"f","arguments":null}}]"#,
        r#"[{"index":0,"function":{"arguments":"{\"ci"}}]"#,
    ];
    assert_eq!(shown(&pieces).expect("it is valid"), wanted);
}

#[test]
fn a_call_without_an_id_gets_one_of_ours() {
    let list = shown(&[r#"[{"index":0,"function":{"name":"f","arguments":"{}"}}]"#]).expect("it is valid");
    assert_eq!(list, [r#"[{"function":{"arguments":"{}","name":"f"},"id":"pswgk9aqe","index":0,"type":"function"}]"#]);
}

#[test]
fn calls_beside_each_other_keep_apart() {
    for pieces in [
        r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}},{"index":1,"id":"b","function":{"name":"f","arguments":"2"}}]"#,
        r#"[{"id":"a","function":{"name":"f","arguments":"1"}},{"id":"b","function":{"name":"f","arguments":"2"}}]"#,
        r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}},{"index":0,"id":"b","function":{"name":"f","arguments":"2"}}]"#,
    ] {
        let list = shown(&[pieces]).expect("it is valid");
        let wanted = r#"[{"function":{"arguments":"1","name":"f"},"id":"a","index":0,"type":"function"},{"function":{"arguments":"2","name":"f"},"id":"b","index":1,"type":"function"}]"#;
        assert_eq!(list, [wanted], "{pieces}");
    }
}

#[test]
fn what_is_no_call_fails() {
    let many: Vec<_> = (0..129).map(|index| format!(r#"[{{"index":{index},"function":{{"name":"f"}}}}]"#)).collect();
    assert!(shown(&many.iter().map(String::as_str).collect::<Vec<_>>()).is_none());
    let long = format!(r#"[{{"index":0,"id":"{}","function":{{"name":"f"}}}}]"#, "x".repeat(257));
    for pieces in [
        [r#"[{"index":0,"type":"x","function":{"name":"f"}}]"#].as_slice(),
        &[r#"[{"index":0,"id":"c","function":{"arguments":"{}"}}]"#],
        &[r#"[{"index":0,"id":"c"}]"#],
        &[r#"[{"index":-1,"function":{"name":"f"}}]"#],
        &[r#"[{"index":0,"function":{"name":"f","arguments":{}}}]"#],
        &[r#"[{"index":0,"function":{"name":"f"}}]"#, r#"[{"index":0,"function":{"name":"g"}}]"#],
        &[r#"{"index":0}"#],
        &[r#"[0]"#],
        &[&long],
        &[],
    ] {
        assert_eq!(shown(pieces), None, "{pieces:?}");
    }
}
