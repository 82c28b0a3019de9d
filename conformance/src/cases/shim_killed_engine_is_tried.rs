//! What does a lost shim cost? Nothing: what it said is forgotten, and the engine, which lives on, is tried.

use crate::case::Case;
use crate::expect::{Verdict, contains, same};
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::traffic::{Served, Traffic};
use crate::stage::wrapped::Wrap;
use crate::stage::{Bench, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_killed_engine_is_tried",
    clause: "SIGKILL to the shim while it says that the engine takes nothing: the engine lives on, its stream finishes, and the next call goes to it",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::vllm())?;
    wrapped.start()?;
    wrapped.until_state("ready").await?;
    let setup = Setup::new().bridged("org/chat", "hosted", r#"["unhealthy"]"#);
    let stage = bench.stage(wrapped.beside(setup)).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut traffic = Traffic::new(&stage);
    let middle = wrapped.director.hold("token");
    let mut stream = traffic.slow_stream("org/chat").await?;
    wrapped.shim()?.signal("TERM")?;
    traffic.until(&chat("org/chat"), &Served::Remote("unhealthy".to_owned())).await?;
    wrapped.shim()?.signal("KILL")?;
    same("the shim's exit code", &wrapped.shim()?.exit().await?.code(), &None)?;
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    middle.open();
    contains("the rest of the stream", &stream.events().await?.concat(), "[DONE]")?;
    same("the engine's ends", &wrapped.director.count("gone"), &0)?;
    traffic.each_once(&wrapped.director).await
}
