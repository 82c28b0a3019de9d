//! Is a call refused at once, with the engine left alone, when the shim says that the engine is not there?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{During, Findings, Verdict, holds, same};
use crate::stage::client::Request;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::setup::Setup;
use crate::stage::shim::{self, Shim};
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "state_feed_refuses_before_asking",
    clause: "with a shim that knows the engine is not there, the refusal is made at once, in the surface's shape; a lost feed means that the engine is tried",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// A state, why, and the refusal that it means: status, code, Retry-After, trigger.
type Row = (&'static str, Option<&'static str>, u16, &'static str, Option<&'static str>, &'static str);

const STATES: [Row; 7] = [
    ("absent", None, 503, "PROVISIONING", Some("5"), "provisioning"),
    ("starting", None, 503, "PROVISIONING", Some("5"), "provisioning"),
    ("loading", None, 503, "MODEL_LOADING", Some("5"), "model_loading"),
    ("asleep", None, 503, "MODEL_LOADING", Some("5"), "model_loading"),
    ("saturated", None, 503, "QUEUE_FULL", Some("1"), "saturated"),
    ("draining", None, 503, "ENGINE_UNREACHABLE", Some("5"), "unhealthy"),
    ("unhealthy", Some("load_failed"), 502, "MODEL_LOAD_FAILED", None, "unhealthy"),
];

fn snapshots() -> Vec<Value> {
    let mut told: Vec<Value> = STATES
        .iter()
        .map(|(state, why, ..)| {
            let mut told = shim::engine(state);
            if let Some(why) = why {
                told["engine"]["why"] = (*why).into();
            }
            told
        })
        .collect();
    let mut learned = shim::engine("loading");
    learned["engine"]["ready_in_ms"] = json!(42_000);
    told.push(learned);
    // Not well, and perhaps able to serve.
    told.push(shim::engine("unhealthy"));
    told.push(shim::engine("ready"));
    told.push(shim::engine("absent"));
    told
}

async fn run(bench: Bench) -> Verdict {
    let mut shim = Shim::tells(&snapshots()).await?;
    let mut setup =
        Setup::new().preset("openai").engine(&format!("shim = \"{}\"", shim.address().url())).local("org/near");
    for trigger in ["provisioning", "model_loading", "saturated", "unhealthy"] {
        setup = setup.bridged(&format!("org/{trigger}"), "hosted", &format!("[\"{trigger}\"]"));
    }
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    stage.engine.choose(|_| true, |heard| engine::success(Surface::Chat, &heard.model().unwrap_or_default()));
    shim.acted_on().await?;
    let mut findings = Findings::default();
    for (state, _, status, code, wait, trigger) in STATES {
        let seen = refused(&stage, status, code, wait, trigger).await;
        findings.note(state, seen);
        if state != "saturated" {
            // The list of models is ours: the engine would hold the question, too.
            findings
                .note(&format!("{state}, the list"), stage.ask(&Request::get("/v1/models")).await?.is(200).map(|_| ()));
        }
        if ["asleep", "draining"].contains(&state) {
            findings.note(&format!("{state}, no inference"), left_alone(&stage, code).await);
        }
        shim.next().await?;
    }
    findings.verdict()?;
    same("calls at the engine", &calls(&stage), &0)?;
    woken(&shim).during("the wishes")?;
    crate::stage::patience::eventually("the access line to say so", || async {
        Ok(stage.sidecar.stderr().lines().any(|line| line.contains(r#""foreseen":true"#)))
    })
    .await?;

    let answer = stage.ask(&chat("org/near")).await?;
    answer.is(503)?.openai_code("MODEL_LOADING")?.with("Retry-After", "42")?.local()?;
    shim.next().await?;
    may_serve(&stage).await.during("unhealthy")?;
    shim.next().await?;
    stage.ask(&chat("org/near")).await?.is(200)?.local()?;
    shim.next().await?;
    stage.ask(&chat("org/near")).await?.is(503)?.openai_code("PROVISIONING")?;
    lost(&stage, &shim).await.during("the feed is lost")
}

/// Every caller is refused, also of models that nobody configured; the model whose trigger is on is served elsewhere.
async fn refused(stage: &Stage, status: u16, code: &str, wait: Option<&str>, trigger: &str) -> Verdict {
    for model in ["org/near", "org/unknown"] {
        let answer = stage.ask(&chat(model)).await?;
        answer.is(status)?.openai_code(code)?.local()?;
        match wait {
            Some(wait) => answer.with("Retry-After", wait)?,
            None => answer.without("Retry-After")?,
        };
        stage.ask(&request(Surface::Generate, model)).await?.is(status)?.native_code(code)?.local()?;
    }
    stage.ask(&chat(&format!("org/{trigger}"))).await?.is(200)?.remote("hosted", Some(trigger))?;
    Ok(())
}

/// An engine that was promised to be left alone gets no other call either, whatever its path.
async fn left_alone(stage: &Stage, code: &str) -> Verdict {
    let call = Request::post("/tokenize", r#"{"content":"a"}"#);
    stage.ask(&call).await?.is(503)?.openai_code(code)?.with("Retry-After", "5")?.local()?;
    let read = stage.ask(&Request::get("/metrics")).await?;
    read.is(503)?.openai_code(code)?.local()?;
    // Nobody wakes it for this one, so that no wait helps.
    if code == "MODEL_LOADING" {
        read.without("Retry-After")?
    } else {
        read.with("Retry-After", "5")?
    };
    Ok(())
}

/// Only what waits for a wish gets one: for a configured model by its name, for a caller's own without.
fn woken(shim: &Shim) -> Verdict {
    let wishes = shim.wishes();
    let named = |name: &str| wishes.iter().any(|wish| wish == name);
    holds(named("org/provisioning") && named("org/model_loading"), "a wish for the bridged models", &wishes)?;
    holds(wishes.iter().any(Value::is_null), "a wish for the engine", &wishes)?;
    holds(!named("org/unknown") && !named("org/saturated"), "no wish for others", &wishes)
}

/// An engine that is only not well is spared the calls that an upstream takes, and asked for the others.
async fn may_serve(stage: &Stage) -> Verdict {
    stage.ask(&chat("org/near")).await?.is(200)?.local()?;
    stage.ask(&chat("org/saturated")).await?.is(200)?.local()?;
    stage.ask(&chat("org/unhealthy")).await?.is(200)?.remote("hosted", Some("unhealthy"))?;
    Ok(())
}

async fn lost(stage: &Stage, shim: &Shim) -> Verdict {
    shim.fall_silent();
    crate::stage::patience::eventually("the engine to be tried", || async {
        Ok(stage.ask(&chat("org/near")).await?.head.status() == 200)
    })
    .await?;
    // However soon after another line: what is not told at once is told later.
    stage.sidecar.says("the engine's state is not known any more").await
}

/// Requests of callers at the engine.
fn calls(stage: &Stage) -> usize {
    stage.engine.journal().calls().len()
}
