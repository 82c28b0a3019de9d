//! Does the shim learn what is in flight at the engine, so that it ends nothing under a request?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::client::Client;
use crate::stage::gate::Gate;
use crate::stage::journal::Record;
use crate::stage::sample::{Surface, chat_events, chat_text, request};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::shim::{self, Shim, activity};
use crate::stage::{Bench, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "activity_is_told_to_the_shim",
    clause: "the shim is told which snapshot is acted on and how many requests are at the engine, a stream counting until its end, and a last word when the sidecar ends",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    a_stream_counts(&bench).await.during("a stream")?;
    the_last_word(&bench).await.during("the end of the sidecar")
}

/// A sidecar beside this shim, and a stream through it that goes on when the gate opens.
async fn streaming(bench: &Bench, shim: &Shim) -> Verdict<(Stage, Client, Gate)> {
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
    Ok((stage, client, gate))
}

fn last(record: &Record) -> Option<Value> {
    record.heard.iter().filter_map(activity).next_back()
}

/// Told every second while nothing changes, so that without a last word the shim would wait for a name that is gone.
async fn the_last_word(bench: &Bench) -> Verdict {
    let shim = Shim::tells(&[shim::engine("ready")]).await?;
    let (mut stage, mut client, gate) = streaming(bench, &shim).await?;
    let counted = |record: &Record| last(record).is_some_and(|told| told["in_flight"] == 1);
    shim.scripted.journal().until("the stream to be told of", counted).await?;
    stage.sidecar.terminate()?;
    gate.open();
    client.events().await?;
    same("the sidecar's exit code", &stage.sidecar.exit().await?.code(), &Some(0))?;
    let heard = shim.scripted.journal().heard();
    let last = heard.iter().filter_map(activity).next_back().unwrap_or_default();
    same("in flight, as told last", &last["in_flight"], &json!(0))?;
    // Whatever is told after that, it acts on it.
    same("the snapshot, as told last", &last["seq"], &json!(u64::MAX))
}

async fn a_stream_counts(bench: &Bench) -> Verdict {
    let mut shim = Shim::tells(&[shim::engine("ready"), shim::engine("draining")]).await?;
    let (_stage, mut client, gate) = streaming(bench, &shim).await?;
    shim.next().await?;
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
