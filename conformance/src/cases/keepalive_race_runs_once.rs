//! When the engine closes an idle connection just as a request is written to it, does that request run once at most?

use std::collections::BTreeMap;

use crate::case::Case;
use crate::expect::{During, Verdict, holds};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::sample::Surface;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "keepalive_race_runs_once",
    clause: "an idle connection that the engine closes as a request is written: served on a new one, or 502 ENGINE_RESET; never run twice, never bridged",
    faults: &["L10"],
    run: |bench| Box::pin(run(bench)),
};

const ALL_TRIGGERS: &str = r#"["provisioning", "model_loading", "saturated", "unhealthy"]"#;
const MODEL: &str = "org/chat";
const ROUNDS: usize = 400;

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().engine("max_in_flight = 2").bridged(MODEL, "hosted", ALL_TRIGGERS);
    let stage = bench.stage(setup).await?;
    stage.engine.on_model(MODEL, engine::success(Surface::Chat, MODEL));
    stage.upstream.choose(|_| true, upstream::success);
    let mut seen: BTreeMap<u16, usize> = BTreeMap::new();
    for round in 0..ROUNDS {
        let status = race(&stage, round).await.during(&format!("round {round}"))?;
        *seen.entry(status).or_default() += 1;
    }
    let served = seen.get(&200).copied().unwrap_or_default();
    holds(served > ROUNDS / 2, "most requests to be served all the same", &seen)?;
    let connections = stage.engine.journal().record().connections;
    holds(connections > ROUNDS / 10, "connections to be closed again and again", &connections)?;
    stage.upstream.journal().expect_calls("upstream", 0)?;
    clean(stage, ROUNDS).await
}

/// One request while the idle connections are being closed, a little earlier or later each time.
async fn race(stage: &Stage, round: usize) -> Verdict<u16> {
    let before = stage.engine.journal().record().heard.len();
    let request = secretive(Surface::Chat, MODEL);
    let closing = async {
        for _ in 0..round % 16 {
            tokio::task::yield_now().await;
        }
        stage.engine.close_idle();
    };
    let (answer, ()) = tokio::join!(stage.ask(&request), closing);
    let answer = answer?;
    let runs = stage.engine.journal().record().heard.len() - before;
    let status = answer.head.status();
    if status == 200 {
        answer.local()?;
        holds(runs == 1, "a served request to have run once", &runs)?;
    } else {
        answer.is(502)?.openai_code("ENGINE_RESET")?.local()?;
        holds(runs <= 1, "a broken request to have run once at most", &runs)?;
    }
    Ok(status)
}
