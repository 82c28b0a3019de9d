//! Does all of it work over Unix sockets?

use crate::case::Case;
use crate::expect::{Verdict, contains, same};
use crate::stage::sample::{Surface, chat, chat_events, request};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "unix_sockets",
    clause: "front and engine may be Unix sockets: answers, streams, bridges and refusals are the same",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let mut stage = bench.stage(Setup::new().unix().hybrid("org/cold").hybrid("org/warm")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.on_model("org/warm", engine::success(Surface::Chat, "org/warm"));
    stage.engine.on_model("org/cold", engine::loading(Surface::Chat));
    let mut client = stage.client().await?;
    client.ask(&chat("org/warm")).await?.is(200)?.local()?;
    client.ask(&chat("org/cold")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    client.ask(&chat("org/warm").field("X-SIE-Remote", "no")).await?.is(400)?;
    stage.engine.on_model("org/warm", Play::events(&chat_events("org/warm", &["streamed"])));
    let answer = stage.ask(&request(Surface::ChatStream, "org/warm")).await?;
    answer.is(200)?.local()?;
    contains("the stream", &String::from_utf8_lossy(&answer.body), "streamed")?;
    stage.engine.journal().expect_calls("engine", 3)?;
    stage.engine.stop().await?;
    stage.ask(&chat("org/warm")).await?.is(503)?.openai_code("ENGINE_UNREACHABLE")?.local()?;
    same("calls to the upstream", &stage.upstream.journal().calls().len(), &1)
}
