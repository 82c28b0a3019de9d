//! Does an engine's 1xx neither hide a refusal nor become the answer?

use crate::case::Case;
use crate::expect::{During, Verdict};
use crate::stage::sample::{Surface, chat};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "interim_answers_are_skipped",
    clause: "1xx heads before the engine's answer are not the answer: the final one is relayed, or recognised as a refusal",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const INTERIM: [&str; 3] = [
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n",
    "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n",
];

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/warm").hybrid("org/cold")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    for interim in INTERIM {
        stage.engine.on_model("org/warm", Play::raw(interim).then(engine::success(Surface::Chat, "org/warm")));
        stage.engine.on_model("org/cold", Play::raw(interim).then(engine::loading(Surface::Chat)));
        let mut client = stage.client().await?;
        for _ in 0..2 {
            client.ask(&chat("org/warm")).await?.is(200).and_then(|answer| answer.local()).during(interim)?;
            let cold = client.ask(&chat("org/cold")).await?;
            cold.is(200).and_then(|answer| answer.remote("hosted", Some("model_loading"))).during(interim)?;
        }
    }
    Ok(())
}
