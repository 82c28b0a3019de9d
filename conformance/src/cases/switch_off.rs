//! Does the one switch stop all remote serving, and can the environment only turn it off?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::sample::{Surface, chat};
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "switch_off",
    clause: "remote_serving = false, or SPILLWAY_REMOTE_SERVING / SIE_REMOTE_SERVING off, stops all remote serving; the environment cannot turn it on",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn settings() -> Vec<(&'static str, &'static str, &'static str, bool)> {
    vec![
        ("remote_serving = false", "UNRELATED", "1", false),
        ("remote_serving = true", "SPILLWAY_REMOTE_SERVING", "0", false),
        ("remote_serving = true", "SPILLWAY_REMOTE_SERVING", "off", false),
        ("remote_serving = true", "SIE_REMOTE_SERVING", "false", false),
        ("", "SIE_REMOTE_SERVING", "anything", false),
        ("remote_serving = false", "SPILLWAY_REMOTE_SERVING", "1", false),
        ("remote_serving = true", "SPILLWAY_REMOTE_SERVING", "1", true),
        ("", "SIE_REMOTE_SERVING", " Yes ", true),
    ]
}

async fn run(bench: Bench) -> Verdict {
    for (line, name, value, on) in settings() {
        switched(&bench, line, name, value, on).await.during(&format!("{line:?} {name}={value:?}"))?;
    }
    Ok(())
}

async fn switched(bench: &Bench, line: &str, name: &str, value: &str, on: bool) -> Verdict {
    let setup = Setup::new().top(line).env(name, value).hybrid("org/chat").remote_only("org/away", "hosted");
    let stage = bench.stage(setup).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    stage.upstream.choose(|_| true, upstream::success);
    let answer = stage.ask(&chat("org/chat")).await?;
    if on {
        answer.is(200)?.remote("hosted", Some("model_loading"))?;
        return Ok(());
    }
    let body = engine::error_body(Surface::Chat, 503, "MODEL_LOADING");
    answer.is(503)?.with("Retry-After", "5")?.carries(body.as_bytes())?.local()?;
    let away = stage.ask(&chat("org/away")).await?;
    holds(away.head.status() >= 400, "an error for a model that only an upstream has", &away.head)?;
    away.openai_error()?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)
}
