//! Between the signal and the end, while the word that the sidecar leaves is still on its way, is everybody served?

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::aftermath::{lines, secretive, secrets};
use crate::stage::patience::eventually;
use crate::stage::sample::Surface;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "lame_duck_still_serves",
    clause: "during lame_duck_s /readyz is 503, and every call on old and new connections is answered, each with `Connection: close`",
    faults: &["X8"],
    run: |bench| Box::pin(run(bench)),
};

const ROUNDS: usize = 20;

async fn run(bench: Bench) -> Verdict {
    // Longer than anybody waits here: a second signal ends it.
    let setup = Setup::new().table("[drain]\nlame_duck_s = 600\nmax_s = 30").engine("max_in_flight = 2");
    let mut stage = bench.stage(setup.hybrid("org/chat").hybrid("org/cold")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.on_model("org/chat", engine::success(Surface::Chat, "org/chat"));
    stage.engine.on_model("org/cold", engine::loading(Surface::Chat));
    let mut old = stage.client().await?;
    old.ask(&secretive(Surface::Chat, "org/chat")).await?.is(200)?.without("Connection")?;

    stage.sidecar.terminate()?;
    let sidecar = &stage.sidecar;
    eventually("/readyz to say that it drains", || async {
        Ok(sidecar.admin_get("/readyz").await?.head.status() == 503)
    })
    .await?;
    stage.sidecar.admin_get("/livez").await?.is(200)?;
    old.ask(&secretive(Surface::Chat, "org/chat")).await?.is(200)?.local()?.with("Connection", "close")?;
    same("what follows", &old.ended().await?, &Vec::new())?;
    for _ in 0..ROUNDS {
        let answer = stage.ask(&secretive(Surface::Chat, "org/chat")).await?;
        answer.is(200)?.local()?.with("Connection", "close")?;
        let answer = stage.ask(&secretive(Surface::Chat, "org/cold")).await?;
        answer.is(200)?.remote("hosted", Some("model_loading"))?.with("Connection", "close")?;
    }
    stage.sidecar.terminate()?;
    same("the exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    stage.engine.journal().expect_calls("engine", 2 + 2 * ROUNDS)?;
    stage.upstream.journal().expect_calls("upstream", ROUNDS)?;
    lines(&stage, 2 + 2 * ROUNDS)?;
    secrets(&stage)
}
