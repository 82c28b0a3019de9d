//! Does a cold start end where it should: at the local engine, on the first request that it can serve?

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::gate::Gate;
use crate::stage::sample::{Surface, chat};
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "cold_start_hands_back",
    clause: "every request is tried locally first, which is what wakes a SIE engine: remote while it loads, local from then on",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat")).await?;
    let loaded = Gate::new();
    stage.engine.until("org/chat", &loaded, engine::loading(Surface::Chat), engine::success(Surface::Chat, "org/chat"));
    stage.upstream.choose(|_| true, upstream::success);
    let mut client = stage.client().await?;
    for _ in 0..3 {
        client.ask(&chat("org/chat")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    }
    loaded.open();
    for _ in 0..3 {
        client.ask(&chat("org/chat")).await?.is(200)?.local()?;
    }
    // Every request reached the engine once and as it was sent, the bridged ones too.
    stage.engine.journal().expect_calls("engine", 6)?;
    stage.upstream.journal().expect_calls("upstream", 3)?;
    for heard in stage.engine.journal().calls() {
        same("the body that the engine hears", &heard.json()["model"], &"org/chat".into())?;
    }
    Ok(())
}
