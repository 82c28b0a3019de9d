//! When the engine may have begun the work, is it never begun a second time?

use crate::case::Case;
use crate::expect::{Findings, Verdict, same};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::sample::Surface;
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "nothing_runs_twice",
    clause: "a timeout is 504 ENGINE_TIMEOUT, a reset after the request was written 502 ENGINE_RESET, a malformed answer 502 ENGINE_PROTOCOL: never bridged, never sent again",
    faults: &["L7", "L8"],
    run: |bench| Box::pin(run(bench)),
};

const ALL_TRIGGERS: &str = r#"["provisioning", "model_loading", "saturated", "unhealthy"]"#;

fn breakages() -> Vec<(&'static str, Play, u16, &'static str)> {
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}";
    vec![
        ("reset", Play::reset(), 502, "ENGINE_RESET"),
        ("closed", Play::default().close(), 502, "ENGINE_RESET"),
        ("half", Play::raw("HTTP/1.1 503 Serv").cut(), 502, "ENGINE_RESET"),
        ("hang", Play::hang(), 504, "ENGINE_TIMEOUT"),
        ("noise", Play::raw("SSH-2.0-nothing\r\n\r\n").close(), 502, "ENGINE_PROTOCOL"),
        ("both", Play::raw(both).close(), 502, "ENGINE_PROTOCOL"),
        ("two", Play::raw(two).close(), 502, "ENGINE_PROTOCOL"),
    ]
}

async fn run(bench: Bench) -> Verdict {
    let mut setup = Setup::new()
        .engine("max_in_flight = 2")
        .engine("timeouts = { connect_ms = 250, first_byte_s = 0.3, idle_s = 300 }");
    for (name, ..) in breakages() {
        setup = setup.bridged(&format!("org/{name}"), "hosted", ALL_TRIGGERS).local(&format!("near/{name}"));
    }
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut findings = Findings::default();
    for (name, play, status, code) in breakages() {
        for model in [format!("org/{name}"), format!("near/{name}")] {
            stage.engine.on_model(&model, play.clone());
            findings.note(&model, failed_once(&stage, &model, status, code).await);
        }
    }
    findings.verdict()?;
    // The next caller is served as if nothing had been.
    stage.engine.on_model("org/reset", Answer::json(200, "{}"));
    stage.ask(&secretive(Surface::Chat, "org/reset")).await?.is(200)?.local()?;
    // A connection that is reset before the engine reads may have carried the request all the same.
    stage.engine.close_idle();
    stage.engine.reset_connections();
    stage.ask(&secretive(Surface::Chat, "org/reset")).await?.is(502)?.openai_code("ENGINE_RESET")?.local()?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    clean(stage, 4 * breakages().len() + 2).await
}

async fn failed_once(stage: &Stage, model: &str, status: u16, code: &str) -> Verdict {
    let answer = stage.ask(&secretive(Surface::Chat, model)).await?;
    answer.is(status)?.openai_code(code)?.local()?.without("Retry-After")?;
    let answer = stage.ask(&secretive(Surface::Generate, model)).await?;
    answer.is(status)?.native_code(code)?.local()?;
    same("calls to the engine", &stage.engine.journal().heard_of(model).len(), &2)
}
