//! Do many calls that are refused while the engine sleeps make one wish and one line in the log, not one for each?

use std::time::Instant;

use crate::case::Case;
use crate::expect::{Verdict, holds};
use crate::stage::patience::eventually;
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::shim::{self, Shim};
use crate::stage::{Bench, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "refused_calls_wish_once",
    clause: "a wish that was heard is repeated only when the engine's state has had time to follow, and the log is told of it once a second at most",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const CALLS: usize = 300;

async fn run(bench: Bench) -> Verdict {
    // It stays asleep, as an engine does that somebody else has to start.
    let shim = Shim::tells(&[shim::engine("asleep")]).await?;
    let setup =
        Setup::new().preset("openai").engine(&format!("shim = \"{}\"", shim.address().url())).hybrid("org/chat");
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    shim.acted_on().await?;
    let began = Instant::now();
    let mut client = stage.client().await?;
    for _ in 0..CALLS {
        client.ask(&chat("org/chat")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    }
    eventually("a wish", || async { Ok(!shim.wishes().is_empty()) }).await?;
    stage.sidecar.says("asked for a load").await?;
    let (wishes, said) = (shim.wishes().len(), stage.sidecar.stderr());
    // After both were read: a slow machine gives time for more.
    let passed = began.elapsed();
    holds(wishes as u128 <= 1 + passed.as_millis() / 250, "a wish in each quarter of a second at most", &wishes)?;
    let lines = said.lines().filter(|line| line.contains("asked for a load")).count();
    holds(lines as u64 <= 1 + passed.as_secs(), "a line in each second at most", &lines)
}
