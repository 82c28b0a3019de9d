//! Is a head bounded in time, however its bytes trickle in?

use std::time::Duration;

use crate::case::Case;
use crate::expect::{During, Finding, Verdict, same};
use crate::stage::client::Client;
use crate::stage::sample::{Surface, chat};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "dripped_head_408",
    clause: "a head that is not whole within head_timeout_s, or a body within body_timeout_s, is 408, dripped or not",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// Drips are this far apart, so that no gap alone could be what runs out.
const GAP: Duration = Duration::from_millis(20);
/// At the latest after so many drips the answer must be there: many times the time-out.
const DRIPS: usize = 400;

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().listen("head_timeout_s = 0.5").listen("body_timeout_s = 0.5").hybrid("org/chat");
    let stage = bench.stage(setup).await?;
    stage.engine.on_model("org/chat", engine::success(Surface::Chat, "org/chat"));
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nX-Long: ";
    timed_out(&stage, head, None).await.during("a head that stops")?;
    timed_out(&stage, head, Some("a")).await.during("a head that drips")?;
    let body = "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n\r\n{";
    timed_out(&stage, body, None).await.during("a body that stops")?;
    let chunks = "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n";
    timed_out(&stage, chunks, None).await.during("chunks that stop")?;
    stage.engine.journal().expect_calls("engine", 0)?;
    stage.ask(&chat("org/chat")).await?.is(200)?.local()?;
    Ok(())
}

async fn timed_out(stage: &Stage, start: &str, drip: Option<&str>) -> Verdict {
    let mut client = stage.client().await?;
    client.send(start).await?;
    if let Some(drip) = drip {
        dripped(&mut client, drip).await?;
    }
    let answer = client.answer().await?;
    same("the status", &answer.head.status(), &408)?;
    client.ended().await?;
    Ok(())
}

async fn dripped(client: &mut Client, drip: &str) -> Verdict {
    for _ in 0..DRIPS {
        if client.heard_within(GAP).await {
            return Ok(());
        }
        // The front may have closed just now; its answer is read afterwards.
        client.send(drip).await.ok();
    }
    Err(Finding::new("a dripped head was never answered"))
}
