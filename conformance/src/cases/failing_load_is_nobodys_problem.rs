//! When the engine cannot even be asked to load, are its callers served all the same, and is it left in peace?

use std::time::{Duration, Instant};

use serde_json::json;

use crate::case::Case;
use crate::expect::{Verdict, holds};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::patience::eventually;
use crate::stage::sample::Surface;
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "failing_load_is_nobodys_problem",
    clause: "a load-only call that fails or hangs: the upstream serves as ever, one load per model is out at most, and a failed one is tried again only after a pause",
    faults: &["L22"],
    run: |bench| Box::pin(run(bench)),
};

const LOAD: &str = "/models/load";
const MODELS: [&str; 3] = ["org/failing", "org/breaking", "org/hanging"];
/// The first pause after a failed load; every later one is longer.
const PAUSE: Duration = Duration::from_secs(2);
const ROUNDS: usize = 10;

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().preset("llama_cpp_router").engine("max_in_flight = 2");
    let stage = bench.stage(MODELS.iter().fold(setup, |setup, model| setup.hybrid(model))).await?;
    script(&stage);
    let began = Instant::now();
    for _ in 0..ROUNDS {
        for model in MODELS {
            bridged(&stage, model).await?;
        }
    }
    for model in MODELS {
        eventually("a load", || async { Ok(loads(&stage, model) > 0) }).await?;
        // A slow machine may have been given another try; without a pause there would be one for every call.
        let most = 1 + began.elapsed().as_millis() / PAUSE.as_millis();
        let seen = loads(&stage, model);
        holds(seen as u128 <= most, &format!("at most {most} loads of {model}"), &seen)?;
    }
    let mut asked = ROUNDS * MODELS.len();
    while loads(&stage, "org/failing") < 2 {
        holds(began.elapsed() < PAUSE * 10, "another try after the pause", &asked)?;
        bridged(&stage, "org/failing").await?;
        asked += 1;
    }
    holds(loads(&stage, "org/hanging") == 1, "one load that is still out", &loads(&stage, "org/hanging"))?;
    stage.upstream.journal().expect_calls("upstream", asked)?;
    clean(stage, asked).await
}

fn script(stage: &Stage) {
    let refusal = json!({"error": {"code": 400, "message": "model is not loaded", "type": "invalid_request_error"}});
    stage.engine.on_any(Answer::json(400, &refusal.to_string()));
    stage.engine.choose(
        |heard| heard.path() == LOAD,
        |heard| match heard.json()["model"].as_str() {
            Some("org/failing") => Answer::json(500, r#"{"error": {"message": "out of memory"}}"#).into(),
            Some("org/breaking") => Play::reset(),
            _ => Play::hang(),
        },
    );
    stage.upstream.choose(|_| true, upstream::success);
}

async fn bridged(stage: &Stage, model: &str) -> Verdict {
    let answer = stage.ask(&secretive(Surface::Chat, model)).await?;
    answer.is(200)?.remote("hosted", Some("model_loading"))?;
    Ok(())
}

fn loads(stage: &Stage, model: &str) -> usize {
    let calls = stage.engine.journal().calls();
    calls.iter().filter(|heard| heard.path() == LOAD && heard.json()["model"] == model).count()
}
