//! Does the caller get the engine's own refusal back, to the byte, when the upstream does not help?

use crate::case::Case;
use crate::expect::{DISCLOSURE, During, Verdict, same};
use crate::stage::client::Received;
use crate::stage::sample::chat;
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "original_refusal_restored",
    clause: "a failed attempt restores the refusal: status, head lines, body bytes, Retry-After or its absence",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const BODY: &str = "{ \"error\":{\"code\":\"MODEL_LOADING\",  \"message\":\"caf\u{e9}\",\"type\":\"server_error\",\"param\":null} }\n\n";
const UNLOADING: &str = r#"{"error":{"code":"MODEL_NOT_LOADED","message":"m","type":"server_error","param":null}}"#;

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().hybrid("org/odd").hybrid("org/bare").hybrid("org/chunked").local("org/local");
    let stage = bench.stage(setup).await?;
    stage.upstream.on_any(Answer::json(500, "{}"));
    for model in ["org/odd", "org/local"] {
        stage.engine.on_model(model, odd());
    }
    stage.engine.on_model("org/bare", Answer::json(503, UNLOADING).field("Date", "yesterday"));
    stage.engine.on_model("org/chunked", Answer::json(503, BODY).line("retry-after:  5").chunked(7));

    odd_lines_survive(&stage).await.during("odd lines")?;
    let bare = stage.ask(&chat("org/bare")).await?;
    bare.is(503)?.without("Retry-After")?.carries(UNLOADING.as_bytes())?;
    bare.with("Date", "yesterday")?.restored("model_loading", "QUEUE_FULL", "status")?;
    let chunked = stage.ask(&chat("org/chunked")).await?;
    chunked.is(503)?.with("Retry-After", "5")?.carries(BODY.as_bytes())?;
    chunked.restored("model_loading", "QUEUE_FULL", "status")?;
    stage.upstream.journal().expect_calls("upstream", 3)?;
    stage.engine.journal().expect_calls("engine", 4)
}

/// Every line in its order, case and spacing.
fn odd() -> Play {
    Answer::with_start("HTTP/1.1 503 Not Quite Yet")
        .line("date: Mon, 01 Jan 2024 00:00:00 GMT")
        .line("X-Zeta: 1")
        .line("server:scripted")
        .line("RETRY-AFTER: 7")
        .line("content-TYPE: application/json; charset=utf-8")
        .line("x-alpha:   two  words ")
        .line("X-Zeta: 2")
        .body(BODY)
        .length()
        .line("X-Last: ")
        .into()
}

async fn odd_lines_survive(stage: &Stage) -> Verdict {
    let restored = stage.ask(&chat("org/odd")).await?;
    restored.is(503)?.carries(BODY.as_bytes())?.restored("model_loading", "QUEUE_FULL", "status")?;
    same_lines(&restored)?;
    let local = stage.ask(&chat("org/local")).await?;
    local.carries(BODY.as_bytes())?.local()?;
    same_lines(&local)
}

fn same_lines(seen: &Received) -> Verdict {
    let wanted: Vec<String> = odd_head_lines();
    let disclosed = |line: &String| DISCLOSURE.iter().any(|name| line.starts_with(name));
    let lines: Vec<String> = seen.head.lines().into_iter().filter(|line| !disclosed(line)).collect();
    same("the head lines without the disclosure", &lines, &wanted)?;
    same("the status line", &seen.head.start(), &"HTTP/1.1 503 Not Quite Yet".to_owned())
}

fn odd_head_lines() -> Vec<String> {
    let length = format!("Content-Length: {}", BODY.len());
    ["date: Mon, 01 Jan 2024 00:00:00 GMT", "X-Zeta: 1", "server:scripted", "RETRY-AFTER: 7"]
        .into_iter()
        .chain([
            "content-TYPE: application/json; charset=utf-8",
            "x-alpha:   two  words ",
            "X-Zeta: 2",
            &length,
            "X-Last: ",
        ])
        .map(str::to_owned)
        .collect()
}
