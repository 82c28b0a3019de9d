//! Is a redirect from an upstream refused rather than followed?

use crate::case::Case;
use crate::expect::{During, Verdict};
use crate::stage::sample::{Surface, chat};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "redirect_is_refused",
    clause: "redirects are refused: nothing is sent to the new place, and its address does not reach the caller",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat").remote_only("org/away", "hosted")).await?;
    stage.engine.on_model("org/chat", engine::loading(Surface::Chat));
    let elsewhere = format!("{}/elsewhere/chat/completions", stage.upstream.address().url());
    stage.upstream.choose(|heard| heard.path().starts_with("/elsewhere"), upstream::success);
    let mut calls = 0;
    for status in [301, 302, 303, 304, 307, 308] {
        for model in ["vendor/chat", "vendor/away"] {
            stage.upstream.on_model(model, Play::redirect(status, &elsewhere));
        }
        let situation = status.to_string();
        let answer = stage.ask(&chat("org/chat")).await.during(&situation)?;
        answer.is(503)?.without("Location")?.with("Retry-After", "5")?;
        answer.restored("model_loading", "INFERENCE_ERROR", "redirect").during(&situation)?;
        let answer = stage.ask(&chat("org/away")).await.during(&situation)?;
        answer.is(502)?.without("Location")?.without("Retry-After")?.openai_error().during(&situation)?;
        calls += 2;
    }
    // Each of them was one call, and none went elsewhere.
    stage.upstream.journal().expect_calls("upstream", calls)?;
    stage.engine.journal().expect_calls("engine", calls / 2)
}
