//! Does the caller hear something before its own patience ends, whatever both sides do?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::sample::{Surface, chat, request};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "first_byte_budget_bounds_both_legs",
    clause: "listen.first_byte_budget_s bounds engine and upstream together: then 504 ENGINE_TIMEOUT, or the restored refusal",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().listen("first_byte_budget_s = 0.6").hybrid("org/cold").hybrid("org/stuck");
    let stage = bench.stage(setup).await?;
    stage.engine.on_model("org/cold", engine::loading(Surface::Chat));
    stage.engine.on_model("org/stuck", Play::hang());
    stage.upstream.on_any(Play::hang());
    for surface in [Surface::Chat, Surface::ChatStream] {
        let cold = stage.ask(&request(surface, "org/cold")).await.during("the upstream hangs")?;
        cold.is(503)?.with("Retry-After", "5")?.restored("model_loading", "QUEUE_FULL", "timeout")?;
    }
    let stuck = stage.ask(&chat("org/stuck")).await.during("the engine hangs")?;
    stuck.is(504)?.openai_code("ENGINE_TIMEOUT")?.local()?;
    // Both of them are let go.
    for heard in
        [stage.upstream.journal().heard_of("vendor/cold"), stage.engine.journal().heard_of("org/stuck")].concat()
    {
        let side = if heard.model().as_deref() == Some("org/stuck") { &stage.engine } else { &stage.upstream };
        side.journal().closed_by_peer(heard.connection).await?;
    }
    same("calls to the upstream", &stage.upstream.journal().calls().len(), &2)
}
