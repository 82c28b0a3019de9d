//! Are the recorded bridge decisions taken as recorded?
//!
//! `fixtures/bridge_cases.json` holds decisions of the SIE contract: what the caller asked, what the engine and the upstream
//! said, and what the caller must get. The cases that do not turn on numerical equivalence run here, each as a real exchange.
//! Three rules of Spillway's own stand above the recording: Served-By also stands on local refusals and engine errors, a failed
//! OpenAI stream ends without `[DONE]`, and a stream commits on content.

mod check;
mod plan;
mod script;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::case::{Job, run_jobs};
use crate::expect::{During, Finding, Verdict};
use crate::matches;
use crate::report::Report;
use crate::stage::sample::chat;
use crate::stage::script::Answer;
use crate::stage::setup::{Setup, Upstream};
use crate::stage::{Bench, Binaries, Nowhere, Stage};
use plan::Plan;

const FIXTURE: &str = include_str!("../fixtures/bridge_cases.json");

/// Runs the recorded decisions whose name contains `filter`.
pub async fn run(bin: &Path, filter: Option<&str>) -> Report {
    let plans = plans();
    let chosen: Vec<Plan> = plans.into_iter().filter(|plan| matches(&plan.name, filter)).collect();
    let bench = Bench::new(&Binaries::beside(bin));
    // Kept to the end: its port must go on refusing.
    let nowhere = Nowhere::new();
    let shared = match &nowhere {
        Ok(nowhere) => shared(&bench, &chosen, nowhere).await.map(Arc::new),
        Err(finding) => Err(finding.clone()),
    };
    let jobs = chosen.into_iter().map(|plan| job(plan, &bench, &shared)).collect();
    run_jobs("bridge decisions", jobs).await
}

fn plans() -> Vec<Plan> {
    let fixture: Value = serde_json::from_str(FIXTURE).expect("the fixture in this crate is JSON");
    let cases = fixture["cases"].as_array().cloned().unwrap_or_default();
    let plain = cases.into_iter().filter(|case| case["numerical_admission"].is_null());
    plain.enumerate().map(|(number, case)| Plan::new(number, case)).collect()
}

/// One stage for all cases that need nothing of their own: each has its own model.
async fn shared(bench: &Bench, plans: &[Plan], nowhere: &Nowhere) -> Verdict<Stage> {
    let gone = Upstream::sie("gone").at(nowhere.address());
    let setup = Setup::new().upstream(Upstream::openai("vendor")).upstream(gone);
    let mine = plans.iter().filter(|plan| !plan.needs_own_stage());
    let stage = bench.stage(mine.clone().fold(setup, |setup, plan| setup.table(&plan.table()))).await?;
    mine.for_each(|plan| script::play(plan, &stage));
    Ok(stage)
}

fn job(plan: Plan, bench: &Bench, shared: &Verdict<Arc<Stage>>) -> Job {
    let (bench, shared) = (bench.clone(), shared.clone());
    Job {
        name: plan.name.clone(),
        clause: plan.clause(),
        run: Box::pin(async move {
            if plan.needs_own_stage() {
                return alone(&plan, &bench).await;
            }
            check::exchange(&plan, &*shared.map_err(|finding| Finding::new(format!("no stage: {finding}")))?).await
        }),
    }
}

/// The cases about the switch and about the breaker change what all models share.
async fn alone(plan: &Plan, bench: &Bench) -> Verdict {
    let setup = Setup::new().upstream(Upstream::sie("team-sie").breaker(1, 60)).bridged("conf/breaks", "team-sie", "");
    let setup = if plan.is_switched_off() { setup.top("remote_serving = false") } else { setup };
    let stage = bench.stage(setup.table(&plan.table())).await?;
    script::play(plan, &stage);
    if plan.finds_breaker_open() {
        stage.engine.on_model("conf/breaks", script::loading());
        stage.upstream.on_model("vendor/breaks", Answer::json(500, "{}"));
        stage.ask(&chat("conf/breaks")).await?.is(503).during("the call that opens the breaker")?;
    }
    check::exchange(plan, &stage).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_decision_that_needs_no_equivalence_is_planned() {
        let plans = plans();
        assert_eq!(plans.len(), 109);
        let mut names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 109, "names are unique");
    }
}
