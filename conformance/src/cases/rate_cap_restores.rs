//! Is a call that an upstream's own gates do not admit restored, and never sent?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::gate::Gate;
use crate::stage::sample::{Surface, chat, chat_text, request};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::{Setup, Upstream};
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "rate_cap_restores",
    clause: "rate cap reached, concurrency cap reached or breaker open: nothing is sent and the refusal is restored with that cause",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new()
        .upstream(Upstream::openai("scarce").rate_cap(1, 8))
        .upstream(Upstream::openai("narrow").rate_cap(60_000, 1))
        .upstream(Upstream::openai("fragile").breaker(1, 60))
        .bridged("org/scarce", "scarce", "")
        .bridged("org/narrow", "narrow", "")
        .bridged("org/fragile", "fragile", "")
        .bridged("org/sibling", "fragile", "");
    let stage = bench.stage(setup).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    stage.upstream.choose(|_| true, upstream::success);
    rate(&stage).await.during("rate cap")?;
    concurrency(&stage).await.during("concurrency cap")?;
    breaker(&stage).await.during("breaker")
}

async fn refused(stage: &Stage, model: &str, cause: &str) -> Verdict {
    let answer = stage.ask(&chat(model)).await?;
    let body = engine::error_body(Surface::Chat, 503, "MODEL_LOADING");
    answer.is(503)?.with("Retry-After", "5")?.carries(body.as_bytes())?.restored(
        "model_loading",
        "QUEUE_FULL",
        cause,
    )?;
    Ok(())
}

async fn rate(stage: &Stage) -> Verdict {
    stage.ask(&chat("org/scarce")).await?.is(200)?.remote("scarce", Some("model_loading"))?;
    refused(stage, "org/scarce", "rate_cap").await?;
    same("calls", &stage.upstream.journal().heard_of("vendor/scarce").len(), &1)
}

async fn concurrency(stage: &Stage) -> Verdict {
    let gate = Gate::new();
    let play = Play::stream().event(&chat_text("vendor/narrow", "begun")).gate(&gate).end();
    stage.upstream.on_model("vendor/narrow", play);
    let mut first = stage.client().await?;
    first.send(request(Surface::ChatStream, "org/narrow").bytes()).await?;
    same("the status", &first.head().await?.status(), &200)?;
    gate.reached().await?;
    refused(stage, "org/narrow", "concurrency_cap").await?;
    gate.open();
    first.body().await?;
    same("calls", &stage.upstream.journal().heard_of("vendor/narrow").len(), &1)
}

async fn breaker(stage: &Stage) -> Verdict {
    stage.upstream.on_model("vendor/fragile", Answer::json(500, "{}"));
    refused(stage, "org/fragile", "status").await?;
    refused(stage, "org/fragile", "breaker_open").await?;
    // The breaker is the upstream's, not the model's.
    refused(stage, "org/sibling", "breaker_open").await?;
    same("calls", &stage.upstream.journal().heard_of("vendor/fragile").len(), &1)?;
    same("calls", &stage.upstream.journal().heard_of("vendor/sibling").len(), &0)
}
