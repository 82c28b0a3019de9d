//! Does a model bridge on its own triggers and on no others?

use crate::case::Case;
use crate::expect::{Findings, Verdict};
use crate::stage::sample::{Surface, chat};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "trigger_list_is_obeyed",
    clause: "a refusal bridges when its trigger is on: provisioning and model_loading unless the model says otherwise",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const TRIGGERS: [&str; 4] = ["provisioning", "model_loading", "saturated", "unhealthy"];

const REFUSALS: [(u16, &str, Option<&str>, &str); 5] = [
    (503, "PROVISIONING", Some("60"), "provisioning"),
    (503, "MODEL_LOADING", Some("5"), "model_loading"),
    (503, "MODEL_NOT_LOADED", None, "model_loading"),
    (503, "QUEUE_FULL", Some("1"), "saturated"),
    (502, "MODEL_LOAD_FAILED", None, "unhealthy"),
];

async fn run(bench: Bench) -> Verdict {
    let mut setup = Setup::new().hybrid("org/default");
    for trigger in TRIGGERS {
        setup = setup.bridged(&format!("org/{trigger}"), "hosted", &format!("[\"{trigger}\"]"));
    }
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut findings = Findings::default();
    for (status, code, retry_after, trigger) in REFUSALS {
        for name in TRIGGERS.iter().chain(&["default"]) {
            let on = *name == trigger || *name == "default" && ["provisioning", "model_loading"].contains(&trigger);
            let model = format!("org/{name}");
            stage.engine.on_model(&model, engine::refusal(Surface::Chat, status, code, retry_after));
            let seen = decided(&stage, &model, on.then_some(trigger), status, code).await;
            findings.note(&format!("{code} with the triggers of {model}"), seen);
        }
    }
    findings.verdict()
}

async fn decided(stage: &Stage, model: &str, bridged: Option<&str>, status: u16, code: &str) -> Verdict {
    let answer = stage.ask(&chat(model)).await?;
    match bridged {
        Some(trigger) => answer.is(200)?.remote("hosted", Some(trigger))?,
        None => answer.is(status)?.openai_code(code)?.local()?,
    };
    Ok(())
}
