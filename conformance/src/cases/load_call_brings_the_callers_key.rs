//! Is an engine that asks for a key asked for a load with the key of the call that wants it, and with nothing else of that call?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;

use crate::case::Case;
use crate::expect::{Verdict, holds, lacks};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::journal::Heard;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "load_call_brings_the_callers_key",
    clause: "the load call of an engine that asks for a key carries the caller's Authorization and no other line of it, and the key is not written down",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const LOAD: &str = "/models/load";

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().preset("llama_cpp_router").hybrid("org/chat").hybrid("org/keyless")).await?;
    script(&stage);
    let keyed = || secretive(Surface::Chat, "org/chat").field("Cookie", "session=1");
    stage.ask(&keyed()).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    let asked = AtomicUsize::new(1);
    eventually("the engine to serve", || async {
        asked.fetch_add(1, Ordering::Relaxed);
        Ok(stage.ask(&keyed()).await?.head.field("X-SIE-Served-By").as_deref() == Some("local"))
    })
    .await?;
    for load in loads(&stage, "org/chat") {
        holds(has_key(&load) && load.head.field("Cookie").is_none(), "the key and nothing else", &load.head.start())?;
    }
    lacks("stderr", &stage.sidecar.stderr(), "asked for a load in vain")?;

    // Nobody brings a key: the log says what is missing.
    stage.ask(&chat("org/keyless")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    stage.sidecar.says("asked for a load in vain: the engine asks for a key").await?;
    // The engine's own answer tells the caller.
    eventually("the engine's own answer", || async {
        asked.fetch_add(1, Ordering::Relaxed);
        Ok(stage.ask(&chat("org/keyless")).await?.head.status() == 401)
    })
    .await?;
    clean(stage, asked.into_inner() + 1).await
}

/// llama-server with `--api-key`: everybody may see its models.
fn script(stage: &Stage) {
    let loaded = Arc::new(AtomicBool::new(false));
    let listed = Arc::clone(&loaded);
    let locked = || Play::from(Answer::json(401, r#"{"error":{"message":"Invalid API Key","code":401}}"#));
    stage.engine.choose(
        |heard| heard.path().starts_with("/v1/chat"),
        move |heard| if has_key(heard) { engine::success(Surface::Chat, "org/chat") } else { locked() },
    );
    stage.engine.choose(
        |heard| heard.path() == LOAD,
        move |heard| {
            if !has_key(heard) {
                return locked();
            }
            loaded.store(true, Ordering::SeqCst);
            Answer::json(200, r#"{"success":true}"#).into()
        },
    );
    stage.engine.choose(
        |heard| heard.path() == "/models",
        move |_| {
            let state = if listed.load(Ordering::SeqCst) { "loaded" } else { "unloaded" };
            let model = |name: &str, state: &str| json!({"id": name, "status": {"value": state}});
            let models = [model("org/chat", state), model("org/keyless", "unloaded")];
            Answer::json(200, &json!({ "data": models }).to_string()).into()
        },
    );
    stage.upstream.choose(|_| true, upstream::success);
}

fn has_key(heard: &Heard) -> bool {
    heard.head.field("Authorization").is_some()
}

fn loads(stage: &Stage, model: &str) -> Vec<Heard> {
    let calls = stage.engine.journal().heard_of(model);
    calls.into_iter().filter(|heard| heard.path() == LOAD).collect()
}
