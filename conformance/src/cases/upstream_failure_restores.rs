//! Does every way in which an upstream attempt can end badly restore the refusal, with its cause?

use serde_json::json;

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::sample::{Surface, chat, chat_role, request};
use crate::stage::script::Play;
use crate::stage::setup::{Setup, Upstream};
use crate::stage::{Bench, Nowhere, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "upstream_failure_restores",
    clause: "connect, time-out, broken connection or stream before content: the refusal is restored with its cause, after one attempt",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let timeouts = "timeouts = { connect_s = 5, first_byte_s = 0.4, idle_s = 300, total_s = 600 }";
    let nowhere = Nowhere::new()?;
    let setup = Setup::new()
        .upstream(Upstream::openai("gone").at(nowhere.address()))
        .upstream(Upstream::openai("hosted").line(timeouts))
        .bridged("org/gone", "gone", "")
        .hybrid("org/hang")
        .hybrid("org/trickle")
        .hybrid("org/reset")
        .hybrid("org/closed");
    let stage = bench.stage(setup).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    let comment = ": still working\n\n";
    stage.upstream.on_model("vendor/hang", Play::hang());
    stage
        .upstream
        .on_model("vendor/trickle", Play::stream().event(comment).event(&chat_role("m")).event(comment).stall());
    stage.upstream.on_model("vendor/reset", Play::reset());
    stage.upstream.on_model("vendor/closed", Play::default().close());

    restored(&stage, Surface::Chat, "org/gone", "QUEUE_FULL", Some("connect")).await?;
    for surface in [Surface::ChatStream, Surface::Chat] {
        restored(&stage, surface, "org/hang", "QUEUE_FULL", Some("timeout")).await?;
    }
    trickle(&stage).await.during("comments for ever")?;
    for model in ["org/reset", "org/closed"] {
        restored(&stage, Surface::Chat, model, "QUEUE_FULL", None).await?;
    }
    let hang = stage.upstream.journal().heard_of("vendor/hang");
    for heard in &hang {
        stage.upstream.journal().closed_by_peer(heard.connection).await.during("the call that timed out")?;
    }
    same("attempts", &json!(stage.upstream.journal().calls().len()), &json!(5))
}

/// Comments and roles are no content, so they do not keep the attempt alive.
async fn trickle(stage: &Stage) -> Verdict {
    let answer = stage.ask(&request(Surface::ChatStream, "org/trickle")).await?;
    answer
        .is(503)?
        .with("Retry-After", "5")?
        .with("X-SIE-Fallback-Reason", "model_loading")?
        .with("Spillway-Cause", "timeout")?;
    let heard = stage.upstream.journal().heard_of("vendor/trickle");
    stage.upstream.journal().closed_by_peer(heard[0].connection).await
}

async fn restored(stage: &Stage, surface: Surface, model: &str, error: &str, cause: Option<&str>) -> Verdict {
    let situation = format!("{model} {surface:?}");
    let request = if surface == Surface::Chat { chat(model) } else { request(surface, model) };
    let answer = stage.ask(&request).await.during(&situation)?;
    let body = engine::error_body(surface, 503, "MODEL_LOADING");
    answer.is(503).and_then(|answer| answer.with("Retry-After", "5")?.carries(body.as_bytes())).during(&situation)?;
    let disclosed = match cause {
        Some(cause) => answer.restored("model_loading", error, cause),
        None => answer.restored_with("model_loading", error),
    };
    disclosed.map(drop).during(&situation)
}
