//! When a hand-over does not go as it should, is there still one process that serves, and not two for good?

use crate::case::Case;
use crate::expect::{During, Verdict, contains, holds, lacks, same};
use crate::stage::aftermath::{clean, lines, secretive, secrets};
use crate::stage::client::Client;
use crate::stage::gate::Gate;
use crate::stage::sample::{Surface, chat_events, chat_text};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::sidecar::Sidecar;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "hot_restart_is_agreed",
    clause: "a new process that comes late ends with 1 and serves nothing, one that is told to end leaves no file; after SIGQUIT one SIGTERM hurries, two cut",
    faults: &["X5"],
    run: |bench| Box::pin(run(bench)),
};

const DRAIN: &str = "[drain]\nmax_s = 60";
const QUICK: &str = "org/quick";
const STREAMED: &str = "org/chat";

async fn run(bench: Bench) -> Verdict {
    late(&bench).await.during("late")?;
    waiting(&bench).await.during("waiting")?;
    hurried(&bench).await.during("one SIGTERM")?;
    impatient(&bench).await.during("two signals")
}

async fn stage(bench: &Bench) -> Verdict<Stage> {
    let stage = bench.stage(Setup::new().table(DRAIN)).await?;
    stage.engine.on_model(QUICK, engine::success(Surface::Chat, QUICK));
    Ok(stage)
}

/// A new process that waits, and where.
async fn successor(stage: &Stage) -> Verdict<(Sidecar, std::path::PathBuf)> {
    let new = stage.successor()?;
    new.says("waiting for the running process").await?;
    let said = new.stderr();
    let mut said = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let at = said.find_map(|line| line["at"].as_str().map(std::path::PathBuf::from)).unwrap_or_default();
    Ok((new, at))
}

/// The new process does not run when it is handed the sockets, until the old one has given it up.
async fn late(bench: &Bench) -> Verdict {
    let stage = stage(bench).await?;
    let (mut new, at) = successor(&stage).await?;
    new.signal("STOP")?;
    stage.sidecar.signal("QUIT")?;
    stage.sidecar.says("nobody took over").await?;
    new.signal("CONT")?;
    same("the exit code of the new process", &new.exit().await?.code(), &Some(1))?;
    contains("what it says", &new.stderr(), "had stopped waiting for this one")?;
    lacks("what it says", &new.stderr(), "listening")?;
    holds(!at.exists(), "no file left", &at)?;
    stage.ask(&secretive(Surface::Chat, QUICK)).await?.is(200)?.local()?;
    // The next one is not late.
    let (mut new, _) = successor(&stage).await?;
    stage.sidecar.signal("QUIT")?;
    new.up().await?;
    new.terminate()?;
    same("the exit code of the next process", &new.exit().await?.code(), &Some(0))
}

async fn waiting(bench: &Bench) -> Verdict {
    let stage = stage(bench).await?;
    let (mut new, at) = successor(&stage).await?;
    holds(at.exists(), "a file where it waits", &at)?;
    new.terminate()?;
    same("the exit code", &new.exit().await?.code(), &Some(0))?;
    holds(!at.exists(), "no file left", &at)?;
    stage.ask(&secretive(Surface::Chat, QUICK)).await?.is(200)?.local()?;
    clean(stage, 1).await
}

/// A stage whose process has handed over with a stream and an idle connection on its hands.
async fn handed_over(bench: &Bench, stream: Play) -> Verdict<(Stage, Sidecar, Client, Client)> {
    let stage = stage(bench).await?;
    stage.engine.on_model(STREAMED, stream);
    let mut idle = stage.client().await?;
    idle.ask(&secretive(Surface::Chat, QUICK)).await?.is(200)?;
    let mut client = stage.client().await?;
    client.send(secretive(Surface::ChatStream, STREAMED).bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    client.event().await?;
    let (mut new, _) = successor(&stage).await?;
    stage.sidecar.signal("QUIT")?;
    new.up().await?;
    stage.sidecar.says("draining").await?;
    Ok((stage, new, idle, client))
}

async fn hurried(bench: &Bench) -> Verdict {
    let gate = Gate::new();
    let play = Play::stream().event(&chat_text("m", "begun")).gate(&gate);
    let play = chat_events("m", &["finished"]).iter().fold(play, |play, event| play.event(event)).end();
    let (mut stage, _new, mut idle, mut client) = handed_over(bench, play).await?;
    stage.sidecar.terminate()?;
    idle.ended().await.during("the idle connection")?;
    gate.open();
    let rest = client.events().await?.concat();
    contains("the rest of the stream", &rest, "finished")?;
    contains("the rest of the stream", &rest, "[DONE]")?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    lacks("stderr", &stage.sidecar.stderr(), "cut")?;
    lines(&stage, 2)?;
    secrets(&stage)
}

async fn impatient(bench: &Bench) -> Verdict {
    let play = Play::stream().event(&chat_text("m", "begun")).stall();
    let (mut stage, _new, mut idle, mut client) = handed_over(bench, play).await?;
    stage.sidecar.terminate()?;
    idle.ended().await.during("the idle connection")?;
    stage.sidecar.signal("INT")?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    lacks("a cut stream", &client.events().await?.concat(), "[DONE]")?;
    lines(&stage, 2)?;
    secrets(&stage)
}
