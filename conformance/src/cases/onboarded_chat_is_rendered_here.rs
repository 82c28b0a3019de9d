//! Does a chat reach an upstream that has raw completions only, rendered by the model's own template, and come back as a chat with its tool calls?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::client::Request;
use crate::stage::journal::Heard;
use crate::stage::sample::{DONE, data};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::{GENERATE, Setup, Upstream};
use crate::stage::{Bench, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "onboarded_chat_is_rendered_here",
    clause: "a model whose chat template and tool format are given is rendered here for an upstream with raw completions, and its tool calls are parsed here",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const TEMPLATE: &str = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
    {% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

const CALL: [&str; 3] = ["<tool_c", "all>{\"name\":\"weather\",\"arguments\":{\"city\":", "\"Ulm\"}}</tool_call>"];

async fn run(bench: Bench) -> Verdict {
    let folder = std::env::temp_dir().join(format!("spillway-template-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("chat.jinja");
    std::fs::write(&file, TEMPLATE)?;
    let verdict = play(bench, &file.display().to_string()).await;
    std::fs::remove_dir_all(&folder)?;
    verdict
}

async fn play(bench: Bench, file: &str) -> Verdict {
    let host = Upstream::openai("raw").without_endpoints().line(r#"endpoints = ["completions"]"#);
    let model = format!(
        "[models.\"org/onboarded\"]\nremote_backed = true\n{GENERATE}\nprofiles.default = {{ upstream = \"raw\", \
         upstream_model = \"vendor/raw\", chat_template_file = {file:?}, tool_format = \"hermes\" }}\n\
         routing = {{ policy = \"remote_only\" }}",
    );
    let stage = bench.stage(Setup::new().upstream(host).table(&model)).await?;
    stage.upstream.choose(|_| true, answer);

    let (got, heard) = chat(&stage, json!({})).await?;
    same("path", &heard.path().as_str(), &"/v1/completions")?;
    same("prompt", &heard.json()["prompt"], &json!("<|user|>hi<|end|><|assistant|>"))?;
    same("text", &got["choices"][0]["message"]["content"], &json!("hello"))?;
    same("object", &got["object"], &json!("chat.completion"))?;

    let tools = json!([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]);
    let (got, _) = chat(&stage, json!({"tools": tools})).await?;
    let call = &got["choices"][0]["message"]["tool_calls"][0]["function"];
    same("the tool", &call["name"], &json!("weather"))?;
    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap_or_default()).unwrap_or_default();
    same("its arguments", &arguments, &json!({"city": "Ulm"}))?;
    same("the end", &got["choices"][0]["finish_reason"], &json!("tool_calls"))?;
    streamed(&stage, &tools).await
}

async fn chat(stage: &Stage, more: Value) -> Verdict<(Value, Heard)> {
    let received = stage.ask(&request(more)).await?;
    let got = received.is(200)?.remote("raw", None)?.json()?;
    let heard = stage.upstream.journal().calls().pop().expect("a 200 of an upstream was asked for");
    Ok((got, heard))
}

fn request(more: Value) -> Request {
    let mut body = json!({"model": "org/onboarded", "messages": [{"role": "user", "content": "hi"}]});
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    Request::post("/v1/chat/completions", &body.to_string())
}

async fn streamed(stage: &Stage, tools: &Value) -> Verdict {
    let received = stage.ask(&request(json!({"tools": tools, "stream": true}))).await?;
    let text = String::from_utf8_lossy(&received.is(200)?.body).into_owned();
    let deltas: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .map(|event| event["choices"][0].clone())
        .collect();
    let piece = |choice: &Value, name: &str| {
        choice["delta"]["tool_calls"][0]["function"][name].as_str().unwrap_or_default().to_owned()
    };
    let name: String = deltas.iter().map(|choice| piece(choice, "name")).collect();
    let arguments: String = deltas.iter().map(|choice| piece(choice, "arguments")).collect();
    same("the tool", &name.as_str(), &"weather")?;
    same("its arguments", &serde_json::from_str(&arguments).unwrap_or_default(), &json!({"city": "Ulm"}))?;
    let ends: Vec<&Value> =
        deltas.iter().map(|choice| &choice["finish_reason"]).filter(|end| end.is_string()).collect();
    same("the end", &ends, &vec![&json!("tool_calls")])
}

/// Calls the tool when the prompt has one.
fn answer(heard: &Heard) -> Play {
    let call = heard.json();
    let texts: &[&str] =
        if call["prompt"].as_str().unwrap_or_default().contains("weather") { &CALL } else { &["hel", "lo"] };
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12});
    let choice = |text: &str, end: Value| json!({"index": 0, "text": text, "finish_reason": end});
    if call["stream"] != true {
        let choices = [choice(&texts.concat(), json!("stop"))];
        return Answer::json(200, &json!({"choices": choices, "usage": usage}).to_string()).into();
    }
    let mut events: Vec<String> =
        texts.iter().map(|text| data(&json!({"choices": [choice(text, Value::Null)]}))).collect();
    events.push(data(&json!({"choices": [choice("", json!("stop"))]})));
    events.push(data(&json!({"choices": [], "usage": usage})));
    events.push(DONE.to_owned());
    Play::events(&events)
}
