//! Does the sidecar finish what it has begun before it ends?

use crate::case::Case;
use crate::expect::{During, Verdict, contains, lacks, same};
use crate::stage::Bench;
use crate::stage::aftermath::{lines, secretive, secrets};
use crate::stage::engine;
use crate::stage::gate::Gate;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat_events, chat_text};
use crate::stage::script::Play;
use crate::stage::setup::Setup;

/// The case.
pub(super) const CASE: Case = Case {
    name: "sigterm_drains",
    clause: "SIGTERM or SIGINT: /readyz is 503 while streams finish, idle connections are closed, then the process ends with 0; a second one ends it at once, also with 0",
    faults: &["X4"],
    run: |bench| Box::pin(run(bench)),
};

const DRAIN: &str = "[drain]\nlame_duck_s = 0\nmax_s = 60";

async fn run(bench: Bench) -> Verdict {
    busy(&bench, "TERM").await.during("with a stream")?;
    busy(&bench, "INT").await.during("with a stream, SIGINT")?;
    idle(&bench).await.during("idle")?;
    for (first, second) in [("TERM", "TERM"), ("TERM", "INT"), ("INT", "TERM"), ("INT", "INT")] {
        impatient(&bench, first, second).await.during(&format!("{first}, then {second}"))?;
    }
    Ok(())
}

async fn busy(bench: &Bench, signal: &str) -> Verdict {
    let mut stage = bench.stage(Setup::new().table(DRAIN)).await?;
    let gate = Gate::new();
    let play = Play::stream().event(&chat_text("m", "begun")).gate(&gate);
    let play = chat_events("m", &["finished"]).iter().fold(play, |play, event| play.event(event)).end();
    stage.engine.on_model("org/chat", play);
    stage.engine.on_model("org/quick", engine::success(Surface::Chat, "org/quick"));
    let mut idle = stage.client().await?;
    idle.ask(&secretive(Surface::Chat, "org/quick")).await?.is(200)?;
    let mut client = stage.client().await?;
    client.send(secretive(Surface::ChatStream, "org/chat").bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    client.event().await?;

    stage.sidecar.signal(signal)?;
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
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    stage.engine.journal().expect_calls("engine", 2)?;
    lines(&stage, 2)?;
    secrets(&stage)
}

/// Two signals: streams are cut, each with its access line, and nothing is run again.
async fn impatient(bench: &Bench, first: &str, second: &str) -> Verdict {
    let mut stage = bench.stage(Setup::new().table(DRAIN).hybrid("org/cold")).await?;
    stage.engine.on_model("org/chat", Play::stream().event(&chat_text("m", "begun")).stall());
    stage.engine.on_model("org/cold", engine::loading(Surface::ChatStream));
    stage.upstream.on_any(Play::stream().event(&chat_text("vendor/cold", "begun")).stall());
    let mut clients = Vec::new();
    for model in ["org/chat", "org/cold"] {
        let mut client = stage.client().await?;
        client.send(secretive(Surface::ChatStream, model).bytes()).await?;
        same("the status", &client.head().await?.status(), &200)?;
        client.event().await?;
        clients.push(client);
    }
    stage.sidecar.signal(first)?;
    stage.sidecar.says("draining").await?;
    stage.sidecar.signal(second)?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    for client in &mut clients {
        lacks("a cut stream", &client.events().await?.concat(), "[DONE]")?;
    }
    stage.engine.journal().expect_calls("engine", 2)?;
    stage.upstream.journal().expect_calls("upstream", 1)?;
    lines(&stage, 2)?;
    let cut = stage.sidecar.access_lines().iter().filter(|line| line["ended"] == "cut_off").count();
    same("lines that say so", &cut, &2)?;
    secrets(&stage)
}

async fn idle(bench: &Bench) -> Verdict {
    let mut stage = bench.stage(Setup::new().table(DRAIN)).await?;
    stage.sidecar.terminate()?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))
}
