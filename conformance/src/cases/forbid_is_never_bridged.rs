//! Does a request that forbids remote serving stay here?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::Bench;
use crate::stage::engine;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::Setup;
use crate::stage::upstream;

/// The case.
pub(super) const CASE: Case = Case {
    name: "forbid_is_never_bridged",
    clause: "X-SIE-Remote: forbid is never served remotely; on a remote model it is 400 and nothing is sent anywhere",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const SURFACES: [Surface; 6] = [
    Surface::Chat,
    Surface::ChatStream,
    Surface::Completions,
    Surface::CompletionsStream,
    Surface::Generate,
    Surface::Responses,
];

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().hybrid("org/chat").bridged("org/sie", "team-sie", "").remote_only("org/away", "hosted");
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    for (model, surface) in ["org/chat", "org/sie"].into_iter().flat_map(|m| SURFACES.map(|s| (m, s))) {
        stage.engine.on_model(model, engine::loading(surface));
        let answer = stage.ask(&request(surface, model).field("x-sie-remote", "forbid")).await?;
        let body = engine::error_body(surface, 503, "MODEL_LOADING");
        let kept = answer.is(503).and_then(|a| a.with("Retry-After", "5")?.carries(body.as_bytes())?.local());
        kept.during(&format!("{model} {surface:?}"))?;
    }
    for heard in stage.engine.journal().calls() {
        same("the consent that the engine hears", &heard.head.all("X-SIE-Remote"), &vec!["forbid".to_owned()])?;
    }
    let before = 2 * SURFACES.len();
    let answer = stage.ask(&chat("org/away").field("X-SIE-Remote", "forbid")).await?;
    answer.is(400)?.openai_code("INVALID_INPUT")?.undisclosed()?;
    let answer = stage.ask(&chat("org/chat:remote").field("X-SIE-Remote", "forbid")).await?;
    answer.is(400)?.openai_code("INVALID_INPUT")?.undisclosed()?;
    stage.engine.journal().expect_calls("engine", before)?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)
}
