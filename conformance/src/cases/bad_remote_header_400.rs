//! Is a consent header that says anything but `forbid`, once and plainly, rejected?

use crate::case::Case;
use crate::expect::{Findings, Verdict, same};
use crate::stage::client::Request;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "bad_remote_header_400",
    clause: "X-SIE-Remote is absent or exactly `forbid`: another value, a second one, another spelling or a nomination in Connection is 400",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn spellings() -> Vec<Vec<&'static str>> {
    let mut all: Vec<Vec<&str>> = [
        "X-SIE-Remote: allow",
        "X-SIE-Remote: Forbid",
        "x-sie-remote: FORBID",
        "X-SIE-Remote:",
        "X-SIE-Remote: ",
        "X-SIE-Remote: forbid,forbid",
        "X-SIE-Remote: forbid, forbid",
        "X-SIE-Remote: \"forbid\"",
        "X-SIE-Remote: forbid;q=1",
        "X_SIE_REMOTE: forbid",
        "X-SIE_Remote: forbid",
        "x_sie-remote: allow",
    ]
    .into_iter()
    .map(|line| vec![line])
    .collect();
    all.push(vec!["X-SIE-Remote: forbid", "X-SIE-Remote: forbid"]);
    all.push(vec!["X-SIE-Remote: forbid", "x-sie-remote: allow"]);
    all.push(vec!["X-SIE-Remote: forbid", "X_SIE_REMOTE: forbid"]);
    all.push(vec!["Connection: X-SIE-Remote", "X-SIE-Remote: forbid"]);
    all.push(vec!["X-SIE-Remote: forbid", "connection: keep-alive, x-sie-remote"]);
    all
}

fn with(request: Request, lines: &[&str]) -> Request {
    lines.iter().fold(request, |request, line| request.line(line))
}

async fn rejected(stage: &Stage, request: &Request) -> Verdict {
    stage.ask(request).await?.is(400)?.openai_error()?.undisclosed()?;
    Ok(())
}

async fn run(bench: Bench) -> Verdict {
    let stage =
        bench.stage(Setup::new().hybrid("org/chat").remote_only("org/away", "hosted").local("org/near")).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    stage.upstream.choose(|_| true, upstream::success);
    let mut findings = Findings::default();
    for lines in spellings() {
        for model in ["org/chat", "org/away", "org/near", "org/unknown"] {
            findings.note(&format!("{lines:?} {model}"), rejected(&stage, &with(chat(model), &lines)).await);
        }
    }
    findings.verdict()?;
    let native = stage.ask(&with(request(Surface::Generate, "org/chat"), &["X-SIE-Remote: allow"])).await?;
    native.is(400)?.native_code("INVALID_INPUT")?.undisclosed()?;
    let openai = stage.ask(&with(chat("org/chat"), &["X-SIE-Remote: allow"])).await?;
    openai.is(400)?.openai_code("INVALID_INPUT")?.undisclosed()?;
    let audio = stage.ask(&with(request(Surface::Audio, "org/unknown"), &["X-SIE-Remote: allow"])).await?;
    audio.is(400)?.openai_code("invalid_request")?.undisclosed()?;
    stage.engine.journal().expect_calls("engine", 0)?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)
}
