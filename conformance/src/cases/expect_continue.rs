//! Is a caller that asks before it sends its body told to go on?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::sample::{Surface, chat};
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "expect_continue",
    clause: "Expect: 100-continue is answered with one 100, then the request is served as any other",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/cold").local("org/near")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.on_model("org/near", engine::success(Surface::Chat, "org/near"));
    stage.engine.on_model("org/unknown", engine::success(Surface::Chat, "org/unknown"));
    stage.engine.on_model("org/cold", engine::loading(Surface::Chat));
    let mut client = stage.client().await?;
    for model in ["org/near", "org/unknown", "org/cold"] {
        let request = chat(model).field("Expect", "100-continue");
        client.send(request.head()).await?;
        same("the first status", &client.head().await?.status(), &100).during(model)?;
        client.send(&request.bytes()[request.head().len()..]).await?;
        let answer = client.answer().await.during(model)?;
        same("further 100s", &answer.interim.len(), &0).during(model)?;
        let served = match model {
            "org/cold" => answer.remote("hosted", Some("model_loading")),
            _ => answer.local(),
        };
        served.and_then(|answer| answer.is(200)).during(model)?;
        let heard = stage.engine.journal().heard_of(model);
        same("calls to the engine", &heard.len(), &1).during(model)?;
        same("the body that the engine hears", &heard[0].json()["model"], &model.into())?;
    }
    stage.upstream.journal().expect_calls("upstream", 1)
}
