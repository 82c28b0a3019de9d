//! Does an engine that comes and goes leave anything behind in the calls that follow?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::program::signal;
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::traffic::{Served, Traffic};
use crate::stage::wrapped::{Wrap, Wrapped};
use crate::stage::{Bench, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_flapping_engine_bleeds_nothing",
    clause: "an engine that dies again and again under the shim: each call is decided by the state at its time, elsewhere while it is away, here when it is back",
    faults: &["L20"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::vllm())?;
    wrapped.start()?;
    wrapped.until_state("ready").await?;
    let triggers = r#"["provisioning", "model_loading", "unhealthy"]"#;
    let stage = bench.stage(wrapped.beside(Setup::new().bridged("org/chat", "hosted", triggers))).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut traffic = Traffic::new(&stage);
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    for flap in 1..=3 {
        flaps(&wrapped, &mut traffic, flap).await.during(&format!("flap {flap}"))?;
    }
    same("starts of the engine", &wrapped.director.count("started"), &4)?;
    traffic.each_once(&wrapped.director).await
}

async fn flaps(wrapped: &Wrapped, traffic: &mut Traffic<'_>, flap: usize) -> Verdict {
    let load = wrapped.director.hold("load");
    signal(wrapped.director.engine()?, "KILL")?;
    // Once the shim has seen it end, no connection to it is left.
    wrapped.until("crashed", |told| told["engine"]["why"] == "crashed").await?;
    for _ in 0..4 {
        let served = traffic.ask(&chat("org/chat")).await?;
        holds(served != Served::Local, "a call that is bridged", &served)?;
    }
    wrapped.director.until("started", flap + 1).await?;
    load.reached().await?;
    traffic.until(&chat("org/chat"), &Served::Remote("model_loading".to_owned())).await?;
    load.open();
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    for _ in 0..4 {
        traffic.local(&chat("org/chat")).await?;
    }
    wrapped.until_state("ready").await.map(drop)
}
