//! Is an engine that cannot start left alone after a while, and are callers told so?

use crate::case::Case;
use crate::expect::{Verdict, holds, same};
use crate::stage::client::Request;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::Setup;
use crate::stage::wrapped::Wrap;
use crate::stage::{Bench, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_crash_loop_is_latched",
    clause: "an engine that ends at every start is latched: 502 MODEL_LOAD_FAILED without Retry-After, bridged when `unhealthy` is on, and not started any more",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut wrapped = bench.wrapped(Wrap::vllm())?;
    wrapped.director.exit("load", 3);
    wrapped.start()?;
    let setup = Setup::new().hybrid("org/chat").local("org/near").bridged("org/sick", "hosted", r#"["unhealthy"]"#);
    let stage = bench.stage(wrapped.beside(setup)).await?;
    stage.upstream.choose(|_| true, upstream::success);
    // Between the starts it is on its way: whoever can be served elsewhere is.
    wrapped.until("crashed", |told| told["engine"]["why"] == "crashed").await?;
    stage.ask(&chat("org/chat")).await?.is(200)?;
    // The pauses between the starts grow: each start has its own net.
    for starts in 2..=5 {
        wrapped.director.until("started", starts).await?;
    }
    let latched = |told: &serde_json::Value| told["engine"]["why"] == "load_failed";
    let told = wrapped.until("latched", latched).await?;
    same("the state", &told["engine"]["state"], &"unhealthy".into())?;
    eventually("the sidecar to refuse", || async { Ok(stage.ask(&chat("org/near")).await?.head.status() == 502) })
        .await?;
    for model in ["org/near", "org/chat", "org/unknown"] {
        let answer = stage.ask(&chat(model)).await?;
        answer.is(502)?.openai_code("MODEL_LOAD_FAILED")?.without("Retry-After")?.local()?;
        let answer = stage.ask(&request(Surface::Generate, model)).await?;
        answer.is(502)?.native_code("MODEL_LOAD_FAILED")?.without("Retry-After")?.local()?;
    }
    stage.ask(&chat("org/sick")).await?.is(200)?.remote("hosted", Some("unhealthy"))?;
    // A wish is refused while the latch holds, and says how long.
    let refused = wrapped.ask(Request::post("/load", "")).await?;
    refused.is(503)?;
    holds(refused.head.field("Retry-After").is_some(), "a Retry-After", &refused.head)?;
    same("starts of the engine", &wrapped.director.count("started"), &5)?;
    wrapped.director.executed(0).await
}
