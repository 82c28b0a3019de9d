//! Once an answer has begun, is it that answer or none?

use crate::case::Case;
use crate::expect::{During, Verdict, contains, holds, lacks, same};
use crate::stage::sample::{Surface, chat, chat_role, chat_text, request};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "no_fallback_after_first_byte",
    clause: "nothing falls back after the first byte, and nothing is replayed: not to the upstream, not to the engine",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const ALL_TRIGGERS: &str = r#"["provisioning", "model_loading", "saturated", "unhealthy"]"#;

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new()
        .bridged("org/stream", "hosted", ALL_TRIGGERS)
        .bridged("org/whole", "hosted", ALL_TRIGGERS)
        .bridged("org/far", "hosted", ALL_TRIGGERS);
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    engine_stream_breaks(&stage).await.during("the engine's stream breaks")?;
    engine_body_breaks(&stage).await.during("the engine's body breaks")?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    upstream_stream_breaks(&stage).await.during("the upstream's stream breaks")
}

async fn engine_stream_breaks(stage: &Stage) -> Verdict {
    let play = Play::stream().event(&chat_role("org/stream")).event(&chat_text("org/stream", "begun")).cut();
    stage.engine.on_model("org/stream", play);
    let answer = stage.ask(&request(Surface::ChatStream, "org/stream")).await?;
    answer.is(200)?.local()?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    contains("the stream", &text, "begun")?;
    lacks("a broken stream", &text, "[DONE]")?;
    lacks("a local stream", &text, "remote")?;
    same("calls to the engine", &stage.engine.journal().heard_of("org/stream").len(), &1)
}

async fn engine_body_breaks(stage: &Stage) -> Verdict {
    let play = Play::raw(Answer::new(200).field("Content-Length", "1000").head()).send("half an answer").cut();
    stage.engine.on_model("org/whole", play);
    let answer = stage.ask(&chat("org/whole")).await?;
    answer.is(200)?.local()?;
    holds(!answer.whole, "the caller to see the body cut", &answer)?;
    same("calls to the engine", &stage.engine.journal().heard_of("org/whole").len(), &1)
}

async fn upstream_stream_breaks(stage: &Stage) -> Verdict {
    stage.engine.on_model("org/far", engine::loading(Surface::ChatStream));
    let play = Play::stream().event(&chat_text("vendor/far", "begun")).cut();
    stage.upstream.on_model("vendor/far", play);
    let answer = stage.ask(&request(Surface::ChatStream, "org/far")).await?;
    answer.is(200)?.remote("hosted", Some("model_loading"))?;
    lacks("a broken stream", &String::from_utf8_lossy(&answer.body), "[DONE]")?;
    stage.upstream.journal().expect_calls("upstream", 1)?;
    same("calls to the engine", &stage.engine.journal().heard_of("org/far").len(), &1)
}
