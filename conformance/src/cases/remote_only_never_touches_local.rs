//! Is a remote-backed model served by its upstream alone?

use crate::case::Case;
use crate::expect::{Findings, Verdict, holds};
use crate::stage::client::Received;
use crate::stage::journal::Heard;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::script::Play;
use crate::stage::setup::{Setup, Upstream};
use crate::stage::{Bench, Nowhere, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "remote_only_never_touches_local",
    clause: "remote_only: the engine is not asked; an upstream that is not ready or busy is 503 with a Retry-After of 1 to 60, one that fails 500 or 502",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// Status, code and Retry-After that the upstream sends.
type Told = (u16, Option<&'static str>, Option<&'static str>);

/// The same, as the caller gets them.
type Expected = (u16, &'static str, Option<&'static str>);

/// What the upstream says, and status, code and Retry-After that the caller of the chat surface gets.
const CHAT: [(Told, Expected); 7] = [
    ((503, Some("MODEL_LOADING"), Some("9")), (503, "MODEL_LOADING", Some("9"))),
    ((503, Some("PROVISIONING"), Some("600")), (503, "MODEL_LOADING", Some("60"))),
    ((503, Some("QUEUE_FULL"), Some("0.2")), (503, "QUEUE_FULL", Some("1"))),
    ((429, None, Some("2")), (503, "QUEUE_FULL", Some("2"))),
    ((500, None, None), (503, "QUEUE_FULL", Some("5"))),
    ((401, None, None), (502, "upstream_error", None)),
    ((501, None, None), (502, "upstream_error", None)),
];

async fn run(bench: Bench) -> Verdict {
    let nowhere = Nowhere::new()?;
    let setup = Setup::new()
        .upstream(Upstream::openai("gone").at(nowhere.address()))
        .upstream(Upstream::openai("scarce").rate_cap(1, 8))
        .remote_only("org/away", "hosted")
        .remote_only("org/sie", "team-sie")
        .remote_only("org/gone", "gone")
        .remote_only("org/scarce", "scarce");
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.ask(&chat("org/away")).await?.is(200)?.remote("hosted", None)?;
    stage.ask(&request(Surface::ChatStream, "org/away")).await?.is(200)?.remote("hosted", None)?;
    stage.ask(&request(Surface::Generate, "org/sie")).await?.is(200)?.remote("team-sie", None)?;

    stage.ask(&chat("org/scarce")).await?.is(200)?.remote("scarce", None)?;
    let capped = stage.ask(&chat("org/scarce")).await?;
    capped.is(503)?.openai_code("QUEUE_FULL")?;
    holds(waits(&capped).is_some_and(|seconds| (1..=60).contains(&seconds)), "Retry-After of 1 to 60", &capped.head)?;
    let gone = stage.ask(&chat("org/gone")).await?;
    gone.is(503)?.openai_code("QUEUE_FULL")?.with("Retry-After", "5")?.with("X-SIE-Upstream", "gone")?;

    let mut findings = Findings::default();
    for (told, expected) in CHAT {
        findings.note(&format!("{told:?}"), failing(&stage, told, expected).await);
    }
    findings.verdict()?;
    stage.engine.journal().expect_calls("engine", 0)
}

fn waits(answer: &Received) -> Option<u32> {
    answer.head.field("Retry-After")?.parse().ok()
}

async fn failing(stage: &Stage, told: Told, (status, code, retry_after): Expected) -> Verdict {
    let play = move |heard: &Heard| -> Play { upstream::error(heard, told.0, told.1, told.2) };
    stage.upstream.choose(|_| true, play);
    let answer = stage.ask(&chat("org/away")).await?;
    answer.is(status)?.openai_code(code)?;
    answer.with("X-SIE-Served-By", "remote")?.with("X-SIE-Upstream", "hosted")?.without("X-SIE-Fallback-Reason")?;
    match retry_after {
        Some(seconds) => answer.with("Retry-After", seconds)?,
        None => answer.without("Retry-After")?,
    };
    Ok(())
}
