//! Is an upstream's answer checked before the caller gets any of it?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Findings, Verdict, same};
use crate::stage::sample::{Surface, chat};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "invalid_upstream_answer_restores",
    clause: "an upstream's answer is bounded and validated whole: an invalid one restores the refusal with INFERENCE_ERROR",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn valid() -> Value {
    json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
}

fn changed(path: &str, value: Value) -> String {
    let mut answer = valid();
    if let Some(place) = answer.pointer_mut(path) {
        *place = value;
    }
    answer.to_string()
}

fn bodies() -> Vec<(&'static str, String)> {
    let two = json!([valid()["choices"][0], {"index": 1, "message": {"role": "assistant", "content": "b"}, "finish_reason": "stop"}]);
    vec![
        ("no JSON", "certainly".to_owned()),
        ("half", valid().to_string()[..60].to_owned()),
        ("trailing", valid().to_string() + "{}"),
        ("a list", "[]".to_owned()),
        ("error object", json!({"error": {"message": "slow", "type": "t", "code": "odd"}}).to_string()),
        ("no choices", changed("/choices", json!([]))),
        ("two choices", changed("/choices", two)),
        ("usage null", changed("/usage", Value::Null)),
        ("usage sum", changed("/usage/total_tokens", json!(9))),
        ("usage negative", changed("/usage/prompt_tokens", json!(-1))),
        ("usage text", changed("/usage/prompt_tokens", json!("1"))),
        ("finish", changed("/choices/0/finish_reason", json!("because"))),
        ("no finish", changed("/choices/0/finish_reason", Value::Null)),
    ]
}

fn odd() -> Vec<(&'static str, Play)> {
    let whole = valid().to_string();
    let cut = Play::raw(Answer::json(200, "").field("Content-Length", "5000").head()).send(whole.clone()).cut();
    vec![
        ("content type", Answer::new(200).field("Content-Type", "text/html").body(&whole).into()),
        ("coding", Answer::json(200, &whole).field("Content-Encoding", "gzip").into()),
        ("cut", cut),
        ("stream instead", Play::events(&[format!("data: {whole}\n\n")])),
        ("204", Answer::new(204).into()),
    ]
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat")).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    stage.upstream.on_any(Answer::json(200, &valid().to_string()));
    stage.ask(&chat("org/chat")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    let plays = bodies().into_iter().map(|(name, body)| (name, Play::from(Answer::json(200, &body))));
    let plays: Vec<_> = plays.chain(odd()).collect();
    let count = plays.len();
    let mut findings = Findings::default();
    for (name, play) in plays {
        stage.upstream.on_any(play);
        findings.note(name, restored(&stage, fallback_error(name)).await);
    }
    findings.verdict()?;
    same("calls to the upstream", &stage.upstream.journal().calls().len(), &(count + 1))
}

async fn restored(stage: &Stage, error: &str) -> Verdict {
    let answer = stage.ask(&chat("org/chat")).await?;
    let body = engine::error_body(Surface::Chat, 503, "MODEL_LOADING");
    answer.is(503)?.carries(body.as_bytes())?.restored_with("model_loading", error)?;
    Ok(())
}

/// A connection that breaks says that the upstream is unavailable; everything else is a final failure.
fn fallback_error(name: &str) -> &'static str {
    if name == "cut" { "QUEUE_FULL" } else { "INFERENCE_ERROR" }
}
