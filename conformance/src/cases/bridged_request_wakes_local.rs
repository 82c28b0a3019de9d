//! Is an engine that a refused request does not wake woken by its load-only call, once at a time, also when no upstream may be asked?

use serde_json::json;

use crate::case::Case;
use crate::expect::{Verdict, holds, same};
use crate::stage::gate::Gate;
use crate::stage::sample::chat;
use crate::stage::script::{Answer, Play};
use crate::stage::setup::{Setup, Upstream};
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "bridged_request_wakes_local",
    clause: "as soon as a trigger that is on has matched, before breaker and cap are asked, local is woken, one load at a time per model",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const LOAD: &str = "/models/load";

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new()
        .preset("llama_cpp_router")
        .upstream(Upstream::openai("scarce").rate_cap(1, 8))
        .bridged("org/chat", "scarce", "")
        .bridged("org/other", "scarce", "")
        .local("org/near");
    let stage = bench.stage(setup).await?;
    let loading = Gate::new();
    let started = json!({"success": true}).to_string();
    let refusal = json!({"error": {"code": 400, "message": "model is not loaded", "type": "invalid_request_error"}});
    stage.engine.on_any(Answer::json(400, &refusal.to_string()));
    stage.engine.on_path(LOAD, Play::default().gate(&loading).then(Answer::json(200, &started)));
    stage.upstream.choose(|_| true, upstream::success);

    stage.ask(&chat("org/near")).await?.is(400)?.local()?;
    stage.ask(&chat("org/chat")).await?.is(200)?.remote("scarce", Some("model_loading"))?;
    loading.reached().await?;
    // While that load runs, nobody starts another; that the budget is used up does not matter to a load.
    for _ in 0..3 {
        let answer = stage.ask(&chat("org/chat")).await?;
        answer.is(400)?.restored("model_loading", "QUEUE_FULL", "rate_cap")?;
    }
    stage.ask(&chat("org/other")).await?.is(400)?.restored("model_loading", "QUEUE_FULL", "rate_cap")?;
    let both = |record: &crate::stage::journal::Record| loads(record.heard.iter()).len() == 2;
    stage.engine.journal().until("the load of the other model", both).await?;
    loading.open();
    woken(&stage)
}

fn loads<'h>(calls: impl Iterator<Item = &'h crate::stage::journal::Heard>) -> Vec<serde_json::Value> {
    calls.filter(|heard| heard.path() == LOAD).map(|heard| heard.json()["model"].clone()).collect()
}

fn woken(stage: &Stage) -> Verdict {
    let calls = stage.engine.journal().calls();
    same("the models that were loaded", &loads(calls.iter()), &vec!["org/chat".into(), "org/other".into()])?;
    let caller =
        |name: &str| calls.iter().filter(|heard| heard.path() == LOAD).any(|heard| heard.head.field(name).is_some());
    holds(!caller("Authorization"), "a load call without the caller's headers", &())
}
