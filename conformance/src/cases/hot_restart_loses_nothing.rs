//! When one process takes the place of another, does any caller notice?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::task::JoinSet;

use crate::case::Case;
use crate::expect::{During, Finding, Verdict, contains, same};
use crate::stage::aftermath::{lines, secretive, secrets};
use crate::stage::client::Client;
use crate::stage::gate::Gate;
use crate::stage::patience::eventually;
use crate::stage::pipe::Address;
use crate::stage::sample::{Surface, chat_events, chat_text};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::sidecar::Sidecar;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "hot_restart_loses_nothing",
    clause: "SIGQUIT hands the listening sockets, TCP or Unix, to `run --upgrade`: no request fails, streams finish where they began, the old process ends with 0",
    faults: &["X5"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    restart(&bench, Setup::new()).await.during("TCP")?;
    restart(&bench, Setup::new().unix()).await.during("Unix sockets")?;
    restart(&bench, Setup::new().listen("fast_lane = false")).await.during("the full lane alone")
}

/// Callers that never pause, two with a connection for each request and two that keep theirs.
struct Crowd {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    callers: JoinSet<Verdict>,
}

impl Crowd {
    fn start(front: &Address) -> Self {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut callers = JoinSet::new();
        for keeps in [true, false, true, false] {
            callers.spawn(call(front.clone(), keeps, Arc::clone(&stop), Arc::clone(&asked)));
        }
        Self { stop, asked, callers }
    }

    /// Waits until so many more requests were answered.
    async fn more(&self, count: usize) -> Verdict {
        let wanted = self.asked.load(Ordering::Relaxed) + count;
        eventually("answers", || async { Ok(self.asked.load(Ordering::Relaxed) >= wanted || self.callers.is_empty()) })
            .await
    }

    /// How many requests there were, when each got its answer.
    async fn end(mut self) -> Verdict<usize> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(caller) = self.callers.join_next().await {
            caller.map_err(|error| Finding::new(error.to_string()))??;
        }
        Ok(self.asked.load(Ordering::Relaxed))
    }
}

async fn call(front: Address, keeps: bool, stop: Arc<AtomicBool>, asked: Arc<AtomicUsize>) -> Verdict {
    let mut request = secretive(Surface::Chat, "org/quick");
    if !keeps {
        request = request.field("Connection", "close");
    }
    let mut client: Option<Client> = None;
    while !stop.load(Ordering::Relaxed) {
        let mut here = match client.take() {
            Some(kept) => kept,
            None => Client::connect(&front).await.during("connecting")?,
        };
        let answer = here.ask(&request).await.during(if keeps { "a caller that keeps" } else { "a new caller" })?;
        answer.is(200)?.local()?;
        asked.fetch_add(1, Ordering::Relaxed);
        if keeps && answer.head.field("Connection").is_none() {
            client = Some(here);
        }
    }
    Ok(())
}

async fn restart(bench: &Bench, setup: Setup) -> Verdict {
    let mut stage = bench.stage(setup.hybrid("org/chat").hybrid("org/quick")).await?;
    let gate = Gate::new();
    let play = Play::stream().event(&chat_text("m", "begun")).gate(&gate);
    let play = chat_events("m", &["finished"]).iter().fold(play, |play, event| play.event(event)).end();
    stage.engine.on_model("org/chat", play);
    stage.engine.on_model("org/quick", engine::success(Surface::Chat, "org/quick"));
    let mut stream = stage.client().await?;
    stream.send(secretive(Surface::ChatStream, "org/chat").bytes()).await?;
    same("the status", &stream.head().await?.status(), &200)?;
    stream.event().await?;

    let crowd = Crowd::start(stage.sidecar.front());
    crowd.more(20).await?;
    let mut new = stage.successor()?;
    new.says("waiting for the running process").await?;
    stage.sidecar.signal("QUIT")?;
    new.up().await?;
    same("the front of the new process", new.front(), stage.sidecar.front())?;
    same("the admin address of the new process", new.admin(), stage.sidecar.admin())?;
    stage.sidecar.says("draining").await?;
    eventually("the new process to answer", || async { Ok(new.access_lines().len() > 20) }).await?;
    crowd.more(20).await?;
    let asked = crowd.end().await?;
    new.admin_get("/readyz").await?.is(200)?;

    gate.open();
    let rest = stream.events().await?.concat();
    contains("the rest of the stream", &rest, "finished")?;
    contains("the rest of the stream", &rest, "[DONE]")?;
    same("the old process's exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    settled(stage, new, asked).await
}

/// The new one serves alone, and every exchange has one line in one of the two logs.
async fn settled(mut stage: Stage, new: Sidecar, asked: usize) -> Verdict {
    secrets(&stage)?;
    let old = stage.sidecar.access_lines().len();
    stage.sidecar = new;
    stage.ask(&secretive(Surface::Chat, "org/quick")).await?.is(200)?.local()?;
    stage.engine.journal().expect_calls("engine", asked + 2)?;
    stage.sidecar.terminate()?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    secrets(&stage)?;
    lines(&stage, asked + 2 - old)
}
