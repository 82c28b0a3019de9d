//! Whole answers of chat, completions, responses and generate.

use super::{INVALID, expected, json};
use spillway_filters::answer::Expected;
use spillway_filters::shape::Shown;
use spillway_policies::{Failure, Surface};

const USAGE: &str = r#""usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}"#;

/// A chat answer of these choices.
fn chat(choices: &str, expected: &Expected) -> Result<String, Failure> {
    json(Surface::Chat, &format!(r#"{{"choices":[{choices}],{USAGE}}}"#), expected)
}

/// A chat answer of one message.
fn message(members: &str) -> Result<String, Failure> {
    ended(members, "stop")
}

fn ended(members: &str, reason: &str) -> Result<String, Failure> {
    chat(&format!(r#"{{"index":0,"message":{{{members}}},"finish_reason":"{reason}"}}"#), &expected())
}

/// What is shown of the one choice.
fn choice(shown: &str) -> &str {
    let start = shown.find(r#""choices":["#).expect("there are choices") + 11;
    &shown[start..shown.find(r#"],"usage""#).expect("there is usage")]
}

fn asking(change: impl FnOnce(&mut Expected)) -> Expected {
    let mut asking = expected();
    change(&mut asking);
    asking
}

#[test]
fn chat_shows_what_is_the_callers() {
    let body = r#"{"id":"up","object":"x","created":9,"model":"up","system_fingerprint":"f","service_tier":"t","provider":"p",
        "choices":[{"index":0,"message":{"role":"assistant","content":"h","reasoning_content":"s","extra":1,"annotations":[],"function_call":null},"finish_reason":"stop","logprobs":{"content":[]},"stop_reason":null}],
        "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"completion_tokens_details":{"reasoning_tokens":1}}}"#;
    let shown = r#"{"id":"fresh-1","object":"chat.completion","created":1750000000,"model":"public/m","choices":[{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"stop","logprobs":null}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    assert_eq!(json(Surface::Chat, body, &expected()).as_deref(), Ok(shown));
    assert_eq!(
        json(Surface::Chat, body, &asking(|asking| asking.logprobs = true)).as_deref(),
        Ok(shown),
        "still hidden"
    );
    let reasoning = asking(|asking| {
        asking.shown = Shown { include_reasoning: true, ..asking.shown.clone() };
        asking.logprobs = true;
    });
    let shown = json(Surface::Chat, body, &reasoning).expect("it is valid");
    assert_eq!(
        choice(&shown),
        r#"{"index":0,"message":{"role":"assistant","content":"h","reasoning_content":"s"},"finish_reason":"stop","logprobs":{"content":[]}}"#
    );
    let usage = |usage: &str, expected: &Expected| {
        let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"stop"}]"#;
        json(Surface::Chat, &format!("{body}{usage}}}"), expected)
    };
    for bad in [
        "",
        r#","usage":null"#,
        r#","usage":[1,1]"#,
        r#","usage":{"prompt_tokens":1}"#,
        r#","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":3}"#,
        r#","usage":{"prompt_tokens":1,"completion_tokens":1.0}"#,
        r#","usage":{"prompt_tokens":1,"prompt_tokens":1,"completion_tokens":1}"#,
        r#","usage":{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":2}}"#,
    ] {
        assert_eq!(usage(bad, &expected()), Err(INVALID), "{bad}");
    }
    let good = format!(",{USAGE}");
    assert!(usage(&good, &asking(|asking| (asking.output_cap, asking.context) = (Some(1), Some(2)))).is_ok());
    assert_eq!(usage(&good, &asking(|asking| asking.output_cap = Some(0))), Err(INVALID), "one token too many");
    assert_eq!(usage(&good, &asking(|asking| asking.context = Some(1))), Err(INVALID), "one token too many");
}

#[test]
fn a_message_says_something() {
    for good in [
        r#""role":"assistant","content":"h""#,
        r#""role":"assistant","content":null"#,
        r#""role":"assistant","refusal":"no""#,
        r#""role":"assistant","content":"\ud83d\ude00""#,
    ] {
        let shown = message(good).expect(good);
        assert_eq!(choice(&shown), format!(r#"{{"index":0,"message":{{{good}}},"finish_reason":"stop"}}"#));
    }
    for bad in [
        r#""content":"h""#,
        r#""role":null,"content":"h""#,
        r#""role":"user","content":"h""#,
        r#""role":"assistant""#,
        r#""role":"assistant","tool_calls":[]"#,
        r#""role":"assistant","content":7"#,
        r#""role":"assistant","content":[{"type":"text","text":"h"}]"#,
        r#""role":"assistant","content":"h","refusal":{}"#,
        r#""role":"assistant","content":"h","reasoning":7"#,
        r#""role":"assistant","content":"h","content":"i""#,
        r#""role":"assistant","content":"\ud800""#,
        r#""role":"assistant","content":"\udc00\ud800""#,
        r#""role":"assistant","content":"\ud800\u0041""#,
        r#""role":"assistant","content":"h","unknown":"\ud800""#,
    ] {
        assert_eq!(message(bad), Err(INVALID), "{bad}");
    }
    for reason in ["abort", "error", "function_call", "", "eos_token"] {
        assert_eq!(ended(r#""role":"assistant","content":"h""#, reason), Err(INVALID), "{reason}");
    }
    for none in ["", r#","tool_calls":null"#, r#","tool_calls":[]"#, r#","tool_calls":[ ]"#] {
        let message = format!(r#""role":"assistant","content":"h"{none}"#);
        assert_eq!(ended(&message, "tool_calls"), Err(INVALID), "no tool is called");
    }
}

#[test]
fn every_choice_is_there_once() {
    let one = |index: &str| {
        format!(r#"{{"index":{index},"message":{{"role":"assistant","content":"h"}},"finish_reason":"stop"}}"#)
    };
    let are_valid = |indexes: &[&str], choices| {
        let list: Vec<_> = indexes.iter().map(|index| one(index)).collect();
        chat(&list.join(","), &asking(|asking| asking.choices = choices)).is_ok()
    };
    assert!(are_valid(&["1", "0"], Some(2)));
    assert!(are_valid(&["1", "0"], None));
    let all: Vec<_> = (0..128).map(|index| index.to_string()).collect();
    assert!(are_valid(&all.iter().map(String::as_str).collect::<Vec<_>>(), Some(128)));
    for (indexes, choices) in [
        (&["0", "1"][..], Some(1)),
        (&["0"], Some(2)),
        (&["0", "0"], Some(2)),
        (&["0", "2"], Some(2)),
        (&["1"], None),
        (&["128"], None),
        (&["-1"], None),
        (&["0.0"], None),
        (&["\"0\""], None),
        (&[], None),
    ] {
        assert!(!are_valid(indexes, choices), "{indexes:?}");
    }
    for bad in [
        "{}",
        r#"[0,"stop",{"role":"assistant","content":"h"}]"#,
        "1",
        r#"{"index":0,"message":["assistant","h"],"finish_reason":"stop"}"#,
    ] {
        assert_eq!(chat(bad, &expected()), Err(INVALID), "{bad}");
    }
}

#[test]
fn a_tool_call_is_whole() {
    let call = |call: &str| ended(&format!(r#""role":"assistant","content":null,"tool_calls":[{call}]"#), "tool_calls");
    let good = r#"{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}"#;
    assert!(call(good).is_ok_and(|shown| shown.contains(good)));
    let more = r#"{"index":0,"id":"c","type":"function","extra":1,"function":{"name":"f","arguments":"{\"a\":1}","strict":true}}"#;
    assert_eq!(call(more), call(good), "what only the upstream knows goes");
    for (from, to) in [
        (r#""id":"c""#, r#""id":"""#),
        (r#""id":"c","#, ""),
        (r#""id":"c""#, r#""id":7"#),
        (r#""type":"function""#, r#""type":"custom""#),
        (r#""type":"function","#, ""),
        (r#""name":"f""#, r#""name":"""#),
        (r#""name":"f","#, ""),
        (r#""arguments":"{\"a\":1}""#, r#""arguments":{"a":1}"#),
        (r#","arguments":"{\"a\":1}""#, ""),
        (r#""function":{"#, r#""other":{"#),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        assert_eq!(call(&bad), Err(INVALID), "{bad}");
    }
    let long = good.replace(r#""id":"c""#, &format!(r#""id":"{}""#, "c".repeat(257)));
    assert_eq!(call(&long), Err(INVALID), "a long id");
    assert_eq!(call(&vec![good; 129].join(",")), Err(INVALID), "more than one message ever calls");
    let spoken = format!(r#""role":"assistant","content":"h","tool_calls":[{good}]"#);
    assert!(message(&spoken).is_ok(), "words beside a call");
    assert!(
        message(r#""role":"assistant","content":"h","tool_calls":null"#).is_ok_and(|shown| !shown.contains("tool"))
    );
}

#[test]
fn probabilities_are_sound_or_the_answer_is_not() {
    let of = |logprobs: &str, asked| {
        let message = r#"{"role":"assistant","content":"h"}"#;
        let choice = format!(r#"{{"index":0,"message":{message},"finish_reason":"stop","logprobs":{logprobs}}}"#);
        chat(&choice, &asking(|asking| asking.logprobs = asked))
    };
    let good = r#"{"content":[{"token":"h","logprob":-0.25,"bytes":[104],"top_logprobs":[{"token":"h","logprob":-0.25,"bytes":null}]}],"refusal":null}"#;
    assert!(of(good, true).is_ok_and(|shown| shown.contains(good)));
    assert!(of(good, false).is_ok_and(|shown| shown.contains(r#""logprobs":null"#)), "nobody asked");
    assert!(of("null", true).is_ok());
    let odd = good.replace(r#""token":"h","#, r#""token":"h","id":7,"#);
    assert_eq!(of(&odd, true), of(good, true));
    for (from, to) in [
        ("-0.25", "0.25"),
        ("-0.25", "-1e999"),
        ("-0.25", "null"),
        ("-0.25", "\"-0.25\""),
        ("[104]", "[256]"),
        ("[104]", "\"h\""),
        (r#""token":"h","#, ""),
        (r#""token":"h""#, r#""token":7"#),
        (r#""refusal":null"#, r#""refusal":7"#),
    ] {
        assert_eq!(of(&good.replacen(from, to, 1), true), Err(INVALID), "{to}");
    }
    let alternative = r#"{"token":"h","logprob":0}"#;
    let many =
        format!(r#"{{"content":[{{"token":"h","logprob":0,"top_logprobs":[{}]}}]}}"#, vec![alternative; 21].join(","));
    assert_eq!(of(&many, true), Err(INVALID));
    for bad in ["[]", "7", "true"] {
        assert_eq!(of(bad, true), Err(INVALID), "{bad}");
    }
}

#[test]
fn completions_are_texts() {
    let of = |choice: &str, asked| {
        let body = format!(r#"{{"id":"up","model":"up","choices":[{{{choice}}}],{USAGE}}}"#);
        json(Surface::Completions, &body, &asking(|asking| asking.logprobs = asked))
    };
    let shown = r#"{"id":"fresh-1","object":"text_completion","created":1750000000,"model":"public/m","choices":[{"index":0,"text":"h","finish_reason":"length","logprobs":null}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let good = r#""index":0,"text":"h","finish_reason":"length","logprobs":null"#;
    assert_eq!(of(&format!(r#"{good},"stop_reason":7"#), false).as_deref(), Ok(shown));
    assert_eq!(of(good, true), Err(INVALID), "they were asked for");
    for logprobs in [
        r#"{"tokens":["h"],"token_logprobs":[null],"top_logprobs":[{"h":-0.5}],"text_offset":[0]}"#,
        r#"{"content":[{"token":"h","logprob":-0.5}]}"#,
    ] {
        let choice = format!(r#""index":0,"text":"h","finish_reason":"stop","logprobs":{logprobs}"#);
        assert!(of(&choice, true).is_ok_and(|shown| shown.contains(logprobs)), "{logprobs}");
        assert_eq!(of(&choice.replace("-0.5", "0.5"), true), Err(INVALID));
    }
    for bad in [
        r#""index":0,"finish_reason":"stop""#,
        r#""index":0,"text":null,"finish_reason":"stop""#,
        r#""index":0,"text":"h","finish_reason":"tool_calls""#,
        r#""index":0,"text":"h","finish_reason":"""#,
        r#""index":0,"message":{"role":"assistant","content":"h"},"finish_reason":"stop""#,
    ] {
        assert_eq!(of(bad, false), Err(INVALID), "{bad}");
    }
}

#[test]
fn responses_are_dressed_like_sies() {
    let of = |output: &str, more: &str| {
        let usage = r#""usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2,"output_tokens_details":{"reasoning_tokens":1}}"#;
        let asking = asking(|asking| asking.shown.id = "resp_1".into());
        json(
            Surface::Responses,
            &format!(
                r#"{{"id":"up","object":"response","error":null,"model":"up","tools":[],"output":[{output}],{usage}{more}}}"#
            ),
            &asking,
        )
    };
    let part = r#"{"type":"output_text","text":"h","annotations":[{"type":"url_citation"}],"logprobs":[]}"#;
    let said = format!(r#"{{"type":"message","id":"up","role":"assistant","content":[{part}]}}"#);
    let called = r#"{"type":"function_call","id":"up","call_id":"c","name":"f","arguments":"{}","status":"completed"}"#;
    let private = r#"{"type":"reasoning","id":"up","summary":[{"type":"summary_text","text":"private"}]}"#;
    let start = r#"{"id":"resp_1","object":"response","created_at":1750000000,"model":"public/m","status":"#;
    let message = r#"{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"h","annotations":[]}]}"#;
    let call =
        r#"{"type":"function_call","id":"fc_1-1","call_id":"c","name":"f","arguments":"{}","status":"completed"}"#;
    let usage = r#""usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}"#;
    assert_eq!(
        of(&format!("{private},{said},{called}"), r#","status":"completed""#),
        Ok(format!(r#"{start}"completed","output":[{message},{call}],{usage}"#))
    );
    let cut = r#","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#;
    assert_eq!(
        of(private, cut),
        Ok(format!(r#"{start}"incomplete","output":[],"incomplete_details":{{"reason":"max_output_tokens"}},{usage}"#))
    );
    for (output, more) in [
        ("", ""),
        (private, r#","status":"completed""#),
        (&said, r#","status":"failed""#),
        (&said, r#","status":"in_progress""#),
        (&said.replace("assistant", "user"), ""),
        (&said.replace("output_text", "image"), ""),
        (&said.replace(r#""text":"h""#, r#""text":7"#), ""),
        (&called.replace(r#""call_id":"c""#, r#""call_id":"""#), ""),
        (&called.replace(r#""arguments":"{}""#, r#""arguments":{}"#), ""),
        ("7", ""),
        ("{}", ""),
    ] {
        assert_eq!(of(output, more), Err(INVALID), "{output} {more}");
    }
    for usage in [
        "",
        r#","usage":null"#,
        r#","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":3}"#,
        r#","usage":{"input_tokens":1}"#,
    ] {
        assert_eq!(json(Surface::Responses, &format!(r#"{{"output":[{said}]{usage}}}"#), &expected()), Err(INVALID));
    }
}

#[test]
fn generate_gives_text_and_exact_usage() {
    let of = |body: &str| json(Surface::Generate, body, &expected());
    let body = r#"{"model":"up","text":"h\n","finish_reason":"stop","usage":{"prompt_tokens":2,"completion_tokens":1,"images":1,"other":{}},"attempt_id":"up"}"#;
    let shown = r#"{"model":"public/m","text":"h\n","finish_reason":"stop","usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3,"images":1}}"#;
    assert_eq!(of(body).as_deref(), Ok(shown));
    for (from, to) in [
        (r#""text":"h\n""#, r#""text":null"#),
        (r#""text":"h\n","#, ""),
        (r#""finish_reason":"stop","#, ""),
        (r#""stop""#, r#""error""#),
        (r#""stop""#, r#""cancelled""#),
        (r#""stop""#, r#""content_filter""#),
        (r#""images":1"#, r#""images":-1"#),
        (r#""completion_tokens":1,"#, ""),
        (r#""other":{}"#, r#""total_tokens":4"#),
    ] {
        assert_eq!(of(&body.replacen(from, to, 1)), Err(INVALID), "{to}");
    }
    assert_eq!(json(Surface::Generate, body, &asking(|asking| asking.output_cap = Some(0))), Err(INVALID));
}

#[test]
fn reasoning_beside_what_is_said_hides_the_log_probabilities_too() {
    let tokens = r#""logprobs":{"content":[{"token":"s","logprob":-1}]}"#;
    let columns = r#""logprobs":{"tokens":["s"],"token_logprobs":[-1],"top_logprobs":null}"#;
    let asked = asking(|asking| asking.logprobs = true);
    for (surface, said) in [
        (Surface::Chat, format!(r#""message":{{"role":"assistant","content":"h"}},{tokens}"#)),
        (Surface::Completions, format!(r#""text":"h",{columns}"#)),
    ] {
        let of = |beside: &str| {
            let choice = format!(r#"{{"index":0,{said},{beside},"finish_reason":"stop"}}"#);
            json(surface, &format!(r#"{{"choices":[{choice}],{USAGE}}}"#), &asked).expect("it is valid")
        };
        for beside in [r#""reasoning":"s""#, r#""reasoning_content":"s""#, r#""reasoning_details":["s"]"#] {
            assert!(of(beside).contains(r#""logprobs":null"#) && !of(beside).contains(r#""s""#), "{beside}");
        }
        assert!(of(r#""reasoning":"","reasoning_details":[]"#).contains(r#""s""#));
    }
}
