//! What does a caller learn when connecting to the engine neither works nor is refused?

use crate::case::Case;
use crate::expect::Verdict;
use crate::stage::aftermath::{clean, secretive};
use crate::stage::sample::Surface;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Deaf, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "hanging_connect_is_decided_in_time",
    clause: "connecting hangs: after connect_ms it is 503 ENGINE_UNREACHABLE, Retry-After 5, bridged by the trigger unhealthy",
    faults: &["L6"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let deaf = Deaf::new().await?;
    // The system itself would go on trying for minutes.
    let setup = Setup::new()
        .engine("max_in_flight = 2")
        .engine("timeouts = { connect_ms = 250, first_byte_s = 300, idle_s = 300 }")
        .engine_at(deaf.address())
        .hybrid("org/chat")
        .bridged("org/sick", "hosted", r#"["unhealthy"]"#)
        .local("org/near");
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    for model in ["org/near", "org/unknown", "org/chat"] {
        let answer = stage.ask(&secretive(Surface::Chat, model)).await?;
        answer.is(503)?.openai_code("ENGINE_UNREACHABLE")?.with("Retry-After", "5")?.local()?;
    }
    let answer = stage.ask(&secretive(Surface::Generate, "org/near")).await?;
    answer.is(503)?.native_code("ENGINE_UNREACHABLE")?.with("Retry-After", "5")?.local()?;
    stage.upstream.journal().expect_calls("upstream", 0)?;
    stage.ask(&secretive(Surface::Chat, "org/sick")).await?.is(200)?.remote("hosted", Some("unhealthy"))?;
    stage.upstream.journal().expect_calls("upstream", 1)?;
    clean(stage, 5).await
}
