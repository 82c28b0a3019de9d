//! When an engine refuses and accepts by turns, does every request get its own decision?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::sample::Surface;
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "flapping_engine_is_asked_each_time",
    clause: "an engine that refuses and accepts by turns, or goes and comes, decides each request anew: nothing is remembered from the last",
    faults: &["L20"],
    run: |bench| Box::pin(run(bench)),
};

const ROUNDS: usize = 20;

async fn run(bench: Bench) -> Verdict {
    refusing(&bench).await.during("refusing")?;
    vanishing(&bench).await.during("vanishing")
}

async fn refusing(bench: &Bench) -> Verdict {
    let stage = bench.stage(Setup::new().engine("max_in_flight = 2").hybrid("org/a").hybrid("org/b")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    for (model, first) in [("org/a", 0), ("org/b", 1)] {
        let play = |round: usize| match round % 2 {
            0 => engine::success(Surface::Chat, model),
            _ => Play::from(engine::loading(Surface::Chat)),
        };
        stage.engine.turns(model, (first..ROUNDS + first).map(play).collect());
    }
    for round in 0..ROUNDS {
        let (accepted, refused) = if round % 2 == 0 { ("org/a", "org/b") } else { ("org/b", "org/a") };
        let (here, there) = (secretive(Surface::Chat, accepted), secretive(Surface::Chat, refused));
        let (here, there) = tokio::join!(stage.ask(&here), stage.ask(&there));
        here?.is(200)?.local().during(&format!("round {round}"))?;
        there?.is(200)?.remote("hosted", Some("model_loading")).during(&format!("round {round}"))?;
    }
    stage.engine.journal().expect_calls("engine", 2 * ROUNDS)?;
    stage.upstream.journal().expect_calls("upstream", ROUNDS)?;
    clean(stage, 2 * ROUNDS).await
}

/// The whole engine goes and comes.
async fn vanishing(bench: &Bench) -> Verdict {
    let setup = Setup::new().engine("max_in_flight = 2").bridged("org/sick", "hosted", r#"["unhealthy"]"#);
    let mut stage = bench.stage(setup.local("org/near")).await?;
    stage.upstream.choose(|_| true, upstream::success);
    for model in ["org/near", "org/sick"] {
        stage.engine.on_model(model, engine::success(Surface::Chat, model));
    }
    for _ in 0..ROUNDS {
        for model in ["org/near", "org/sick"] {
            stage.ask(&secretive(Surface::Chat, model)).await?.is(200)?.local()?;
        }
        stage.engine.stop().await?;
        stage.ask(&secretive(Surface::Chat, "org/near")).await?.is(503)?.openai_code("ENGINE_UNREACHABLE")?.local()?;
        stage.ask(&secretive(Surface::Chat, "org/sick")).await?.is(200)?.remote("hosted", Some("unhealthy"))?;
        stage.engine.resume()?;
    }
    same("calls to the engine", &stage.engine.journal().calls().len(), &(2 * ROUNDS))?;
    stage.upstream.journal().expect_calls("upstream", ROUNDS)?;
    clean(stage, 4 * ROUNDS).await
}
