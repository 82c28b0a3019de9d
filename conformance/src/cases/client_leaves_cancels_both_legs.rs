//! When the caller leaves, is the work given up on both sides and every permit freed?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::gate::Gate;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat_text, request};
use crate::stage::script::Play;
use crate::stage::scripted::Scripted;
use crate::stage::setup::{Setup, Upstream};
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "client_leaves_cancels_both_legs",
    clause: "the client leaving at any point cancels both legs and frees every permit",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let setup =
        Setup::new().upstream(Upstream::openai("hosted").rate_cap(60_000, 1)).hybrid("org/chat").local("org/near");
    let stage = bench.stage(setup).await?;
    for model in ["org/near", "org/chat"] {
        for begun in [false, true] {
            leaves(&stage, &stage.engine, model, begun)
                .await
                .during(&format!("engine serves {model}, begun: {begun}"))?;
        }
    }
    stage.engine.on_model("org/chat", engine::loading(Surface::ChatStream));
    for begun in [false, true] {
        let situation = format!("upstream serves, begun: {begun}");
        leaves(&stage, &stage.upstream, "org/chat", begun).await.during(&situation)?;
        admitted_again(&stage).await.during(&situation)?;
    }
    Ok(())
}

/// The caller leaves while `side` works, before or after its first event; `side` must see the connection closed.
async fn leaves(stage: &Stage, side: &Scripted, model: &str, begun: bool) -> Verdict {
    let gate = Gate::new();
    let play = if begun { Play::stream().event(&chat_text("m", "begun")) } else { Play::default() };
    side.on_any(play.gate(&gate));
    let mut client = stage.client().await?;
    client.send(request(Surface::ChatStream, model).bytes()).await?;
    gate.reached().await?;
    if begun {
        same("the status", &client.head().await?.status(), &200)?;
        client.event().await?;
    }
    let connection = side.journal().calls().last().map_or(0, |heard| heard.connection);
    drop(client);
    side.journal().closed_by_peer(connection).await
}

/// The upstream takes one call at a time, so a permit that was kept would refuse this one.
async fn admitted_again(stage: &Stage) -> Verdict {
    stage.upstream.choose(|_| true, upstream::success);
    eventually("the permit to come back", || async {
        let answer = stage.ask(&request(Surface::ChatStream, "org/chat")).await?;
        Ok(answer.head.status() == 200)
    })
    .await
}
