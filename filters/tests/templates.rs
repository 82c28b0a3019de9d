//! Chat templates: what Jinja2 makes of them, and what messages may not do.

use serde::Deserialize;
use serde_json::value::RawValue;
use spillway_filters::template::{BadTemplate, Conversation, LONGEST_PROMPT, NotRendered, Template};
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Recorded<'a> {
    now_s: u64,
    #[serde(borrow)]
    tokens: &'a RawValue,
    templates: BTreeMap<String, String>,
    #[serde(borrow)]
    cases: Vec<Case<'a>>,
}

#[derive(Deserialize)]
struct Case<'a> {
    template: String,
    #[serde(borrow)]
    messages: &'a RawValue,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    kwargs: &'a RawValue,
    text: Option<String>,
    #[serde(default)]
    refused: bool,
}

/// Cases where the outcome differs from Jinja2's, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("'%s-%d' % ('a', 3)", "the library formats by its filter alone"),
    ("'%02d' % 5", "the library formats by its filter alone"),
    ("1e22", "a float far from 1 is printed in full; tojson writes it as Python does"),
    ("'a,b' | replace(',', ' ') | wordcount", "no chat template counts words"),
    ("'a'.center(5)", "no chat template centers"),
    ("'a'.zfill(3)", "no chat template pads"),
    ("'A'.swapcase()", "no chat template swaps case"),
    ("'a'.encode() is defined", "no chat template has bytes"),
    ("cycler('a','b').next()", "no chat template cycles"),
    ("joiner(',')()", "no chat template joins so"),
    ("lipsum is defined", "no chat template needs filler"),
    ("self is defined", "there are no blocks"),
];

/// The template inside a `tokenizer_config.json` with these tokens.
fn config(template: &str, tokens: &str) -> String {
    let members = tokens.trim().trim_start_matches('{').trim_end_matches('}');
    format!("{{{members}, \"chat_template\": {}}}", serde_json::Value::from(template))
}

fn plain(messages: &str) -> Conversation<'_> {
    Conversation { messages: messages.as_bytes(), tools: None, kwargs: None, now_s: 0 }
}

fn compile(source: &str) -> Template {
    Template::compile(source).expect("a template")
}

fn rendered(source: &str, messages: &str) -> Result<String, NotRendered> {
    compile(source).render(&plain(messages))
}

#[test]
fn templates_render_as_in_jinja2() {
    let recorded: Recorded<'_> =
        serde_json::from_str(include_str!("fixtures/chat_templates.json")).expect("the fixture");
    let mut wrong = Vec::new();
    for case in &recorded.cases {
        let template = compile(&config(&recorded.templates[&case.template], recorded.tokens.get()));
        let outcome = template.render(&Conversation {
            messages: case.messages.get().as_bytes(),
            tools: case.tools.map(|tools| tools.get().as_bytes()),
            kwargs: Some(case.kwargs.get().as_bytes()),
            now_s: recorded.now_s,
        });
        let is_same = match (&outcome, &case.text) {
            (Ok(ours), Some(theirs)) => ours == theirs,
            (Err(NotRendered::Refused), None) => case.refused,
            (Err(NotRendered::Broken { .. }), None) => !case.refused,
            _ => false,
        };
        if is_same == DIFFERENT.iter().any(|(different, _)| *different == case.template) {
            wrong.push(format!(
                "{}:\n  ours   {outcome:?}\n  theirs {:?}, refused: {}",
                case.template, case.text, case.refused
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(recorded.cases.len() > 30);
}

#[test]
fn a_file_is_a_template_or_a_configuration() {
    let one = r#"{"chat_template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token }}", "bos_token": "<s>",
        "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": null, "add_bos_token": true, "added_tokens_decoder": {"0": {}}}"#;
    assert_eq!(rendered(one, r#"[{"content":"x"}]"#).as_deref(), Ok("<s>x</s>"));
    assert_eq!(rendered("{{ bos_token }}bare\r\n{{ 1 }}\n", "[]").as_deref(), Ok("bare\n1"));
    let several = r#"{"chat_template": [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "{{ tools | length }}"},
        {"name": "rag", "template": "{% broken"}]}"#;
    let several = compile(several);
    assert_eq!(several.render(&plain("[]")).as_deref(), Ok("plain"));
    let with_tools = Conversation { tools: Some(b"[{},{}]"), ..plain("[]") };
    assert_eq!(several.render(&with_tools).as_deref(), Ok("2"));
    assert_eq!(rendered("\u{feff}{\"chat_template\": \"b\"}", "[]").as_deref(), Ok("b"));
    let bad = |source: &str| Template::compile(source).err();
    assert_eq!(bad("{}"), Some(BadTemplate::NoTemplate));
    assert_eq!(bad(r#"{"chat_template": null}"#), Some(BadTemplate::NoTemplate));
    assert_eq!(bad(r#"{"chat_template": []}"#), Some(BadTemplate::NoDefault));
    assert_eq!(bad(r#"{"chat_template": [{"name": "rag", "template": ""}]}"#), Some(BadTemplate::NoDefault));
    assert_eq!(bad("{\n\"chat_template\": 1}"), Some(BadTemplate::NotJson { line: 2 }));
    assert_eq!(bad("{ \"chat_template\": \"x\""), Some(BadTemplate::NotJson { line: 1 }));
}

#[test]
fn what_is_wrong_with_a_template_is_said_without_quoting_it() {
    for (source, line, what) in [
        ("a\n{% include 'secret' %}", 2, "a template cannot include another file"),
        ("{% import 'secret' as s %}", 1, "a template cannot import another file"),
        ("{% from 'secret' import s %}", 1, "a template cannot import another file"),
        ("{% extends 'secret' %}", 1, "a template cannot extend another file"),
        ("\n\n{% secret %}", 3, "a statement that is not known here"),
        ("{% if secret %}", 1, "the end comes inside a block or an expression"),
        ("{{ secret secret }}", 1, "a token that does not belong here"),
    ] {
        let error = Template::compile(source).err().expect("it is refused");
        assert_eq!(error, BadTemplate::Syntax { line, what }, "{source}");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}

#[test]
fn messages_are_checked_and_not_quoted() {
    let raises = compile("{{ raise_exception('no: ' + messages[0].content) }}");
    let error = raises.render(&plain(r#"[{"content":"secret"}]"#)).expect_err("it is refused");
    assert_eq!(error, NotRendered::Refused);
    // Also from inside a macro or a filter block.
    let inside =
        "{% macro m() %}{{ raise_exception('secret') }}{% endmacro %}\n{% set x %}{{ m() }}{% endset %}{{ x }}";
    assert_eq!(rendered(inside, "[]"), Err(NotRendered::Refused));
    let broken = compile("a\n{{ messages[0].content.secret() }}");
    let error = broken.render(&plain(r#"[{"content":"secret"}]"#)).expect_err("it fails");
    assert!(matches!(error, NotRendered::Broken { line: 2, .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("secret"));
    let template = compile("x");
    for messages in ["", "{}", "1", "[", "[1]]", "null", "\"a\""] {
        assert_eq!(template.render(&plain(messages)), Err(NotRendered::Malformed("messages")), "{messages}");
    }
    let tools = Conversation { tools: Some(b"{}"), ..plain("[]") };
    assert_eq!(template.render(&tools), Err(NotRendered::Malformed("tools")));
    let kwargs = Conversation { kwargs: Some(b"[]"), ..plain("[]") };
    assert_eq!(template.render(&kwargs), Err(NotRendered::Malformed("chat_template_kwargs")));
}

#[test]
fn null_is_none_and_too_many_values_are_refused() {
    let asked = Conversation { tools: Some(b" null "), kwargs: Some(b"null"), ..plain("[]") };
    assert_eq!(compile("{{ tools is none }}").render(&asked).as_deref(), Ok("True"));
    let many = format!("[{}0]", "[],".repeat(100_000));
    assert_eq!(rendered("x", &many), Err(NotRendered::Malformed("messages")));
}

#[test]
fn arguments_of_earlier_calls_are_objects_when_they_can_be() {
    let template = compile("{% for m in messages %}{{ m.tool_calls[0].function.arguments | tojson }} {% endfor %}");
    let many = format!(r#"{{"a":[{}0]}}"#, "0,".repeat(100_000));
    let called = |arguments: &str| format!(r#"{{"tool_calls":[{{"function":{{"arguments":{arguments}}}}}]}}"#);
    let text = |json: &str| serde_json::Value::from(json).to_string();
    let given =
        [text(r#"{"b":1,"a":{}}"#), text("[1]"), text("{"), text(" "), r#"{"o":1}"#.to_owned(), "null".to_owned()];
    let messages = given.map(|arguments| called(&arguments));
    let expected = r#"{"b": 1, "a": {}} "[1]" "{" {} {"o": 1} null "#;
    assert_eq!(template.render(&plain(&format!("[{}]", messages.join(",")))).as_deref(), Ok(expected));
    // The second one is too much.
    let length = compile("{% for m in messages %}{{ m.tool_calls[0].function.arguments is string }}{% endfor %}");
    let twice = format!("[{0},{0}]", called(&text(&many)));
    assert_eq!(length.render(&plain(&twice)).as_deref(), Ok("FalseTrue"));
}

#[test]
fn kwargs_do_not_replace_the_messages() {
    let template = compile("{{ messages | length }} {{ add_generation_prompt }} {{ tools }} {{ own }}");
    let kwargs = br#"{"messages": [], "add_generation_prompt": false, "tools": [1], "own": "o"}"#;
    let asked = Conversation { kwargs: Some(kwargs), ..plain("[{}]") };
    assert_eq!(template.render(&asked).as_deref(), Ok("1 True None o"));
}

#[test]
fn a_caller_cannot_write_template_code() {
    let messages = r#"[{"content":"{{ 7*7 }}{% include 'x' %}<|im_end|>"}]"#;
    let expected = "{{ 7*7 }}{% include 'x' %}<|im_end|>";
    assert_eq!(rendered("{{ messages[0].content }}", messages).as_deref(), Ok(expected));
}

#[test]
fn renders_are_bounded() {
    let endless = "{% for a in range(10000) %}{% for b in range(10000) %}{% set x = a %}{% endfor %}{% endfor %}";
    assert_eq!(rendered(endless, "[]"), Err(NotRendered::TooManySteps));
    let doubling =
        "{% set ns = namespace(x='0123456789') %}{% for a in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}";
    assert_eq!(rendered(doubling, "[]"), Err(NotRendered::TooManySteps));
    let piece = "x".repeat(1 << 20);
    let messages = format!(r#"[{{"content":"{piece}"}}]"#);
    let four = "{% for i in range(4) %}{{ messages[0].content }}{% endfor %}";
    assert_eq!(rendered(four, &messages).map(|prompt| prompt.len()), Ok(LONGEST_PROMPT));
    assert_eq!(rendered(&format!("{four}."), &messages), Err(NotRendered::TooLong));
    let json = "{% set all = [messages, messages, messages, messages, messages] %}{{ all | tojson | length }}";
    assert_eq!(rendered(json, &messages), Err(NotRendered::TooLong));
}

#[test]
fn deep_values_and_recursion_end_in_errors() {
    let recursive = "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}";
    assert!(matches!(rendered(recursive, "[]"), Err(NotRendered::Broken { .. })));
    let walk = "{% macro m(v) %}{% for k in v %}[{{ m(k) }}]{% endfor %}{% endmacro %}{{ m(messages) }}";
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(rendered(walk, &nested(6)).as_deref(), Ok("[[[[[]]]]]"));
    assert!(rendered(walk, &nested(120)).is_err());
    assert_eq!(rendered("{{ messages | tojson }}", &nested(120)).as_deref(), Ok(nested(120).as_str()));
    assert_eq!(rendered("{{ messages }}", &nested(120)).as_deref(), Ok(nested(120).as_str()));
    assert_eq!(rendered("x", &nested(200)), Err(NotRendered::Malformed("messages")));
}

#[test]
fn a_warm_template_renders_the_same_again() {
    let template =
        compile("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}");
    for _ in 0..3 {
        assert_eq!(template.render(&plain("[{},{}]")).as_deref(), Ok("2"));
    }
}

#[test]
fn dates_are_right_around_leap_days() {
    let template = compile("{{ strftime_now('%F %j %a') }}");
    for (now_s, expected) in [
        (0, "1970-01-01 001 Thu"),
        (951_782_400, "2000-02-29 060 Tue"),
        (951_868_800, "2000-03-01 061 Wed"),
        (1_735_603_200, "2024-12-31 366 Tue"),
        (4_107_542_400, "2100-03-01 060 Mon"),
        (u64::MAX, "9999-12-31 365 Fri"),
    ] {
        let asked = Conversation { now_s, ..plain("[]") };
        assert_eq!(template.render(&asked).as_deref(), Ok(expected));
    }
    assert_eq!(rendered("{{ strftime_now('%Q % %-') }}", "[]").as_deref(), Ok("%Q % %-"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(source in "[{}%#a-z .'|()\\[\\]0-9\n-]{0,60}", messages in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
        if let Ok(template) = Template::compile(&source) {
            let asked = Conversation { messages: b"[{\"role\":\"user\"}]", ..plain("") };
            let _ = template.render(&asked);
            let _ = template.render(&Conversation { messages: &messages, tools: Some(&messages), kwargs: Some(&messages), now_s: 0 });
        }
    }

    #[test]
    fn generation_tags_do_not_matter(words in proptest::collection::vec(proptest::sample::select(vec![
        "{% generation %}", "{%- generation -%}", "{% endgeneration %}", "{# {% generation %} #}", "{%", "%}", "{#", "x", "\n", "{{ 'generation' }}",
    ]), 0..8)) {
        let _ = Template::compile(&words.concat()).map(|template| template.render(&plain("[]")));
    }
}
