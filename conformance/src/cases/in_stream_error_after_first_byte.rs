//! How does a stream that has begun fail: in the surface's own way, once and last?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{During, Finding, Findings, Verdict, holds, lacks, same};
use crate::stage::client::Client;
use crate::stage::sample::{DONE, Surface, chat_text, completion_text, data, generate_end, generate_text, request};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "in_stream_error_after_first_byte",
    clause: "a begun stream fails once and last: an error object and no [DONE] on OpenAI surfaces, the terminal event and [DONE] on generate",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn failures(surface: Surface) -> Vec<(&'static str, Play)> {
    let error = json!({"code": "foreign_code", "message": "foreign words"});
    let told = match surface {
        Surface::GenerateStream => generate_end(1, "error", &[("error", error)]),
        _ => data(&json!({"error": error})),
    };
    let mut failures = vec![
        ("a cut", Play::default().cut()),
        ("an early end", Play::default().end()),
        ("an error", Play::default().event(&told).end()),
        ("no JSON", Play::default().event("data: {\"foreign words\n\n").end()),
    ];
    // Native streams state usage whether or not the caller asked for it.
    if matches!(surface, Surface::GenerateStream) {
        failures.push(("no usage", without_usage()));
    }
    failures
}

/// A proper end, but for the usage that every success states.
fn without_usage() -> Play {
    let events = [generate_end(1, "stop", &[]), DONE.to_owned()];
    let stated = |event: &&String| !event.contains("\"usage\"");
    events.iter().filter(stated).fold(Play::default(), |play, event| play.event(event)).end()
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat").bridged("org/sie", "team-sie", "")).await?;
    let surfaces = [
        ("org/chat", Surface::ChatStream, chat_text("vendor/chat", "begun")),
        ("org/chat", Surface::CompletionsStream, completion_text("vendor/chat", "begun")),
        ("org/sie", Surface::GenerateStream, generate_text(0, "begun")),
    ];
    let mut findings = Findings::default();
    for (model, surface, first) in surfaces {
        stage.engine.on_model(model, engine::loading(surface));
        for (name, failure) in failures(surface) {
            stage.upstream.on_any(Play::stream().event(&first).then(failure));
            findings.note(&format!("{surface:?}, {name}"), fails_properly(&stage, surface, model).await);
        }
    }
    findings.verdict()
}

async fn fails_properly(stage: &Stage, surface: Surface, model: &str) -> Verdict {
    let tail = tail(stage, surface, model).await?;
    lacks("the tail", &tail.concat(), "foreign")?;
    if surface == Surface::GenerateStream { native(&tail) } else { openai(&tail) }
}

/// What comes after the first word.
async fn tail(stage: &Stage, surface: Surface, model: &str) -> Verdict<Vec<String>> {
    let mut client: Client = stage.client().await?;
    client.send(request(surface, model).bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    let first = client.event().await?.unwrap_or_default();
    holds(first.contains("begun"), "the first word", &first)?;
    client.events().await
}

fn openai(tail: &[String]) -> Verdict {
    let errors = tail.iter().filter(|event| event.starts_with("data: {\"error\"")).count();
    same("error events", &errors, &1).during(&format!("{tail:?}"))?;
    holds(!tail.iter().any(|event| event.contains("[DONE]")), "no [DONE]", &tail)?;
    let error = &parsed(tail.last().map_or("", String::as_str))?["error"];
    let shaped = error["message"].is_string() && error["type"].is_string() && error["code"].is_string();
    holds(shaped, "an error object with message, type and code", &tail)
}

fn native(tail: &[String]) -> Verdict {
    same("events after the first word", &tail.len(), &2).during(&format!("{tail:?}"))?;
    let end = parsed(&tail[0])?;
    same("done", &end["done"], &Value::Bool(true))?;
    same("finish_reason", &end["finish_reason"], &"error".into())?;
    holds(end["error"]["code"].is_string(), "an error code", &end)?;
    same("the last event", &tail[1], &"data: [DONE]".to_owned())
}

fn parsed(event: &str) -> Verdict<Value> {
    let text = event.strip_prefix("data: ").unwrap_or(event);
    serde_json::from_str(text).map_err(|error| Finding::new(format!("{event:?} is no JSON event: {error}")))
}
