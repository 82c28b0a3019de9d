//! Does it matter who is there first: sidecar, shim or engine?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::patience::eventually;
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::traffic::{Served, Traffic};
use crate::stage::wrapped::Wrap;
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_any_order_of_starting",
    clause: "sidecar, shim and engine start in any order: the sidecar is ready without them, acts on the shim's word when it comes, and the shim ends no engine that it did not start",
    faults: &["X7"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    sidecar_first(&bench).await.during("the sidecar first")?;
    sidecar_last(&bench).await.during("the sidecar last")?;
    shim_last(&bench).await.during("the shim last")
}

async fn stage(bench: &Bench, setup: Setup) -> Verdict<Stage> {
    // A stage stands when /readyz is 200.
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    Ok(stage)
}

fn setup() -> Setup {
    Setup::new().hybrid("org/chat").local("org/near")
}

async fn sidecar_first(bench: &Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::vllm())?;
    let stage = stage(bench, wrapped.beside(setup())).await?;
    let mut traffic = Traffic::new(&stage);
    traffic.bridged(&chat("org/chat"), "provisioning").await?;
    stage.ask(&chat("org/near")).await?.is(503)?.openai_code("PROVISIONING")?.local()?;
    let load = wrapped.director.hold("load");
    wrapped.start()?;
    load.reached().await?;
    traffic.until(&chat("org/chat"), &Served::Remote("model_loading".to_owned())).await?;
    load.open();
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    traffic.each_once(&wrapped.director).await
}

async fn sidecar_last(bench: &Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::vllm())?;
    wrapped.start()?;
    wrapped.until_state("ready").await?;
    let stage = stage(bench, wrapped.beside(setup())).await?;
    let mut traffic = Traffic::new(&stage);
    traffic.local(&chat("org/chat")).await?;
    traffic.each_once(&wrapped.director).await
}

/// An engine that somebody else started is watched, asked for loads, and never ended.
async fn shim_last(bench: &Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::ollama())?;
    let load = wrapped.director.hold("load org/chat:latest");
    let stage = stage(bench, wrapped.beside(setup())).await?;
    let mut traffic = Traffic::new(&stage);
    traffic.bridged(&chat("org/chat"), "provisioning").await?;
    wrapped.start_engine()?;
    wrapped.director.until("ready", 1).await?;
    traffic.until(&chat("org/chat"), &Served::Remote("model_loading".to_owned())).await?;
    // The first call asked an engine for a load that was not there; the next attempt has its pause.
    while wrapped.director.count("loads") == 0 {
        traffic.bridged(&chat("org/chat"), "model_loading").await?;
    }
    wrapped.watch()?;
    wrapped.until_state("ready").await?;
    traffic.bridged(&chat("org/chat"), "model_loading").await?;
    load.open();
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    same("loads", &wrapped.director.count("loads org/chat"), &1)?;
    same("calls that were held", &wrapped.director.count("held"), &0)?;
    wrapped.shim()?.signal("TERM")?;
    same("the shim's exit code", &wrapped.shim()?.exit().await?.code(), &Some(0))?;
    same("whether the engine runs", &wrapped.loose()?.runs()?, &true)?;
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    traffic.each_once(&wrapped.director).await?;
    gone_for_good(wrapped, &stage).await.during("the engine is gone for good")
}

async fn gone_for_good(mut wrapped: crate::stage::wrapped::Wrapped, stage: &Stage) -> Verdict {
    wrapped.watch()?;
    wrapped.until_state("ready").await?;
    wrapped.loose()?.signal("KILL")?;
    wrapped.loose()?.exit().await?;
    wrapped.until_state("absent").await?;
    // The sidecar hears of it a moment later, and says until then that it cannot reach the engine.
    eventually("the calls to be bridged", || async {
        let answer = stage.ask(&chat("org/chat")).await?;
        if answer.head.status() == 503 {
            answer.openai_code("ENGINE_UNREACHABLE")?.local()?;
            return Ok(false);
        }
        answer.is(200)?.remote("hosted", Some("provisioning"))?;
        Ok(true)
    })
    .await?;
    for path in ["/readyz", "/livez"] {
        stage.sidecar.admin_get(path).await?.is(200)?;
    }
    Ok(())
}
