//! Is a call that comes before the shim has said anything sent to an engine that sleeps?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::gate::Gate;
use crate::stage::sample::{Surface, chat};
use crate::stage::script::{Answer, Play};
use crate::stage::scripted::Scripted;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, shim};

/// The case.
pub(super) const CASE: Case = Case {
    name: "early_call_waits_for_the_shim",
    clause: "a call that comes while the sidecar asks its shim for the first time waits for that word; a shim that says nothing is not waited for long",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    told(&bench).await.during("a shim that says it late")?;
    silent(&bench).await.during("a shim that never says it")
}

async fn told(bench: &Bench) -> Verdict {
    let (gate, mut word) = (Gate::new(), shim::engine("asleep"));
    word["seq"] = 1.into();
    let word = Play::stream().gate(&gate).event(&format!("data: {word}\n\n")).gate(&Gate::new());
    let (shim, stage) = beside(bench, word).await?;
    let call = chat("org/near");
    let asked = async {
        let asked = shim.journal().until("a subscription", |record| !record.heard.is_empty()).await;
        gate.open();
        asked
    };
    let (answer, asked) = tokio::join!(stage.ask(&call), asked);
    asked?;
    answer?.is(503)?.openai_code("MODEL_LOADING")?;
    same("calls at the engine", &stage.engine.journal().calls().len(), &0)
}

async fn silent(bench: &Bench) -> Verdict {
    let (_shim, stage) = beside(bench, Play::stream().gate(&Gate::new())).await?;
    stage.ask(&chat("org/near")).await?.is(200)?.local()?;
    Ok(())
}

async fn beside(bench: &Bench, word: Play) -> Verdict<(Scripted, Stage)> {
    let shim = Scripted::tcp().await?;
    shim.on_path("/activity", Answer::json(200, "{}"));
    shim.on_path("/load", Answer::json(202, "{}"));
    shim.on_path("/state/stream", word);
    let line = format!("shim = \"{}\"", shim.address().url());
    let stage = bench.stage(Setup::new().preset("openai").engine(&line).local("org/near")).await?;
    stage.engine.choose(|_| true, |heard| engine::success(Surface::Chat, &heard.model().unwrap_or_default()));
    Ok((shim, stage))
}
