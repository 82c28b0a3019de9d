//! Whatever a caller writes: a call is refused, or what is sent is one JSON object within the cap.

use crate::host::{Host, body, text};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use spillway_filters::edit::Piece;
use spillway_policies::Surface;
use spillway_policies::upstream::Endpoint;

const NAMES: [&str; 26] = [
    "prompt",
    "messages",
    "input",
    "instructions",
    "max_new_tokens",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "temperature",
    "stop",
    "seed",
    "n",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "images",
    "grammar",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "chat_template_kwargs",
    "stream_options",
    "include_reasoning",
    "user",
    "whatever",
];

fn value() -> impl Strategy<Value = Value> {
    let message = json!({"role": "user", "content": "a"});
    let tool = json!({"type": "function", "function": {"name": "f"}});
    let known = prop::sample::select(vec![
        Value::Null,
        json!(true),
        json!(1),
        json!(0.5),
        json!("a"),
        json!("auto"),
        json!([]),
        json!(["a"]),
        json!([message]),
        json!([tool]),
        json!({}),
        json!({"type": "text"}),
        json!({"type": "json_schema", "json_schema": {"strict": true, "schema": {"type": "object"}}}),
        json!({"default_sampling": {"seed": 1}}),
    ]);
    prop_oneof![known, any::<i64>().prop_map(|number| json!(number)), ".{0,8}".prop_map(|text| json!(text))]
}

fn hosts() -> Vec<Host> {
    let mut onboarded = Host::openai(&[Endpoint::Completions]);
    onboarded.onboarding.chat_template = Some("{% for m in messages %}{{ m.content }}{% endfor %}".into());
    onboarded.onboarding.tool_format = Some("hermes".into());
    onboarded.onboarding.reasoning_format = Some("qwen3".into());
    onboarded.onboarding.hides_reasoning = true;
    let mut operated = Host::openai(&[Endpoint::Chat, Endpoint::Completions]);
    operated.set("max_tokens", "500");
    operated.set("store", "false");
    operated.strip("user");
    vec![onboarded, operated, Host::openai(&[Endpoint::Chat]), Host::sie()]
}

proptest! {
    #[test]
    fn what_is_sent_is_one_object_within_the_cap(
        members in prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), value(), 0..8),
        stream in any::<bool>(),
        surface in prop::sample::select(vec![Surface::Chat, Surface::Completions, Surface::Generate, Surface::Responses]),
    ) {
        let mut call: Map<String, Value> = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        call.insert("model".into(), "org/m".into());
        call.insert("stream".into(), stream.into());
        let call = text(&Value::Object(call));
        for host in hosts() {
            let Ok(asked) = host.ask(surface, &call) else { continue };
            let sent = body(&asked, &call);
            prop_assert!(sent.is_object());
            if !asked.path.starts_with("/v1/") {
                let cap = sent.get("max_tokens").or_else(|| sent.get("max_completion_tokens")).and_then(Value::as_u64);
                prop_assert!(cap.is_some_and(|cap| cap <= 100), "{}", sent);
                prop_assert_eq!(&sent["model"], "vendor-model");
            }
        }
    }
}

#[test]
fn a_large_prompt_is_not_copied() {
    let long = "x".repeat(4 << 20);
    for (surface, call) in [
        (Surface::Generate, json!({"prompt": long, "max_new_tokens": 4})),
        (Surface::Completions, json!({"model": "org/m", "prompt": long})),
        (Surface::Chat, json!({"model": "org/m", "messages": [{"role": "user", "content": long}]})),
    ] {
        let call = text(&call);
        let asked =
            Host::openai(&[Endpoint::Chat, Endpoint::Completions]).ask(surface, &call).expect("it can be asked");
        let new = |piece: &Piece| if let Piece::New(bytes) = piece { bytes.len() } else { 0 };
        assert!(asked.bodies[0].iter().map(new).sum::<usize>() < 1024, "{surface:?}");
    }
}
