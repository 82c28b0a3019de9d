//! When the engine breaks off while a request is being written to it, is that request lost rather than doubled?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::client::Request;
use crate::stage::sample::Surface;
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "half_written_body_is_not_sent_again",
    clause: "a reset in the middle of the request's body, held or not, is 502 ENGINE_RESET: never bridged, never sent again",
    faults: &["L9"],
    run: |bench| Box::pin(run(bench)),
};

const ALL_TRIGGERS: &str = r#"["provisioning", "model_loading", "saturated", "unhealthy"]"#;
const CHAT: &str = "/v1/chat/completions";
/// More than a socket takes from one who writes to nobody that reads.
const LARGE: usize = 12 * 1024 * 1024;
/// What the engine reads of it.
const READ: usize = 100_000;

async fn run(bench: Bench) -> Verdict {
    held(&bench).await.during("held")?;
    unheld(&bench).await.during("unheld")
}

fn setup(most: usize) -> Setup {
    Setup::new().listen(&format!("max_body_bytes = {most}")).engine("max_in_flight = 2").bridged(
        "org/chat",
        "hosted",
        ALL_TRIGGERS,
    )
}

/// The model comes first: a body that is too large to hold is judged by its beginning.
fn large(model: &str, bytes: usize) -> Request {
    let text = "x".repeat(bytes);
    let body =
        format!(r#"{{"model": "{model}", "messages": [{{"role": "user", "content": "{text}"}}], "max_tokens": 16}}"#);
    Request::post(CHAT, &body)
}

async fn held(bench: &Bench) -> Verdict {
    let stage = breaking(bench, 2 * LARGE).await?;
    for _ in 0..3 {
        stage.ask(&large("org/chat", LARGE)).await?.is(502)?.openai_code("ENGINE_RESET")?.local()?;
    }
    ran_once_each(stage, 3).await
}

/// What nobody may bridge is passed on as it comes: the caller has not even written the rest.
async fn unheld(bench: &Bench) -> Verdict {
    let stage = breaking(bench, 64 * 1024).await?;
    for _ in 0..3 {
        let mut client = stage.client().await?;
        client.send(&large("org/near", 4 * READ).bytes()[..2 * READ]).await?;
        client.answer().await?.is(502)?.openai_code("ENGINE_RESET")?.local()?;
    }
    ran_once_each(stage, 3).await
}

async fn breaking(bench: &Bench, most: usize) -> Verdict<Stage> {
    let stage = bench.stage(setup(most)).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.early_on_path(CHAT, Play::default().take(READ).cut());
    Ok(stage)
}

async fn ran_once_each(stage: Stage, count: usize) -> Verdict {
    stage.engine.journal().expect_calls("engine", count)?;
    holds(stage.engine.journal().calls().iter().all(|heard| !heard.whole), "bodies cut in half", &count)?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    // The next caller is served as if nothing had been.
    let after = "/v1/embeddings";
    stage.engine.on_path(after, engine::success(Surface::Embeddings, "org/vectors"));
    stage.ask(&secretive(Surface::Embeddings, "org/vectors")).await?.is(200)?.local()?;
    clean(stage, count + 1).await
}
