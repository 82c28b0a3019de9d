//! Does an idle engine give its memory back, and does the next call bring it back, with nobody waiting for that?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::program::{most_resident_kib, resident_kib};
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::traffic::{Served, Traffic};
use crate::stage::wrapped::{Wrap, Wrapped};
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_idle_engine_sleeps",
    clause: "an idle engine sleeps by its own call, or ends where it has none; its memory goes; the next call is bridged and wakes it, and none is lost",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// What a load takes, in MiB.
const WEIGHTS: u64 = 96;

async fn run(bench: Bench) -> Verdict {
    let wrap = Wrap::vllm().engine(&["--weights-mb", "96"]).shim(&["--idle-sleep-s", "0.5"]);
    by_its_own_call(&bench, wrap.clone()).await.during("by its own call")?;
    // Outside its developer mode it has no such call.
    by_ending(&bench, wrap.env("VLLM_SERVER_DEV_MODE", "0")).await.during("by ending")
}

async fn awake(bench: &Bench, wrap: Wrap) -> Verdict<(Wrapped, Stage)> {
    let mut wrapped = bench.wrapped(wrap)?;
    wrapped.start()?;
    wrapped.director.until("ready", 1).await?;
    let stage = bench.stage(wrapped.beside(Setup::new().hybrid("org/chat"))).await?;
    stage.upstream.choose(|_| true, upstream::success);
    Ok((wrapped, stage))
}

async fn by_its_own_call(bench: &Bench, wrap: Wrap) -> Verdict {
    let (wrapped, stage) = awake(bench, wrap).await?;
    let (director, mut traffic) = (&wrapped.director, Traffic::new(&stage));
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    let id = director.engine()?;
    // It may have slept before, when the stage took long to stand.
    let wake = director.hold("wake");
    director.until("slept", director.count("slept") + 1).await?;
    let (before, after) = (most_resident_kib(id).unwrap_or_default(), resident_kib(id).unwrap_or_default());
    holds(before > after + (WEIGHTS - 8) * 1024, "the weights to go", &(before, after))?;
    wrapped.until("asleep, because idle", |told| is(told, "asleep", "idle")).await?;
    traffic.bridged(&chat("org/chat"), "model_loading").await?;
    wake.reached().await?;
    traffic.bridged(&chat("org/chat"), "model_loading").await?;
    wake.open();
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    same("starts of the engine", &director.count("started"), &1)?;
    finished(&traffic, &wrapped).await
}

async fn by_ending(bench: &Bench, wrap: Wrap) -> Verdict {
    let (wrapped, stage) = awake(bench, wrap).await?;
    let (director, mut traffic) = (&wrapped.director, Traffic::new(&stage));
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    let id = director.engine()?;
    let before = most_resident_kib(id);
    holds(before.is_some_and(|kib| kib > WEIGHTS * 1024), "the weights in memory", &before)?;
    let (load, starts) = (director.hold("load"), director.count("started"));
    director.until(&format!("gone {id}"), 1).await?;
    wrapped.until("asleep, because idle", |told| is(told, "asleep", "idle")).await?;
    same("memory of the engine", &resident_kib(id), &None)?;
    same("how often it ended in order", &director.count("ending"), &starts)?;
    traffic.bridged(&chat("org/chat"), "model_loading").await?;
    load.reached().await?;
    wrapped.until_state("loading").await?;
    traffic.bridged(&chat("org/chat"), "model_loading").await?;
    load.open();
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    same("starts of the engine", &director.count("started"), &(starts + 1))?;
    finished(&traffic, &wrapped).await
}

fn is(told: &serde_json::Value, state: &str, why: &str) -> bool {
    told["engine"]["state"] == state && told["engine"]["why"] == why
}

/// Nothing slept under a call, no call came while it slept, and each was executed once.
async fn finished(traffic: &Traffic<'_>, wrapped: &Wrapped) -> Verdict {
    let told = wrapped.director.told();
    let slept = |line: &&String| line.starts_with("slept") && line.as_str() != "slept under 0";
    same("sleeps under a call", &told.iter().find(slept), &None)?;
    same("calls while it slept", &wrapped.director.count("called asleep"), &0)?;
    traffic.each_once(&wrapped.director).await
}
