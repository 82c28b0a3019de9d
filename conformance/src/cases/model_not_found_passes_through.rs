//! Does the engine's word about a model that it does not know reach the caller?

use crate::case::Case;
use crate::expect::{During, Verdict};
use crate::stage::sample::{Surface, request};
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "model_not_found_passes_through",
    clause: "model not found is the engine's answer, on a configured model too: never bridged, never rewritten",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const SURFACES: [Surface; 10] = [
    Surface::Chat,
    Surface::Completions,
    Surface::Embeddings,
    Surface::Encode,
    Surface::Extract,
    Surface::Generate,
    Surface::Rerank,
    Surface::Responses,
    Surface::Score,
    Surface::Audio,
];

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    for surface in SURFACES {
        for (model, code) in [("org/chat", "MODEL_NOT_FOUND"), ("org/unknown", "model_not_found")] {
            stage.engine.on_model(model, engine::refusal(surface, 404, code, None));
            let situation = format!("{surface:?} {model}");
            let answer = stage.ask(&request(surface, model)).await.during(&situation)?;
            let body = engine::error_body(surface, 404, code);
            answer.is(404).and_then(|answer| answer.carries(body.as_bytes())?.local()).during(&situation)?;
        }
    }
    stage.upstream.journal().expect_calls("upstream", 0)?;
    stage.engine.journal().expect_calls("engine", 2 * SURFACES.len())
}
