//! Is an answer heard that comes while the request is still being written?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::client::Request;
use crate::stage::sample::{Surface, chat_body};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "early_refusal_is_heard",
    clause: "an engine may answer before it has read the body: the answer counts, and a refusal bridges with the whole body",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const SIZE: usize = 7 << 20;

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat").local("org/near")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    // An engine that keeps the connection open and never reads is heard only by who listens while writing.
    for (name, end) in [("open", Play::default().ignore()), ("closed", Play::default().close())] {
        let refusal = Play::from(engine::loading(Surface::Chat)).then(end);
        stage.engine.early_on_path("/v1/chat/completions", refusal);
        near(&stage).await.during(name)?;
        bridged(&stage).await.during(name)?;
    }
    stage.engine.early_on_path("/v1/chat/completions", Play::from(Answer::json(413, "{}")).ignore());
    let answer = stage.ask(&large("org/chat")).await?;
    answer.is(413)?.carries(b"{}")?.local()?;
    Ok(())
}

fn large(model: &str) -> Request {
    let mut body = chat_body(model);
    body["messages"][0]["content"] = "a".repeat(SIZE).into();
    Request::post("/v1/chat/completions", &body.to_string())
}

async fn near(stage: &Stage) -> Verdict {
    let answer = stage.ask(&large("org/near")).await?;
    let body = engine::error_body(Surface::Chat, 503, "MODEL_LOADING");
    answer.is(503)?.with("Retry-After", "5")?.carries(body.as_bytes())?.local()?;
    Ok(())
}

async fn bridged(stage: &Stage) -> Verdict {
    let answer = stage.ask(&large("org/chat")).await?;
    answer.is(200)?.remote("hosted", Some("model_loading"))?;
    let heard = stage.upstream.journal().calls().pop();
    let length = heard.map(|heard| heard.json()["messages"][0]["content"].as_str().map_or(0, str::len));
    same("the text that the upstream hears", &length, &Some(SIZE))?;
    holds(stage.engine.journal().calls().iter().all(|heard| !heard.whole), "an engine that reads no body", &())
}
