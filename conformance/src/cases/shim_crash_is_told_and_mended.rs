//! Does a stream whose engine dies end with an error, once, and does the engine come back by itself?

use crate::case::Case;
use crate::expect::{Verdict, holds, lacks, same};
use crate::stage::program::signal;
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::traffic::{Served, Traffic};
use crate::stage::wrapped::Wrap;
use crate::stage::{Bench, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_crash_is_told_and_mended",
    clause: "an engine that dies in the middle of a stream: an error in the stream, nothing replayed; calls are bridged until the shim has it back",
    faults: &["L19"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::vllm())?;
    wrapped.start()?;
    wrapped.until_state("ready").await?;
    let stage = bench.stage(wrapped.beside(Setup::new().hybrid("org/chat").local("org/near"))).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut traffic = Traffic::new(&stage);
    wrapped.director.hold("token");
    let mut stream = traffic.slow_stream("org/chat").await?;
    let load = wrapped.director.hold("load");
    signal(wrapped.director.engine()?, "KILL")?;
    let rest = stream.events().await?.concat();
    same("errors in the stream", &rest.matches("data: {\"error\"").count(), &1)?;
    lacks("the rest of the stream", &rest, "[DONE]")?;
    stream.ended().await?;

    let crashed = |told: &serde_json::Value| told["engine"]["why"] == "crashed";
    let told = wrapped.until("crashed", crashed).await?;
    let state = &told["engine"]["state"];
    holds(state == "starting" || state == "loading", "the engine to be on its way", state)?;
    load.reached().await?;
    wrapped.until("loading after a crash", |told| told["engine"]["state"] == "loading" && crashed(told)).await?;
    traffic.until(&chat("org/chat"), &Served::Remote("model_loading".to_owned())).await?;
    stage.ask(&chat("org/near")).await?.is(503)?.openai_code("MODEL_LOADING")?.local()?;
    load.open();
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    let told = wrapped.until_state("ready").await?;
    same("restarts", &told["restarts"], &1.into())?;
    same("starts of the engine", &wrapped.director.count("started"), &2)?;
    traffic.each_once(&wrapped.director).await
}
