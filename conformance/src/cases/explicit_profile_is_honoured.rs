//! Is a profile that the caller names served as written?

use serde_json::json;

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::client::Request;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "explicit_profile_is_honoured",
    clause: "model:profile, or a string options.profile, is served as written; a policy applies to the bare name only",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn with_profile(profile: &str) -> Request {
    let body = json!({"prompt": "hi", "max_new_tokens": 16, "options": {"profile": profile}});
    Request::post("/v1/generate/org__sie", &body.to_string())
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench
        .stage(Setup::new().hybrid("org/chat").bridged("org/sie", "team-sie", "").remote_only("org/away", "team-sie"))
        .await?;
    stage.upstream.choose(|_| true, upstream::success);
    for model in ["org/chat", "org/chat:default", "org/sie", "org/sie:default"] {
        let surface = if model.starts_with("org/sie") { Surface::Generate } else { Surface::Chat };
        stage.engine.on_model(model, engine::loading(surface));
    }
    // The remote profile: the engine is not asked.
    stage.ask(&chat("org/chat:remote")).await?.is(200)?.remote("hosted", None)?;
    stage.ask(&request(Surface::Generate, "org/sie:remote")).await?.is(200)?.remote("team-sie", None)?;
    stage.ask(&with_profile("remote")).await?.is(200)?.remote("team-sie", None)?;
    stage.engine.journal().expect_calls("engine", 0)?;
    stage.upstream.journal().expect_calls("upstream", 3)?;
    // The local profile: no bridge.
    stage.ask(&chat("org/chat:default")).await?.is(503)?.openai_code("MODEL_LOADING")?.local()?;
    stage.ask(&with_profile("default")).await?.is(503)?.native_code("MODEL_LOADING")?.local()?;
    stage.engine.journal().expect_calls("engine", 2)?;
    stage.upstream.journal().expect_calls("upstream", 3)?;
    // No engine has other profiles of a remote-only model.
    let away = json!({"prompt": "hi", "max_new_tokens": 16, "options": {"profile": "nobody"}});
    let answer = stage.ask(&Request::post("/v1/generate/org__away", &away.to_string())).await?;
    answer.is(400)?.native_code("INVALID_INPUT")?.undisclosed()?;
    stage.engine.journal().expect_calls("engine", 2)?;
    // The bare name: the policy.
    stage.ask(&chat("org/chat")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    let models: Vec<_> = stage.upstream.journal().calls().iter().map(crate::stage::journal::Heard::model).collect();
    same("what the upstream was asked for first", &models[0].as_deref(), &Some("vendor/chat"))
}
