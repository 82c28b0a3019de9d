//! Usage at the end of a stream: demanded, exact, within the call's bounds, and shown to who asked.

use super::{BROKEN, bare, chat, expected};
use spillway_filters::answer::Expected;
use spillway_policies::Failure;

const END: &str = r#"{"choices":[{"index":0,"delta":{"content":"h"},"finish_reason":"stop"}]}"#;

fn with_usage(expected: &Expected, usage: &str) -> Result<(), Failure> {
    chat(expected, [END, &format!(r#"{{"choices":[],"usage":{usage}}}"#), "[DONE]"]).0
}

#[test]
fn it_is_exact() {
    for (usage, wanted) in [
        (r#"{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#, Ok(())),
        (r#"{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}"#, Ok(())),
        (r#"{"prompt_tokens":1,"completion_tokens":2,"total_tokens":4}"#, Err(BROKEN)),
        (r#"{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":2}}"#, Err(BROKEN)),
        (r#"{"prompt_tokens":1}"#, Err(BROKEN)),
        (r#"{"prompt_tokens":1.5,"completion_tokens":1}"#, Err(BROKEN)),
        (r#"{"prompt_tokens":true,"completion_tokens":1}"#, Err(BROKEN)),
        ("[1,1]", Err(BROKEN)),
        ("null", Err(BROKEN)),
    ] {
        assert_eq!(with_usage(&expected(), usage), wanted, "{usage}");
    }
}

#[test]
fn it_is_within_what_the_call_allows() {
    let capped = Expected { output_cap: Some(4), context: Some(10), ..expected() };
    for (prompt, completion, wanted) in [
        (5, 4, Ok(())),
        (6, 4, Ok(())),
        (5, 5, Err(BROKEN)),
        (7, 4, Err(BROKEN)),
        (10, 0, Ok(())),
        (11, 0, Err(BROKEN)),
    ] {
        let usage = format!(r#"{{"prompt_tokens":{prompt},"completion_tokens":{completion}}}"#);
        assert_eq!(with_usage(&capped, &usage), wanted, "{usage}");
    }
    // The bound is of one choice.
    let two = Expected { choices: Some(2), ..capped };
    let ends = END.replace(r#""index":0"#, r#""index":1"#);
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":8}}"#;
    assert_eq!(chat(&two, [END, &ends, usage]).0, Ok(()));
}

#[test]
fn only_one_behind_the_end_counts() {
    let early =
        r#"{"choices":[{"index":0,"delta":{"content":"h"}}],"usage":{"prompt_tokens":1,"completion_tokens":9}}"#;
    let odd = r#"{"choices":[{"index":0,"delta":{"content":"h"}}],"usage":{"odd":1}}"#;
    let last = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    assert_eq!(chat(&expected(), [early, END]).0, Err(BROKEN));
    let (result, shown) = chat(&expected(), [early, odd, END, last, last, "[DONE]"]);
    assert_eq!(result, Ok(()));
    let rest = r#"[{"index":0,"delta":{"content":"h"},"finish_reason":null}],"usage":null}"#;
    let usage = r#"[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;
    let end = r#"[{"index":0,"delta":{"content":"h"},"finish_reason":"stop"}]}"#;
    assert_eq!(bare(shown), [rest, rest, end, usage, "[DONE]"], "a client that adds usages up sees one");
}

#[test]
fn who_did_not_ask_does_not_see_it() {
    let mut quiet = expected();
    quiet.shown.include_usage = false;
    let early = r#"{"choices":[{"index":0,"delta":{"content":"h"}}],"usage":null}"#;
    let ends = END.replace("}]}", r#"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#);
    let (result, shown) = chat(&quiet, [early, &ends, super::USAGE, "[DONE]"]);
    assert_eq!(result, Ok(()));
    assert_eq!(
        bare(shown),
        [
            r#"[{"index":0,"delta":{"content":"h"},"finish_reason":null}]}"#,
            r#"[{"index":0,"delta":{"content":"h"},"finish_reason":"stop"}]}"#,
            "[DONE]"
        ]
    );
}
