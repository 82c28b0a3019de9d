//! When the process is killed in the middle of its work, does the next one start at once, and start nothing over?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::sample::{Surface, chat_text};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "sigkill_leaves_nothing_stale",
    clause: "after SIGKILL the same addresses, TCP or Unix, serve again at once; what was in flight is cut and not run again",
    faults: &["X6"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    killed(&bench, Setup::new()).await.during("TCP")?;
    killed(&bench, Setup::new().unix()).await.during("Unix sockets")
}

async fn killed(bench: &Bench, setup: Setup) -> Verdict {
    let setup = setup.engine("max_in_flight = 4").hybrid("org/stream").hybrid("org/whole").hybrid("org/cold");
    let mut stage = bench.stage(setup).await?;
    stage.engine.on_model("org/stream", Play::stream().event(&chat_text("m", "begun")).stall());
    stage.engine.on_model("org/whole", Play::hang());
    stage.engine.on_model("org/cold", engine::loading(Surface::Chat));
    stage.upstream.on_any(Play::hang());
    let mut stream = stage.client().await?;
    stream.send(secretive(Surface::ChatStream, "org/stream").bytes()).await?;
    same("the status", &stream.head().await?.status(), &200)?;
    stream.event().await?;
    let mut whole = stage.client().await?;
    whole.send(secretive(Surface::Chat, "org/whole").bytes()).await?;
    let mut bridged = stage.client().await?;
    bridged.send(secretive(Surface::Chat, "org/cold").bytes()).await?;
    stage
        .engine
        .journal()
        .until("the call", |record| record.heard.iter().filter(|heard| heard.head.method() == "POST").count() == 3)
        .await?;
    stage.upstream.journal().until("the bridged call", |record| !record.heard.is_empty()).await?;

    stage.sidecar.signal("KILL")?;
    holds(stage.sidecar.exit().await?.code().is_none(), "a killed process", &())?;
    for client in [&mut stream, &mut whole, &mut bridged] {
        same("what comes after the kill", &client.ended().await?, &Vec::new())?;
    }
    let (front, admin) = (stage.sidecar.front().clone(), stage.sidecar.admin().clone());
    stage.restart().await?;
    same("the front", stage.sidecar.front(), &front)?;
    same("the admin address", stage.sidecar.admin(), &admin)?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.on_model("org/whole", engine::success(Surface::Chat, "org/whole"));
    stage.ask(&secretive(Surface::Chat, "org/whole")).await?.is(200)?.local()?;
    stage.ask(&secretive(Surface::Chat, "org/cold")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    // Three calls before, two after, and none of the first three again.
    stage.engine.journal().expect_calls("engine", 5)?;
    stage.upstream.journal().expect_calls("upstream", 2)?;
    clean(stage, 2).await
}
