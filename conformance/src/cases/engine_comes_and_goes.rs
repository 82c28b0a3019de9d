//! Does it matter who starts first, the sidecar or its engine, and whether the engine is still there?

use crate::case::Case;
use crate::expect::{During, Verdict};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::sample::Surface;
use crate::stage::scripted::Scripted;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "engine_comes_and_goes",
    clause: "sidecar before engine, engine before sidecar, engine gone for good: /readyz and /livez are 200 and calls are answered throughout",
    faults: &["X7"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    sidecar_first(&bench).await.during("sidecar first")?;
    engine_first(&bench).await.during("engine first")
}

fn setup() -> Setup {
    Setup::new()
        .engine("max_in_flight = 2")
        .hybrid("org/chat")
        .bridged("org/sick", "hosted", r#"["unhealthy"]"#)
        .local("org/near")
}

fn serve(engine: &Scripted) {
    engine.choose(|_| true, |heard| engine::success(Surface::Chat, &heard.model().unwrap_or_default()));
}

async fn sidecar_first(bench: &Bench) -> Verdict {
    let mut late = Scripted::tcp().await?;
    late.stop().await?;
    let mut stage = bench.stage(setup().engine_at(late.address())).await?;
    stage.upstream.choose(|_| true, upstream::success);
    healthy(&stage).await?;
    refused(&stage, "PROVISIONING").await?;
    stage.ask(&secretive(Surface::Chat, "org/chat")).await?.is(200)?.remote("hosted", Some("provisioning"))?;
    serve(&late);
    late.resume()?;
    stage.engine = late;
    healthy(&stage).await?;
    local(&stage).await?;
    gone_for_good(stage, 1 + 1 + 2).await
}

async fn engine_first(bench: &Bench) -> Verdict {
    let stage = bench.stage(setup()).await?;
    stage.upstream.choose(|_| true, upstream::success);
    serve(&stage.engine);
    healthy(&stage).await?;
    local(&stage).await?;
    gone_for_good(stage, 2).await
}

/// `before`: exchanges so far.
async fn gone_for_good(mut stage: Stage, before: usize) -> Verdict {
    let calls = stage.engine.journal().calls().len();
    stage.engine.stop().await?;
    for _ in 0..5 {
        healthy(&stage).await?;
        refused(&stage, "ENGINE_UNREACHABLE").await?;
        stage.ask(&secretive(Surface::Chat, "org/sick")).await?.is(200)?.remote("hosted", Some("unhealthy"))?;
    }
    stage.engine.journal().expect_calls("engine", calls)?;
    clean(stage, before + 10).await
}

async fn healthy(stage: &Stage) -> Verdict {
    for path in ["/readyz", "/livez"] {
        stage.sidecar.admin_get(path).await?.is(200).during(path)?;
    }
    Ok(())
}

async fn refused(stage: &Stage, code: &str) -> Verdict {
    let answer = stage.ask(&secretive(Surface::Chat, "org/near")).await?;
    answer.is(503)?.openai_code(code)?.with("Retry-After", "5")?.local()?;
    Ok(())
}

async fn local(stage: &Stage) -> Verdict {
    for model in ["org/chat", "org/near"] {
        stage.ask(&secretive(Surface::Chat, model)).await?.is(200)?.local()?;
    }
    Ok(())
}
