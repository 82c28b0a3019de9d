//! Can a bridged answer be told from a local one only by its disclosure?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Findings, Verdict, holds, lacks, same};
use crate::stage::client::Request;
use crate::stage::sample::{DONE, Surface, chat_body, data};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "answer_is_shaped_like_a_local_one",
    clause: "the caller's model name, our own ids, private reasoning and its logprobs removed, no header or foreign member of the upstream's",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const FOREIGN: [&str; 6] = ["vendor/", "chatcmpl-theirs", "secret thought", "fp_theirs", "their-tier", "theirs"];

fn choice(part: &str, content: &Value, finish: &Value) -> Value {
    let thought = content.to_string().contains("secret thought");
    let token = if thought { "secret thought" } else { "said" };
    json!({"index": 0, part: content, "finish_reason": finish, "native_finish_reason": "theirs",
        "logprobs": {"content": [{"token": token, "logprob": -0.1, "bytes": null, "top_logprobs": []}]}})
}

fn envelope(object: &str, choices: &Value) -> Value {
    json!({"id": "chatcmpl-theirs", "object": object, "created": 12345, "model": "vendor/chat", "choices": choices,
        "system_fingerprint": "fp_theirs", "service_tier": "their-tier", "x_theirs": 1})
}

fn with_usage(mut value: Value) -> Value {
    value["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
    value
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat")).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    let mut findings = Findings::default();
    findings.note("buffered", buffered(&stage).await);
    findings.note("streamed", streamed(&stage).await);
    findings.verdict()
}

fn ask(stream: bool) -> Request {
    let mut body = chat_body("org/chat");
    body["logprobs"] = true.into();
    body["stream"] = stream.into();
    Request::post("/v1/chat/completions", &body.to_string())
}

fn headers(answer: Answer) -> Answer {
    answer
        .field("Set-Cookie", "theirs=1")
        .field("X-Request-Id", "theirs")
        .field("openai-organization", "theirs")
        .field("x-ratelimit-remaining-requests", "7")
}

fn no_trace(answer: &crate::stage::client::Received) -> Verdict {
    for name in ["Set-Cookie", "X-Request-Id", "openai-organization", "x-ratelimit-remaining-requests"] {
        answer.without(name)?;
    }
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    FOREIGN.iter().try_for_each(|foreign| lacks("the answer", &text, foreign))
}

async fn buffered(stage: &Stage) -> Verdict {
    let message = json!({"role": "assistant", "content": "said", "reasoning_content": "secret thought", "reasoning": "secret thought"});
    let body = with_usage(envelope("chat.completion", &json!([choice("message", &message, &"stop".into())])));
    stage.upstream.on_any(headers(Answer::json(200, &body.to_string())));
    let answer = stage.ask(&ask(false)).await?;
    answer.is(200)?.remote("hosted", Some("model_loading"))?.with("Content-Type", "application/json")?;
    no_trace(&answer)?;
    let body = answer.json()?;
    same("model", &body["model"], &"org/chat".into())?;
    holds(body["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")), "an id of our own", &body["id"])?;
    holds(body["created"] != 12345, "a time of our own", &body["created"])?;
    same("content", &body["choices"][0]["message"]["content"], &"said".into())?;
    same("logprobs", &body["choices"][0]["logprobs"], &Value::Null)?;
    same("usage", &body["usage"]["total_tokens"], &5.into())
}

async fn streamed(stage: &Stage) -> Verdict {
    let chunk = |choices: Value| data(&envelope("chat.completion.chunk", &choices));
    let events = [
        chunk(json!([choice("delta", &json!({"role": "assistant", "content": ""}), &Value::Null)])),
        chunk(json!([choice("delta", &json!({"reasoning_content": "secret thought"}), &Value::Null)])),
        chunk(json!([choice("delta", &json!({"content": "said"}), &Value::Null)])),
        chunk(json!([choice("delta", &json!({}), &"stop".into())])),
        data(&with_usage(envelope("chat.completion.chunk", &json!([])))),
        DONE.to_owned(),
    ];
    let head = headers(Answer::new(200).field("Content-Type", "text/event-stream"))
        .field("Transfer-Encoding", "chunked")
        .head();
    stage.upstream.on_any(events.iter().fold(Play::raw(head), |play, event| play.event(event)).end());
    let answer = stage.ask(&ask(true)).await?;
    answer.is(200)?.remote("hosted", Some("model_loading"))?;
    no_trace(&answer)?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let events: Vec<&str> = text.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
    same("the last event", &events.last().copied(), &Some("[DONE]"))?;
    let events: Vec<Value> = events.iter().filter_map(|event| serde_json::from_str(event).ok()).collect();
    for event in &events {
        same("model", &event["model"], &"org/chat".into())?;
        same("one id in all events", &event["id"], &events[0]["id"])?;
        holds(event.get("usage").is_none_or(Value::is_null), "no usage that was not asked for", &event)?;
    }
    let said: String = events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    same("what was said", &said, &"said".to_owned())
}
