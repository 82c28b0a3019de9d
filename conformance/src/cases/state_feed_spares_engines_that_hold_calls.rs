//! Is a call for a model that the engine would hold until it is loaded refused and bridged instead, and only that call?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::sample::{Surface, chat};
use crate::stage::setup::Setup;
use crate::stage::shim::Shim;
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "state_feed_spares_engines_that_hold_calls",
    clause: "an engine that holds a call while it loads is not asked when the call can be bridged; the model is loaded by the shim",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn models(states: &[(&str, &str)]) -> Value {
    let models: serde_json::Map<String, Value> =
        states.iter().map(|(model, state)| ((*model).to_owned(), json!({"state": state}))).collect();
    json!({"preset": "openai", "engine": {"state": "ready"}, "models": models, "gates": true, "unlisted": "absent"})
}

async fn run(bench: Bench) -> Verdict {
    let mut shim = Shim::tells(&[
        models(&[("org/warm", "ready"), ("org/asleep", "asleep")]),
        models(&[("org/warm", "ready"), ("org/asleep", "loading"), ("org/cold", "loading")]),
        models(&[("org/warm", "ready"), ("org/asleep", "ready"), ("org/cold", "ready")]),
    ])
    .await?;
    let setup = Setup::new()
        .preset("openai")
        .engine(&format!("shim = \"{}\"", shim.address().url()))
        .hybrid("org/warm")
        .hybrid("org/asleep")
        .hybrid("org/cold")
        .bridged("org/patient", "hosted", r#"["saturated"]"#)
        .local("org/near");
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.choose(|_| true, |heard| engine::success(Surface::Chat, &heard.model().unwrap_or_default()));
    shim.acted_on().await?;
    for model in ["org/asleep", "org/cold"] {
        stage.ask(&chat(model)).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    }
    // Nobody else would serve these: the engine may hold them, as without us.
    for model in ["org/warm", "org/patient", "org/near", "org/unknown"] {
        stage.ask(&chat(model)).await?.is(200)?.local()?;
    }
    stage.ask(&chat("org/cold").field("X-SIE-Remote", "forbid")).await?.is(200)?.local()?;
    shim.next().await?;
    for _ in 0..3 {
        stage.ask(&chat("org/cold")).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    }
    shim.next().await?;
    for model in ["org/asleep", "org/cold"] {
        stage.ask(&chat(model)).await?.is(200)?.local()?;
    }
    let mut wishes = shim.wishes();
    wishes.sort_by_key(ToString::to_string);
    same("the wishes", &wishes, &vec![json!("org/asleep"), json!("org/cold")])
}
