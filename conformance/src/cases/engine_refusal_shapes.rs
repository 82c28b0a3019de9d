//! Is a refusal recognised wherever a SIE engine or gateway puts its code?

use crate::case::Case;
use crate::expect::{Findings, Verdict, same};
use crate::stage::sample::chat;
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "engine_refusal_shapes",
    clause: "the code counts in X-SIE-Error-Code, detail.code, error.code and detail.error.code, in any framing; a number is no code",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn refusals() -> Vec<(&'static str, Play, &'static str)> {
    let json = |body: &str| Answer::json(503, body);
    let code = |answer: Answer, code: &str| answer.field("x-sie-error-code", code);
    let native = r#"{"detail":{"code":"MODEL_LOADING","message":"m"}}"#;
    let padded = format!("{{\"detail\":{{\"message\":\"{}\",\"code\":\"MODEL_LOADING\"}}}}", "m".repeat(3000));
    vec![
        ("detail", json(native).into(), "model_loading"),
        (
            "error",
            json(r#"{"error":{"message":"m","type":"t","param":null,"code":"MODEL_LOADING"}}"#).into(),
            "model_loading",
        ),
        ("nested", json(r#"{"detail":{"error":{"code":"MODEL_LOADING","message":"m"}}}"#).into(), "model_loading"),
        ("header", code(Answer::new(503).body("no JSON at all"), "MODEL_LOADING").into(), "model_loading"),
        ("header-empty", code(Answer::new(503), "PROVISIONING").into(), "provisioning"),
        (
            "header-number",
            code(json(r#"{"error":{"code":503,"message":"m"}}"#), "MODEL_LOADING").into(),
            "model_loading",
        ),
        (
            "lower",
            json(r#"{"error":{"message":"m","type":"t","param":null,"code":"provisioning"}}"#).into(),
            "provisioning",
        ),
        (
            "gateway",
            code(json(r#"{"error":{"code":"PROVISIONING","message":"m"}}"#), "PROVISIONING").into(),
            "provisioning",
        ),
        ("unloading", json(r#"{"detail":{"code":"MODEL_NOT_LOADED","message":"m"}}"#).into(), "model_loading"),
        ("chunked", json(native).chunked(1), "model_loading"),
        ("closing", json(native).until_close(), "model_loading"),
        (
            "spaced",
            json("\n { \"detail\" : { \"code\" : \"MODEL_LOADING\" , \"message\" : \"m\" } } \n").into(),
            "model_loading",
        ),
        ("escaped", json(r#"{"detail":{"message":"m","\u0063ode":"MODEL\u005fLOADING"}}"#).into(), "model_loading"),
        ("long", json(&padded).chunked(100), "model_loading"),
    ]
}

fn others() -> Vec<(&'static str, Play)> {
    let json = |body: &str| Play::from(Answer::json(503, body));
    vec![
        ("number", json(r#"{"error":{"code":503,"message":"MODEL_LOADING"}}"#)),
        ("text", json(r#"{"error":"MODEL_LOADING"}"#)),
        ("message", json(r#"{"detail":{"code":"OTHER","message":"MODEL_LOADING"}}"#)),
        ("empty", Answer::new(503).into()),
        ("half", json(r#"{"detail":{"code":"MODEL_LOADING""#)),
        (
            "header-wins",
            Answer::json(503, r#"{"detail":{"code":"MODEL_LOADING","message":"m"}}"#)
                .field("X-SIE-Error-Code", "RESOURCE_EXHAUSTED")
                .into(),
        ),
    ]
}

async fn decided(stage: &Stage, name: &str, reason: Option<&str>) -> Verdict {
    let model = format!("org/{name}");
    let answer = stage.ask(&chat(&model)).await?;
    match reason {
        Some(reason) => answer.is(200)?.remote("hosted", Some(reason))?,
        None => answer.is(503)?.local()?,
    };
    same("calls to the engine", &stage.engine.journal().heard_of(&model).len(), &1)
}

async fn run(bench: Bench) -> Verdict {
    let mut setup = Setup::new();
    let names = refusals().into_iter().map(|refusal| refusal.0).chain(others().into_iter().map(|other| other.0));
    for name in names {
        setup = setup.hybrid(&format!("org/{name}"));
    }
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut findings = Findings::default();
    for (name, play, reason) in refusals() {
        stage.engine.on_model(&format!("org/{name}"), play);
        findings.note(name, decided(&stage, name, Some(reason)).await);
    }
    for (name, play) in others() {
        stage.engine.on_model(&format!("org/{name}"), play);
        findings.note(name, decided(&stage, name, None).await);
    }
    findings.verdict()?;
    stage.upstream.journal().expect_calls("upstream", refusals().len())
}
