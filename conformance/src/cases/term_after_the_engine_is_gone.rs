//! When the engine ends first, as the main container of a pod does, does its sidecar follow in peace?

use crate::case::Case;
use crate::expect::{During, Verdict, contains, same};
use crate::stage::aftermath::{clean, lines, secretive, secrets};
use crate::stage::gate::Gate;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat_events, chat_text};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "term_after_the_engine_is_gone",
    clause: "SIGTERM after the engine has ended: what an upstream still streams is finished, then the process ends with 0",
    faults: &["X9"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    idle(&bench).await.during("idle")?;
    streaming(&bench).await.during("with a stream")
}

async fn idle(bench: &Bench) -> Verdict {
    let mut stage = bench.stage(Setup::new().engine("max_in_flight = 2").hybrid("org/chat")).await?;
    stage.engine.on_model("org/chat", engine::success(Surface::Chat, "org/chat"));
    stage.ask(&secretive(Surface::Chat, "org/chat")).await?.is(200)?.local()?;
    stage.engine.stop().await?;
    clean(stage, 1).await
}

async fn streaming(bench: &Bench) -> Verdict {
    let mut stage = bench.stage(Setup::new().engine("max_in_flight = 2").hybrid("org/cold")).await?;
    let gate = Gate::new();
    let play = Play::stream().event(&chat_text("vendor/cold", "begun")).gate(&gate);
    let play = chat_events("vendor/cold", &["finished"]).iter().fold(play, |play, event| play.event(event)).end();
    stage.engine.on_model("org/cold", engine::loading(Surface::ChatStream));
    stage.upstream.on_any(play);
    let mut client = stage.client().await?;
    client.send(secretive(Surface::ChatStream, "org/cold").bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    client.event().await?;
    stage.engine.stop().await?;
    stage.sidecar.terminate()?;
    let sidecar = &stage.sidecar;
    eventually("/readyz to say that it drains", || async {
        Ok(sidecar.admin_get("/readyz").await?.head.status() == 503)
    })
    .await?;
    gate.open();
    let rest = client.events().await?.concat();
    contains("the rest of the stream", &rest, "finished")?;
    contains("the rest of the stream", &rest, "[DONE]")?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    stage.engine.journal().expect_calls("engine", 1)?;
    stage.upstream.journal().expect_calls("upstream", 1)?;
    lines(&stage, 1)?;
    secrets(&stage)
}
