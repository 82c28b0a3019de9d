//! Does the shim learn what is in flight at the engine, so that it ends nothing under a request?

use crate::case::Case;
use crate::expect::{Verdict, holds, same};
use crate::stage::Bench;
use crate::stage::gate::Gate;
use crate::stage::journal::Record;
use crate::stage::sample::{Surface, chat_events, chat_text, request};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::shim::{self, Shim, activity};

/// The case.
pub(super) const CASE: Case = Case {
    name: "activity_is_told_to_the_shim",
    clause: "the shim is told which snapshot is acted on and how many requests are at the engine, a stream counting until its end",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut shim = Shim::tells(&[shim::engine("ready"), shim::engine("draining")]).await?;
    let setup = Setup::new().preset("openai").engine(&format!("shim = \"{}\"", shim.address().url()));
    let stage = bench.stage(setup).await?;
    let gate = Gate::new();
    let play = Play::stream().event(&chat_text("m", "begun")).gate(&gate);
    let play = chat_events("m", &["finished"]).iter().fold(play, |play, event| play.event(event)).end();
    stage.engine.on_model("org/chat", play);
    shim.acted_on().await?;
    let mut client = stage.client().await?;
    client.send(request(Surface::ChatStream, "org/chat").bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    client.event().await?;
    shim.next().await?;
    let last = |record: &Record| record.heard.iter().filter_map(activity).next_back();
    shim.scripted
        .journal()
        .until("the stream to be told of", |record| {
            last(record).is_some_and(|told| told["in_flight"] == 1 && told["seq"] == 2 && told["started"] == 1)
        })
        .await?;
    gate.open();
    client.events().await?;
    let record = shim
        .scripted
        .journal()
        .until("its end to be told of", |record| last(record).is_some_and(|told| told["in_flight"] == 0))
        .await?;
    let names: Vec<_> = record.heard.iter().filter_map(activity).map(|told| told["as"].to_string()).collect();
    let subscribed = record.heard.iter().find(|heard| heard.path() == "/state/stream");
    let target = subscribed.map(|heard| heard.head.target().to_owned()).unwrap_or_default();
    let name = target.split_once("?as=").map(|split| format!("\"{}\"", split.1)).unwrap_or_default();
    holds(!name.is_empty() && names.iter().all(|told| *told == name), "the name of the subscription", &names)
}
