//! How do engine and upstream play a recorded decision?

use serde_json::{Value, json};

use super::plan::Plan;
use crate::stage::journal::Heard;
use crate::stage::sample::{DONE, Surface, chat_text, completion_text, data, generate_end, generate_text};
use crate::stage::script::{Answer, Play};
use crate::stage::{Stage, engine, upstream};

/// The ordinary refusal of a chat call.
pub(super) fn loading() -> Answer {
    engine::loading(Surface::Chat)
}

/// What the engine says to the case's call.
pub(super) fn local_answer(plan: &Plan) -> Play {
    let local = plan.local();
    if local["ready"] == true {
        return engine::success(plan.surface, &plan.model);
    }
    refusal(plan).map_or_else(|| Answer::new(500).into(), Play::from)
}

/// The engine's refusal, when it has one.
pub(super) fn refusal(plan: &Plan) -> Option<Answer> {
    let local = plan.local();
    let status = u16::try_from(local["status"].as_u64()?).ok()?;
    Some(engine::refusal(plan.surface, status, local["code"].as_str()?, local["retry_after"].as_str()))
}

/// Sets both sides up for the case.
pub(super) fn play(plan: &Plan, stage: &Stage) {
    stage.engine.on_model(&plan.model, local_answer(plan));
    let mark = plan.mark.clone();
    let told = plan.upstream().clone();
    let concerns = move |heard: &Heard| heard.model().is_some_and(|model| model.contains(&mark));
    stage.upstream.choose(concerns, move |heard| upstream_answer(heard, &told));
}

fn upstream_answer(heard: &Heard, told: &Value) -> Play {
    if let Some(events) = told["sse"].as_array() {
        return stream(heard, events);
    }
    match told["answer"].as_str() {
        Some("valid") => return upstream::success(heard),
        Some("malformed") => return upstream::malformed(heard),
        Some("valid, body model is the upstream name") => return with_reasoning(heard),
        _ => {}
    }
    let status = told["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
    if (300..400).contains(&status) {
        return Play::redirect(status, "/elsewhere");
    }
    upstream::error(heard, status, told["code"].as_str(), told["retry_after"].as_str())
}

fn with_reasoning(heard: &Heard) -> Play {
    let message = json!({"role": "assistant", "content": "remote", "reasoning_content": "private"});
    let body = json!({"id": "chatcmpl-up", "object": "chat.completion", "created": 1, "model": heard.json()["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}});
    Answer::json(200, &body.to_string()).into()
}

/// The surface of the call that the upstream got, which need not be the caller's.
fn surface(heard: &Heard) -> Surface {
    Surface::of(&heard.path(), true)
}

fn stream(heard: &Heard, events: &[Value]) -> Play {
    let buffered = heard.json()["stream"] != true;
    if buffered {
        // Only the missing usage is told about a buffered call.
        return Answer::json(200, r#"{"model":"m","text":"text","finish_reason":"stop"}"#).into();
    }
    let events = events.iter().filter_map(Value::as_str);
    let play = events.clone().fold(Play::stream(), |play, event| step(play, surface(heard), event));
    let open = events.clone().any(|event| ["stall", "connection lost"].contains(&event));
    if open { play } else { play.end() }
}

fn step(play: Play, surface: Surface, event: &str) -> Play {
    let exhausted = json!({"message": "m", "type": "server_error", "param": null, "code": "RESOURCE_EXHAUSTED"});
    match (event, surface) {
        ("valid event" | "text", Surface::ChatStream) => play.event(&chat_text("up", "begun")),
        ("valid event" | "text", Surface::CompletionsStream) => play.event(&completion_text("up", "begun")),
        ("valid event" | "text", _) => play.event(&generate_text(0, "begun")),
        ("terminal error RESOURCE_EXHAUSTED", Surface::GenerateStream) => {
            play.event(&generate_end(0, "error", &[("error", exhausted)])).event(DONE)
        }
        ("terminal error RESOURCE_EXHAUSTED", _) => play.event(&data(&json!({"error": exhausted}))).event(DONE),
        ("error object", _) => {
            let error = json!({"message": "m", "type": "server_error", "param": null, "code": "inference_error"});
            play.event(&data(&json!({"error": error})))
        }
        ("terminal without usage", _) => play.event(&generate_end(1, "stop", &[])).event(DONE),
        ("connection lost", _) => play.cut(),
        ("stall", _) => play.stall(),
        _ => play,
    }
}
