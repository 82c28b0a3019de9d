//! Without a shim: does an engine that cannot be asked for a load get the call itself, and load the model by it?

use std::time::{Duration, Instant};

use serde_json::json;

use crate::case::Case;
use crate::expect::{Verdict, contains, holds};
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat};
use crate::stage::script::Answer;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "failed_load_is_left_to_the_engine",
    clause: "while a failed load has its pause, calls for that model go to the engine, which loads it itself; the log says so once in each pause",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const LOAD: &str = "/api/v1/models/load";
/// The first pause after a failed load; every later one is longer.
const PAUSE: Duration = Duration::from_secs(2);

async fn run(bench: Bench) -> Verdict {
    // An LM Studio from before it had the load call.
    let stage = bench.stage(Setup::new().preset("lm_studio").hybrid("org/chat")).await?;
    let list = json!({"object": "list", "data": [{"id": "org/chat", "object": "model", "state": "not-loaded"}]});
    stage.engine.on_path("/v1/chat/completions", engine::success(Surface::Chat, "org/chat"));
    stage.engine.on_path("/api/v0/models", Answer::json(200, &list.to_string()));
    stage.engine.on_path(LOAD, Answer::json(404, r#"{"error":"Unexpected endpoint or method."}"#));
    stage.upstream.choose(|_| true, upstream::success);

    let began = Instant::now();
    stage.ask(&chat("org/chat")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    eventually("the engine to get the call", || async {
        Ok(stage.ask(&chat("org/chat")).await?.is(200)?.head.field("X-SIE-Served-By").as_deref() == Some("local"))
    })
    .await?;
    stage.sidecar.says("asked for a load in vain").await?;
    let (warned, loads) = (warnings(&stage), loads(&stage));
    // After both were read: a slow machine may have been given another try.
    let most = 1 + began.elapsed().as_millis() / PAUSE.as_millis();
    holds(warned.len() as u128 <= most && loads as u128 <= most, "one try and one line in each pause", &warned)?;
    contains("the warning", &warned[0], r#""level":"WARN""#)?;
    contains("the warning", &warned[0], r#""status":404"#)?;
    contains("the warning", &warned[0], "the engine has no such call")
}

fn warnings(stage: &Stage) -> Vec<String> {
    let said = stage.sidecar.stderr();
    said.lines().filter(|line| line.contains("asked for a load")).map(str::to_owned).collect()
}

fn loads(stage: &Stage) -> usize {
    stage.engine.journal().heard().iter().filter(|heard| heard.path() == LOAD).count()
}
