//! Does the end of the shim wait for what is being answered, and then end the engine with its own signal and its own code?

use crate::case::Case;
use crate::expect::{During, Verdict, contains, same};
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::traffic::Traffic;
use crate::stage::wrapped::{Wrap, Wrapped};
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_drains_with_the_engine",
    clause: "SIGTERM to the shim: `draining` at once, the stream finishes, nothing new is begun, then the engine gets the signal and its exit code is the shim's",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    busy(&bench).await.during("with a stream")?;
    idle(&bench).await.during("idle")
}

async fn ready(bench: &Bench) -> Verdict<(Wrapped, Stage)> {
    let mut wrapped = bench.wrapped(Wrap::vllm().engine(&["--exit-code", "7"]))?;
    wrapped.start()?;
    wrapped.until_state("ready").await?;
    let setup = Setup::new().hybrid("org/chat").local("org/near").bridged("org/sick", "hosted", r#"["unhealthy"]"#);
    let stage = bench.stage(wrapped.beside(setup)).await?;
    stage.upstream.choose(|_| true, upstream::success);
    Ok((wrapped, stage))
}

async fn busy(bench: &Bench) -> Verdict {
    let (mut wrapped, stage) = ready(bench).await?;
    let middle = wrapped.director.hold("token");
    let mut traffic = Traffic::new(&stage);
    let mut stream = traffic.slow_stream("org/chat").await?;
    wrapped.shim()?.signal("TERM")?;
    wrapped.until_state("draining").await?;
    let refused = traffic.until_refused(&chat("org/near")).await?;
    refused.is(503)?.openai_code("ENGINE_UNREACHABLE")?.with("Retry-After", "5")?.local()?;
    stage.ask(&chat("org/chat")).await?.is(503)?.openai_code("ENGINE_UNREACHABLE")?.local()?;
    traffic.bridged(&chat("org/sick"), "unhealthy").await?;
    same("ends of the engine", &wrapped.director.count("ending"), &0)?;
    middle.open();
    contains("the rest of the stream", &stream.events().await?.concat(), "[DONE]")?;
    wrapped.director.until("ending", 1).await?;
    same("the shim's exit code", &wrapped.shim()?.exit().await?.code(), &Some(7))?;
    traffic.each_once(&wrapped.director).await
}

async fn idle(bench: &Bench) -> Verdict {
    let (mut wrapped, stage) = ready(bench).await?;
    stage.ask(&chat("org/near")).await?.is(200)?.local()?;
    wrapped.shim()?.signal("TERM")?;
    same("the shim's exit code", &wrapped.shim()?.exit().await?.code(), &Some(7))?;
    // Nobody says any more what the engine is; it is tried, and is not there.
    stage.ask(&chat("org/near")).await?.is(503)?.openai_code("ENGINE_UNREACHABLE")?.local()?;
    Ok(())
}
