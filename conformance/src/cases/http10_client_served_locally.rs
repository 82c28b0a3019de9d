//! Is an HTTP/1.0 caller served by the engine, and only by it?

use serde_json::Value;

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::Setup;
use crate::stage::shim::{self, Shim};
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "http10_client_served_locally",
    clause: "HTTP/1.0 callers are served by the engine, never bridged; a remote-only name is a typed 503 and reaches nobody; the access lines tell",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    served(&bench).await.during("without a shim")?;
    foreseen(&bench).await.during("with a shim")
}

async fn served(bench: &Bench) -> Verdict {
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
    stage.engine.stop().await?;
    stage.ask(&old("org/warm")).await?.is(503)?.openai_code("ENGINE_UNREACHABLE")?.local()?;
    stage.sidecar.terminate()?;
    stage.sidecar.exit().await?;
    let wanted = [
        (200, Some("local"), None),
        (503, Some("local"), None),
        (400, None, Some("INVALID_INPUT")),
        (503, None, Some("QUEUE_FULL")),
        (503, None, Some("QUEUE_FULL")),
        (503, Some("local"), Some("ENGINE_UNREACHABLE")),
    ];
    said(&stage.sidecar.access_lines(), &wanted)
}

/// The shim knows that the engine is not there.
async fn foreseen(bench: &Bench) -> Verdict {
    let shim = Shim::tells(&[shim::engine("absent")]).await?;
    let setup = Setup::new().preset("openai").engine(&format!("shim = \"{}\"", shim.address().url()));
    let mut stage = bench.stage(setup.local("org/near")).await?;
    shim.acted_on().await?;
    stage.ask(&chat("org/near").version("HTTP/1.0")).await?.is(503)?.openai_code("PROVISIONING")?.local()?;
    stage.sidecar.terminate()?;
    stage.sidecar.exit().await?;
    let lines = stage.sidecar.access_lines();
    holds(lines.iter().all(|line| line["foreseen"] == true), "a line that says so", &lines)?;
    said(&lines, &[(503, Some("local"), Some("PROVISIONING"))])
}

/// What an access line says of who answered, and with which code where that was the sidecar.
type Line<'a> = (u64, Option<&'a str>, Option<&'a str>);

fn said(lines: &[Value], wanted: &[Line<'_>]) -> Verdict {
    let lines: Vec<Line<'_>> = lines
        .iter()
        .map(|line| (line["status"].as_u64().unwrap_or(0), line["served_by"].as_str(), line["code"].as_str()))
        .collect();
    same("access lines", &lines.as_slice(), &wanted)
}
