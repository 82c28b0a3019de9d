//! What does a caller learn when nobody listens at the engine's address?

use crate::case::Case;
use crate::expect::{During, Verdict};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::sample::Surface;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Nowhere, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "connect_refused_is_provisioning",
    clause: "engine never reached: 503 PROVISIONING; reached before: 503 ENGINE_UNREACHABLE; both Retry-After 5, bridged by their triggers",
    faults: &["L5"],
    run: |bench| Box::pin(run(bench)),
};

fn setup() -> Setup {
    Setup::new()
        .engine("max_in_flight = 2")
        .hybrid("org/chat")
        .bridged("org/sick", "hosted", r#"["unhealthy"]"#)
        .local("org/near")
}

async fn run(bench: Bench) -> Verdict {
    never_reached(&bench).await.during("never reached")?;
    reached_before(&bench).await.during("reached before")
}

async fn refused(stage: &Stage, model: &str, code: &str) -> Verdict {
    let answer = stage.ask(&secretive(Surface::Chat, model)).await?;
    answer.is(503)?.openai_code(code)?.with("Retry-After", "5")?.local()?;
    let answer = stage.ask(&secretive(Surface::Generate, model)).await?;
    answer.is(503)?.native_code(code)?.with("Retry-After", "5")?.local()?;
    Ok(())
}

async fn never_reached(bench: &Bench) -> Verdict {
    let nowhere = Nowhere::new()?;
    let stage = bench.stage(setup().engine_at(nowhere.address())).await?;
    stage.upstream.choose(|_| true, upstream::success);
    for model in ["org/near", "org/unknown", "org/sick"] {
        refused(&stage, model, "PROVISIONING").await.during(model)?;
    }
    stage.upstream.journal().expect_calls("upstream", 0)?;
    stage.ask(&secretive(Surface::Chat, "org/chat")).await?.is(200)?.remote("hosted", Some("provisioning"))?;
    stage.upstream.journal().expect_calls("upstream", 1)?;
    clean(stage, 7).await
}

async fn reached_before(bench: &Bench) -> Verdict {
    let mut stage = bench.stage(setup()).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.choose(|_| true, |heard| engine::success(Surface::Chat, &heard.model().unwrap_or_default()));
    stage.ask(&secretive(Surface::Chat, "org/chat")).await?.is(200)?.local()?;
    stage.engine.stop().await?;
    for model in ["org/near", "org/unknown", "org/chat"] {
        refused(&stage, model, "ENGINE_UNREACHABLE").await.during(model)?;
    }
    stage.upstream.journal().expect_calls("upstream", 0)?;
    stage.ask(&secretive(Surface::Chat, "org/sick")).await?.is(200)?.remote("hosted", Some("unhealthy"))?;
    stage.upstream.journal().expect_calls("upstream", 1)?;
    stage.engine.journal().expect_calls("engine", 1)?;
    clean(stage, 8).await
}
