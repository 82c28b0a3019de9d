//! Without a shim: is a call that the engine would hold until its model is loaded bridged instead, by the engine's own list?

use serde_json::json;

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::gate::Gate;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "held_calls_are_bridged_instead",
    clause: "an engine that holds calls while it loads is asked for its loaded models first, and only for calls that could be bridged",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const LIST: &str = "/api/ps";
const LOAD: &str = "/api/embed";

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new()
        .preset("ollama")
        .hybrid("org/chat")
        .bridged("org/patient", "hosted", r#"["saturated"]"#)
        .local("org/near");
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.choose(|_| true, |heard| engine::success(Surface::Chat, &heard.model().unwrap_or_default()));
    let list = |models: serde_json::Value| Answer::json(200, &json!({"models": models}).to_string());
    stage.engine.on_path(LIST, list(json!([])));
    let loading = Gate::new();
    stage.engine.on_path(LOAD, Play::default().gate(&loading).then(Answer::json(200, "{}")));

    // These would be served by nobody else: the engine may hold them, and is not even asked what it has loaded.
    for model in ["org/patient", "org/near", "org/unknown"] {
        stage.ask(&chat(model)).await?.is(200)?.local()?;
    }
    stage.ask(&chat("org/chat").field("X-SIE-Remote", "forbid")).await?.is(200)?.local()?;
    same("lists before a call that could be bridged", &asked(&stage, LIST), &0)?;

    stage.ask(&chat("org/chat")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    loading.reached().await?;
    // It is listed as soon as its load begins; our own load says when it ends.
    stage.engine.on_path(LIST, list(json!([{"name": "org/chat", "model": "org/chat"}])));
    for _ in 0..20 {
        stage.ask(&chat("org/chat")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    }
    same("loads", &asked(&stage, LOAD), &1)?;
    holds(asked(&stage, LIST) <= 20, "no list for each call", &asked(&stage, LIST))?;
    loading.open();
    eventually("the engine to serve", || async {
        Ok(stage.ask(&chat("org/chat")).await?.head.field("X-SIE-Served-By").as_deref() == Some("local"))
    })
    .await?;
    unknown(&stage).await.during("a list that is none")
}

/// What is not known is not foreseen.
async fn unknown(stage: &Stage) -> Verdict {
    stage.engine.on_path(LIST, Answer::new(500));
    eventually("the engine to be tried", || async {
        stage.ask(&chat("org/chat")).await?.is(200)?.local()?;
        Ok(asked(stage, LIST) > 2)
    })
    .await
}

fn asked(stage: &Stage, path: &str) -> usize {
    stage.engine.journal().heard().iter().filter(|heard| heard.path() == path).count()
}
