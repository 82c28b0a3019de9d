//! Is a field that is not accepted rejected whichever side would serve, and an accepted one never?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::client::Request;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::{GENERATE, Setup, profile};
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "unknown_fields_are_rejected_alike",
    clause: "a field that a surface does not accept is 400 before either side is asked, for hybrid and remote models; accept_params adds to them; a local model is the engine's to judge; a SIE engine judges first",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn with(model: &str, field: &str) -> Request {
    let body = json!({"model": model, "messages": [{"role": "user", "content": "hi"}], field: 1});
    Request::post("/v1/chat/completions", &body.to_string())
}

fn param(received: &crate::stage::client::Received) -> Verdict<Value> {
    Ok(received.json()?["error"]["param"].clone())
}

async fn run(bench: Bench) -> Verdict {
    let accepting = format!(
        "[models.\"org/open\"]\naccept_params = [\"guided_choice\"]\n{GENERATE}\n{}\n\
         routing = {{ policy = \"fallback\", fallback_profile = \"remote\" }}",
        profile("remote", "hosted", "vendor/open"),
    );
    let setup = Setup::new()
        .preset("vllm")
        .hybrid("org/chat")
        .remote_only("org/far", "hosted")
        .local("org/near")
        .table(&accepting);
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    for model in ["org/chat", "org/near", "org/open"] {
        stage.engine.on_model(model, engine::success(Surface::Chat, model));
    }
    for model in ["org/chat", "org/far"] {
        let received = stage.ask(&with(model, "guided_choice")).await?;
        received.is(400)?.openai_code("unsupported_field")?.undisclosed()?;
        same("param", &param(&received)?, &json!("guided_choice"))?;
    }
    stage.engine.journal().expect_calls("engine", 0)?;
    stage.upstream.journal().expect_calls("upstream", 0)?;
    stage.ask(&with("org/open", "guided_choice")).await?.is(200)?.local()?;
    stage.ask(&with("org/near", "guided_choice")).await?.is(200)?.local()?;
    stage.ask(&chat("org/chat")).await?.is(200)?.local()?;
    stage.ask(&chat("org/far")).await?.is(200)?.remote("hosted", None)?;
    behind_sie(bench).await
}

/// A SIE engine has judged the fields before it refuses: it is asked first, and its refusal stands when we would not send the call on.
async fn behind_sie(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.on_model("org/chat", engine::loading(Surface::Chat));
    let refused = stage.ask(&with("org/chat", "guided_choice")).await?;
    refused.is(503)?.openai_code("MODEL_LOADING")?.restored("model_loading", "INVALID_INPUT", "unsupported")?;
    stage.upstream.journal().expect_calls("upstream", 0)?;
    stage.ask(&request(Surface::Chat, "org/chat")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    Ok(())
}
