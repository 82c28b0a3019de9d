//! Is every call served while an engine loads that refuses connections until it has, and the first one too?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::Setup;
use crate::stage::traffic::{Served, Traffic};
use crate::stage::wrapped::Wrap;
use crate::stage::{Bench, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_cold_start_is_bridged",
    clause: "a process that loads before it listens: bridged from the first call on, refused in the surface's shape to those who stay, then local, each call executed once",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    generation(&bench).await.during("vLLM")?;
    embeddings(&bench).await.during("TEI")
}

async fn generation(bench: &Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::vllm())?;
    let load = wrapped.director.hold("load");
    wrapped.start()?;
    let setup = wrapped.beside(Setup::new().hybrid("org/chat").local("org/near"));
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut traffic = Traffic::new(&stage);
    // Nothing may be known of the engine yet.
    let first = traffic.ask(&chat("org/chat")).await?;
    holds(first != Served::Local, "the first call to be bridged", &first)?;
    load.reached().await?;
    wrapped.until_state("loading").await?;
    traffic.until(&chat("org/chat"), &Served::Remote("model_loading".to_owned())).await?;
    for surface in [Surface::ChatStream, Surface::Completions] {
        traffic.bridged(&request(surface, "org/chat"), "model_loading").await?;
    }
    for model in ["org/near", "org/unknown"] {
        let answer = stage.ask(&chat(model)).await?;
        answer.is(503)?.openai_code("MODEL_LOADING")?.with("Retry-After", "5")?.local()?;
    }
    wrapped.director.executed(0).await?;

    load.open();
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    for surface in [Surface::Chat, Surface::ChatStream] {
        traffic.local(&request(surface, "org/chat")).await?;
    }
    traffic.each_once(&wrapped.director).await?;
    same("starts of the engine", &wrapped.director.count("started"), &1)?;
    let shim = wrapped.shim()?;
    let passed = || async { Ok(shim.stdout().starts_with("started ") && shim.stdout().contains("\nready\n")) };
    eventually("what the engine writes to pass through the shim", passed).await
}

/// An engine that does not even take its port before it has loaded. Vectors are not bridged, so callers are told.
async fn embeddings(bench: &Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::tei())?;
    let load = wrapped.director.hold("load");
    wrapped.start()?;
    let stage = bench.stage(wrapped.beside(Setup::new())).await?;
    let ask = request(Surface::Embeddings, "org/embed");
    stage.ask(&ask).await?.is(503)?.with("Retry-After", "5")?.local()?;
    load.reached().await?;
    wrapped.until_state("loading").await?;
    let told = || async { Ok(stage.ask(&ask).await?.openai_code("MODEL_LOADING").is_ok()) };
    eventually("the sidecar to tell of the load", told).await?;
    load.open();
    eventually("the sidecar to ask the engine", || async { Ok(stage.ask(&ask).await?.head.status() == 200) }).await?;
    wrapped.director.executed(1).await
}
