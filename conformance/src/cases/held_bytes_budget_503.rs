//! Is memory for held bodies a budget, and `max_in_flight` a bound, that end in a typed refusal?

use crate::case::Case;
use crate::expect::{Findings, Verdict, same};
use crate::stage::client::Request;
use crate::stage::gate::Gate;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat, chat_body};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "held_bytes_budget_503",
    clause: "held bytes or max_in_flight used up: 503 QUEUE_FULL, Retry-After 1, before the engine sees the request",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut findings = Findings::default();
    findings.note("held bytes", held_bytes(&bench).await);
    findings.note("max_in_flight", in_flight(&bench).await);
    findings.verdict()
}

fn sized(model: &str) -> Request {
    let mut body = chat_body(model);
    body["messages"][0]["content"] = "a".repeat(180_000).into();
    Request::post("/v1/chat/completions", &body.to_string())
}

/// Holds one call at the engine; the gate lets it go.
async fn occupied(stage: &Stage, request: &Request) -> Verdict<(crate::stage::client::Client, Gate)> {
    let gate = Gate::new();
    stage.engine.turns(
        "org/chat",
        vec![
            Play::default().gate(&gate).then(engine::success(Surface::Chat, "org/chat")),
            engine::success(Surface::Chat, "org/chat"),
        ],
    );
    let mut first = stage.client().await?;
    first.send(request.bytes()).await?;
    gate.reached().await?;
    Ok((first, gate))
}

async fn held_bytes(bench: &Bench) -> Verdict {
    let setup = Setup::new().listen("max_body_bytes = 200000").listen("max_held_bytes = 300000").hybrid("org/chat");
    let stage = bench.stage(setup).await?;
    let (mut first, gate) = occupied(&stage, &sized("org/chat")).await?;
    let answer = stage.ask(&sized("org/chat")).await?;
    answer.is(503)?.openai_code("QUEUE_FULL")?.with("Retry-After", "1")?.local()?;
    stage.engine.journal().expect_calls("engine", 1)?;
    // A small one still fits.
    stage.ask(&chat("org/chat")).await?.is(200)?.local()?;
    gate.open();
    first.answer().await?.is(200)?.local()?;
    eventually("the bytes to be given back", || async { Ok(stage.ask(&sized("org/chat")).await?.head.status() == 200) })
        .await
}

async fn in_flight(bench: &Bench) -> Verdict {
    let setup =
        Setup::new().engine("max_in_flight = 1").hybrid("org/chat").bridged("org/spill", "hosted", r#"["saturated"]"#);
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let (mut first, gate) = occupied(&stage, &chat("org/chat")).await?;
    let answer = stage.ask(&chat("org/chat")).await?;
    answer.is(503)?.openai_code("QUEUE_FULL")?.with("Retry-After", "1")?.local()?;
    stage.ask(&chat("org/spill")).await?.is(200)?.remote("hosted", Some("saturated"))?;
    stage.engine.journal().expect_calls("engine", 1)?;
    same("calls to the upstream", &stage.upstream.journal().calls().len(), &1)?;
    gate.open();
    first.answer().await?.is(200)?.local()?;
    eventually("the place to come free", || async { Ok(stage.ask(&chat("org/chat")).await?.head.status() == 200) })
        .await
}
