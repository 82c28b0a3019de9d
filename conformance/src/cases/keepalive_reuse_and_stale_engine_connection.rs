//! Are connections to the engine kept, and is a stale one never a caller's problem?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::sample::{Surface, chat};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "keepalive_reuse_and_stale_engine_connection",
    clause: "idle engine connections are reused; one that the engine has closed costs a new connection, and the request runs once",
    faults: &["L10"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat").hybrid("org/cold")).await?;
    for model in ["org/chat", "org/unknown"] {
        stage.engine.on_model(model, engine::success(Surface::Chat, model));
    }
    stage.engine.on_model("org/cold", engine::refusal(Surface::Chat, 503, "QUEUE_FULL", Some("1")));
    reuse(&stage).await.during("reuse")?;
    for round in 0_usize..20 {
        stale(&stage, round).await.during(&format!("stale, round {round}"))?;
    }
    Ok(())
}

/// One caller's calls, refusals among them, share one connection to the engine.
async fn reuse(stage: &Stage) -> Verdict {
    let mut client = stage.client().await?;
    for model in ["org/chat", "org/unknown", "org/cold", "org/chat"] {
        let answer = client.ask(&chat(model)).await?;
        answer.local()?;
    }
    let used: Vec<usize> = stage.engine.journal().calls().iter().map(|heard| heard.connection).collect();
    holds(used.iter().all(|connection| *connection == used[0]), "one connection to the engine", &used)?;
    same("calls", &used.len(), &4)
}

async fn stale(stage: &Stage, round: usize) -> Verdict {
    let before = stage.engine.journal().calls().len();
    let last = stage.engine.journal().calls().last().map_or(0, |heard| heard.connection);
    stage.engine.close_idle();
    // All of them: one that is still being closed may be used, and no proxy could know better.
    let ended = |record: &crate::stage::journal::Record| record.endings.len() == record.connections;
    stage.engine.journal().until("the idle connections to end", ended).await?;
    // What answers has looked at its sockets since: the ends are known there, not only sent.
    stage.sidecar.admin_get("/livez").await?.is(200)?;
    let model = if round.is_multiple_of(2) { "org/chat" } else { "org/unknown" };
    stage.ask(&chat(model)).await?.is(200)?.local()?;
    let calls = stage.engine.journal().calls();
    same("calls of this round", &(calls.len() - before), &1)?;
    holds(calls.last().is_some_and(|heard| heard.connection != last), "a new connection", &last)
}
