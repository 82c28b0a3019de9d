//! Are requests that come in one go answered one after the other?

use crate::case::Case;
use crate::expect::{Verdict, contains, same};
use crate::stage::gate::Gate;
use crate::stage::sample::{Surface, chat};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "pipelined_requests_answered_in_order",
    clause: "pipelined requests are answered in their order, each by its own answer, local, remote or rejected",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/cold")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let gate = Gate::new();
    stage.engine.on_model("org/slow", Play::default().gate(&gate).then(engine::success(Surface::Chat, "org/slow")));
    stage.engine.on_model("org/fast", engine::success(Surface::Chat, "org/fast"));
    stage.engine.on_model("org/cold", engine::loading(Surface::Chat));

    let rejected = chat("org/cold").field("X-SIE-Remote", "allow");
    let requests = [chat("org/slow"), chat("org/fast"), chat("org/cold"), rejected, chat("org/fast")];
    let mut client = stage.client().await?;
    let bytes: Vec<u8> = requests.iter().flat_map(|request| request.bytes()).collect();
    client.send(bytes).await?;
    gate.reached().await?;
    gate.open();

    contains("the first answer", &text(&client.answer().await?.is(200)?.local()?.body), "org/slow")?;
    contains("the second answer", &text(&client.answer().await?.is(200)?.local()?.body), "org/fast")?;
    let third = client.answer().await?;
    third.is(200)?.remote("hosted", Some("model_loading"))?;
    contains("the third answer", &text(&third.body), "org/cold")?;
    client.answer().await?.is(400)?.undisclosed()?;
    // Spillway may close after a rejection. Whatever follows must be the fifth answer, whole.
    if let Ok(fifth) = client.answer().await {
        contains("the fifth answer", &text(&fifth.is(200)?.local()?.body), "org/fast")?;
    }
    same("calls to the upstream", &stage.upstream.journal().calls().len(), &1)
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}
