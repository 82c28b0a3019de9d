//! Does an answer to HEAD end with its head, whatever length it states?

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::Bench;
use crate::stage::client::Request;
use crate::stage::engine;
use crate::stage::sample::{Surface, chat};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;

/// The case.
pub(super) const CASE: Case = Case {
    name: "head_request_has_no_body",
    clause: "answers to HEAD, 204 and 304 have no body: the next answer on the connection is the next request's",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new()).await?;
    stage.engine.on_path("/sized", Play::raw(Answer::new(200).field("Content-Length", "500").head()));
    stage.engine.on_path("/chunky", Play::raw(Answer::new(200).field("Transfer-Encoding", "chunked").head()));
    stage.engine.on_path("/none", Play::raw(Answer::new(204).head()));
    stage.engine.on_path("/same", Play::raw(Answer::new(304).field("Content-Length", "500").head()));
    stage.engine.on_model("org/chat", engine::success(Surface::Chat, "org/chat"));
    let mut client = stage.client().await?;
    for (method, path, status) in
        [("HEAD", "/sized", 200), ("HEAD", "/chunky", 200), ("GET", "/none", 204), ("GET", "/same", 304)]
    {
        client.send(Request::new(method, path).bytes()).await?;
        let answer = client.answer_to_head().await?;
        answer.is(status)?.local()?;
        let next = client.ask(&chat("org/chat")).await?;
        same("the next answer", &next.is(200)?.local()?.json()?["model"], &"org/chat".into())?;
    }
    Ok(())
}
