//! Is an HTTP/1.0 caller served by the engine, and only by it?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "http10_client_served_locally",
    clause: "HTTP/1.0 callers are served by the engine, never bridged; a remote-only name is a typed 503 and reaches nobody",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut stage =
        bench.stage(Setup::new().hybrid("org/warm").hybrid("org/cold").remote_only("org/away", "hosted")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.on_model("org/warm", engine::success(Surface::Chat, "org/warm"));
    stage.engine.on_model("org/cold", engine::loading(Surface::Chat));
    let old = |model: &str| chat(model).version("HTTP/1.0");
    let warm = stage.ask(&old("org/warm")).await?;
    warm.is(200).and_then(|answer| answer.local()).during("warm")?;
    same("the model", &warm.json()?["model"], &"org/warm".into())?;
    let cold = stage.ask(&old("org/cold")).await?;
    let body = engine::error_body(Surface::Chat, 503, "MODEL_LOADING");
    cold.is(503)
        .and_then(|answer| answer.with("Retry-After", "5")?.carries(body.as_bytes())?.local())
        .during("cold")?;
    stage.ask(&old("org/cold").field("X-SIE-Remote", "allow")).await?.is(400).during("bad consent")?;
    stage.engine.journal().expect_calls("engine", 2)?;
    let away = stage.ask(&old("org/away")).await?;
    away.is(503).and_then(|answer| answer.openai_error()).during("remote only")?;
    let away = stage.ask(&request(Surface::Generate, "org/away").version("HTTP/1.0")).await?;
    same("the native code is a text", &away.is(503)?.json()?["detail"]["code"].is_string(), &true)?;
    stage.engine.journal().expect_calls("engine", 2)?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    stage.sidecar.terminate()?;
    stage.sidecar.exit().await?;
    let lines = stage.sidecar.stderr();
    same("access lines", &lines.lines().filter(|line| line.contains("\"event\":\"exchange\"")).count(), &5)
}
