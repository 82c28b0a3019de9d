//! Does a stream's success wait for content?

use serde_json::json;

use crate::case::Case;
use crate::expect::{Findings, Verdict, contains};
use crate::stage::sample::{
    DONE, Surface, chat_events, chat_finish, chat_role, chat_text, completion_text, data, generate_end, generate_text,
    request,
};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "stream_primes_on_content",
    clause: "a stream's HTTP success waits for content or a valid end: comments, roles, empty text and lifecycle events do not commit",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// Events that are no content, by surface.
fn meta(surface: Surface) -> Vec<String> {
    let model = "vendor/chat";
    let mut events: Vec<String> = [": working\n\n", ":\n\n", "retry: 1500\n\n", "id: 7\n\n"].map(str::to_owned).into();
    match surface {
        Surface::ChatStream => {
            events.push(chat_role(model));
            events.push(chat_text(model, ""));
            events.push(data(&json!({"id": "", "choices": [], "prompt_filter_results": []})));
            events.push(data(&json!({"id": "x", "model": model, "choices": [], "usage": null})));
            events.push(data(
                &json!({"id": "x", "model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": null}]}),
            ));
        }
        Surface::CompletionsStream => events.push(completion_text(model, "")),
        _ => events.push(generate_text(0, "")),
    }
    events
}

fn failures() -> Vec<(&'static str, Play)> {
    vec![
        ("the end", Play::default().end()),
        ("[DONE]", Play::default().event(DONE).end()),
        ("a cut", Play::default().cut()),
        (
            "an error",
            Play::default().event(&data(&json!({"error": {"message": "m", "type": "t", "code": "odd"}}))).end(),
        ),
        ("no JSON", Play::default().event("data: {\"choices\"\n\n").end()),
    ]
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat").bridged("org/sie", "team-sie", "")).await?;
    let surfaces = [
        ("org/chat", Surface::ChatStream),
        ("org/chat", Surface::CompletionsStream),
        ("org/sie", Surface::GenerateStream),
    ];
    let mut findings = Findings::default();
    for (model, surface) in surfaces {
        stage.engine.on_model(model, engine::loading(surface));
        for (name, failure) in failures() {
            let play = meta(surface).iter().fold(Play::stream(), |play, event| play.event(event)).then(failure);
            stage.upstream.on_any(play);
            // A broken connection says that the upstream is unavailable; everything else is a final failure.
            let busy = if surface == Surface::ChatStream { "QUEUE_FULL" } else { "RESOURCE_EXHAUSTED" };
            let error = if name == "a cut" { busy } else { "INFERENCE_ERROR" };
            findings.note(&format!("{surface:?}, then {name}"), restored(&stage, surface, model, error).await);
        }
    }
    findings.note("content after all that", content_after_meta(&stage).await);
    findings.note("a valid end without content", valid_end_alone(&stage).await);
    findings.verdict()
}

async fn restored(stage: &Stage, surface: Surface, model: &str, error: &str) -> Verdict {
    let answer = stage.ask(&request(surface, model)).await?;
    answer.is(503)?.with("Retry-After", "5")?.restored_with("model_loading", error)?;
    Ok(())
}

async fn content_after_meta(stage: &Stage) -> Verdict {
    let events = [meta(Surface::ChatStream), chat_events("vendor/chat", &["here it is"])].concat();
    stage.upstream.on_any(Play::events(&events));
    let answer = stage.ask(&request(Surface::ChatStream, "org/chat")).await?;
    answer.is(200)?.remote("hosted", Some("model_loading"))?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    contains("the stream", &text, "here it is")?;
    contains("the stream", &text, "data: [DONE]")
}

async fn valid_end_alone(stage: &Stage) -> Verdict {
    let events = [vec![chat_role("vendor/chat")], chat_finish("vendor/chat")].concat();
    stage.upstream.on_any(Play::events(&events));
    let answer = stage.ask(&request(Surface::ChatStream, "org/chat")).await?;
    answer.is(200)?.remote("hosted", Some("model_loading"))?;
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3});
    stage.upstream.on_any(Play::events(&[generate_end(0, "stop", &[("usage", usage)]), DONE.to_owned()]));
    let answer = stage.ask(&request(Surface::GenerateStream, "org/sie")).await?;
    answer.is(200)?.remote("team-sie", Some("model_loading"))?;
    Ok(())
}
