//! Does the sidecar finish what it has begun before it ends?

use crate::case::Case;
use crate::expect::{During, Verdict, contains, same};
use crate::stage::Bench;
use crate::stage::engine;
use crate::stage::gate::Gate;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat, chat_events, chat_text, request};
use crate::stage::script::Play;
use crate::stage::setup::Setup;

/// The case.
pub(super) const CASE: Case = Case {
    name: "sigterm_drains",
    clause: "SIGTERM: /readyz is 503 while streams finish, idle connections are closed, then the process ends with 0",
    run: |bench| Box::pin(run(bench)),
};

const DRAIN: &str = "[drain]\nlame_duck_s = 0\nmax_s = 60";

async fn run(bench: Bench) -> Verdict {
    busy(&bench).await.during("with a stream")?;
    idle(&bench).await.during("idle")
}

async fn busy(bench: &Bench) -> Verdict {
    let mut stage = bench.stage(Setup::new().table(DRAIN)).await?;
    let gate = Gate::new();
    let play = Play::stream().event(&chat_text("m", "begun")).gate(&gate);
    let play = chat_events("m", &["finished"]).iter().fold(play, |play, event| play.event(event)).end();
    stage.engine.on_model("org/chat", play);
    stage.engine.on_model("org/quick", engine::success(Surface::Chat, "org/quick"));
    let mut idle = stage.client().await?;
    idle.ask(&chat("org/quick")).await?.is(200)?;
    let mut client = stage.client().await?;
    client.send(request(Surface::ChatStream, "org/chat").bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    client.event().await?;

    stage.sidecar.terminate()?;
    let sidecar = &stage.sidecar;
    eventually("/readyz to say that it drains", || async {
        Ok(sidecar.admin_get("/readyz").await?.head.status() == 503)
    })
    .await?;
    idle.ended().await.during("the idle connection")?;
    gate.open();
    let rest = client.events().await?;
    contains("the rest of the stream", &rest.concat(), "finished")?;
    contains("the rest of the stream", &rest.concat(), "[DONE]")?;
    client.ended().await.during("the finished connection")?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))
}

async fn idle(bench: &Bench) -> Verdict {
    let mut stage = bench.stage(Setup::new().table(DRAIN)).await?;
    stage.sidecar.terminate()?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))
}
