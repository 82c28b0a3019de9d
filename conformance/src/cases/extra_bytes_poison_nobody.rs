//! Does what an engine sends beyond its answer never become another caller's?

use crate::case::Case;
use crate::expect::{During, Verdict, lacks};
use crate::stage::head::latin1;
use crate::stage::sample::{Surface, chat};
use crate::stage::script::Answer;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "extra_bytes_poison_nobody",
    clause: "bytes beyond an answer are dropped with their connection, which is not used again",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/cold")).await?;
    let planted = Answer::new(200).field("X-Planted", "planted").body("planted").bytes();
    let answers = [
        ("org/length", engine::success(Surface::Chat, "org/length")),
        ("org/chunked", Answer::json(200, "{}").chunked(1)),
        ("org/cold", engine::refusal(Surface::Chat, 503, "QUEUE_FULL", None).into()),
    ];
    stage.engine.on_model("org/clean", engine::success(Surface::Chat, "org/clean"));
    for (model, play) in answers {
        let poisoned = play.send(planted.clone());
        stage.engine.on_model(model, poisoned);
        for _ in 0..5 {
            let answer = stage.ask(&chat(model)).await?;
            lacks("the answer", &latin1(&answer.body), "planted").during(model)?;
            let clean = stage.ask(&chat("org/clean")).await?;
            clean.is(200).and_then(|answer| answer.without("X-Planted")?.local()).during(model)?;
            lacks("the next caller's answer", &latin1(&clean.body), "planted").during(model)?;
        }
    }
    Ok(())
}
