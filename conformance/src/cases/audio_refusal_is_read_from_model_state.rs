//! Does a transcription that a SIE engine refuses reach its upstream, although the answer hides why?

use serde_json::json;

use crate::case::Case;
use crate::expect::{During, Findings, Verdict, holds, same};
use crate::stage::client::Request;
use crate::stage::head::latin1;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::{Setup, profile};
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "audio_refusal_is_read_from_model_state",
    clause: "a transcription's 502 or 503 transport_failure takes its trigger from GET /v1/models/{m}, asked once; what stays unclear is an answer",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const HIDDEN: &str = "transport_failure";

/// A model's name, the engine's status and wait, what it says of the model, the reason of the bridge.
type Situation = (&'static str, u16, Option<&'static str>, Play, Option<&'static str>);

/// One model for each situation.
fn situations() -> Vec<Situation> {
    let state = |state: &str| -> Play { described(state).into() };
    let broken = |body: &str| -> Play { Answer::json(200, body).into() };
    let large = format!(r#"{{"state":"loading","padding":"{}"}}"#, "x".repeat(70_000));
    let loading = Some("model_loading");
    vec![
        ("loading", 503, Some("5"), state("loading"), loading),
        ("drained", 503, None, state("unloading"), loading),
        ("gone", 503, None, state("available"), loading),
        ("reloading", 503, None, state("loading"), loading),
        ("failed", 502, None, state("failed"), Some("unhealthy")),
        ("chunked", 503, Some("5"), described("loading").chunked(7), loading),
        ("closing", 503, Some("5"), described("loading").until_close(), loading),
        // With a wait it may have been RESOURCE_EXHAUSTED or QUEUE_FULL: inference may have been attempted.
        ("loaded", 503, Some("5"), state("loaded"), None),
        ("exhausted", 503, Some("5"), state("unloading"), None),
        ("full", 503, Some("1"), state("loaded"), None),
        ("recovering", 502, None, state("loading"), None),
        // A gateway's transport_failure is a code of its own: the work may have been handed on.
        ("gateway", 503, Some("5"), broken(r#"{"id":"org/m","object":"model","state":"loading"}"#), None),
        ("odd", 503, Some("5"), state("warm"), None),
        ("no-json", 503, Some("5"), broken("loading"), None),
        ("half", 503, Some("5"), broken(r#"{"state":"loading""#), None),
        ("nameless", 503, Some("5"), broken("{}"), None),
        ("large", 503, Some("5"), broken(&large), None),
        ("unknown", 503, Some("5"), Answer::json(404, r#"{"state":"loading"}"#).into(), None),
        ("silent", 503, Some("5"), Play::hang(), None),
        ("reset", 503, Some("5"), Play::reset(), None),
    ]
}

fn described(state: &str) -> Answer {
    let model = json!({"name": "org/m", "loaded": state == "loaded", "state": state, "last_error": null});
    Answer::json(200, &model.to_string())
}

fn hybrid(model: &str) -> String {
    let remote = profile("remote", "team-sie", &format!("vendor/{}", model.trim_start_matches("org/")));
    format!(
        "[models.\"{model}\"]\ntasks = {{ transcribe = {{}}, generate = {{ context_length = 8192, max_output_tokens = 1024 }} }}\n{remote}\n\
         routing = {{ policy = \"fallback\", fallback_profile = \"remote\", \
         triggers = [\"provisioning\", \"model_loading\", \"unhealthy\"] }}"
    )
}

async fn run(bench: Bench) -> Verdict {
    let mut setup = Setup::new().table("[models.\"org/local\"]\ntasks = { transcribe = {} }");
    for (name, ..) in situations() {
        setup = setup.table(&hybrid(&format!("org/{name}")));
    }
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut findings = Findings::default();
    for (name, status, wait, state, reason) in situations() {
        let model = format!("org/{name}");
        stage.engine.on_model(&model, engine::refusal(Surface::Audio, status, HIDDEN, wait));
        stage.engine.on_path(&format!("/v1/models/{model}"), state);
        findings.note(name, decided(&stage, &model, status, reason).await);
    }
    findings.note("restored", restored(&stage).await);
    findings.note("nothing to ask", nothing_to_ask(&stage).await);
    findings.verdict()
}

async fn decided(stage: &Stage, model: &str, status: u16, reason: Option<&str>) -> Verdict {
    let asked = request(Surface::Audio, model).field("Authorization", "Bearer engine-key").field("Cookie", "c=1");
    let answer = stage.ask(&asked).await?;
    match reason {
        Some(reason) => answer.is(200)?.remote("team-sie", Some(reason))?,
        None => {
            let body = engine::error_body(Surface::Audio, status, HIDDEN);
            answer.is(status)?.carries(body.as_bytes())?.local()?
        }
    };
    let questions = questions(stage, model);
    same("questions for the state", &questions.len(), &1)?;
    let question = &questions[0].head;
    same(
        "the key that the engine is asked with",
        &question.all("Authorization"),
        &vec!["Bearer engine-key".to_owned()],
    )?;
    same("the host that it is asked as", &question.all("Host"), &vec!["front.test".to_owned()])?;
    holds(question.field("Cookie").is_none(), "nothing else of the caller's", &latin1(question.raw()))?;
    same("calls to the engine", &stage.engine.journal().heard_of(model).len(), &1)
}

fn questions(stage: &Stage, model: &str) -> Vec<crate::stage::journal::Heard> {
    let path = format!("/v1/models/{model}");
    stage.engine.journal().heard().into_iter().filter(|heard| heard.path() == path).collect()
}

/// The refusal comes back to the byte: the question left no trace in it.
async fn restored(stage: &Stage) -> Verdict {
    stage.upstream.on_any(Answer::json(500, "{}"));
    let answer = stage.ask(&request(Surface::Audio, "org/loading")).await?;
    let body = engine::error_body(Surface::Audio, 503, HIDDEN);
    answer.is(503)?.carries(body.as_bytes())?.with("Retry-After", "5")?;
    answer.with("Content-Type", "application/json")?.restored("model_loading", "QUEUE_FULL", "status")?;
    Ok(())
}

/// Where nothing could be bridged, or the code speaks for itself, the engine is not asked for anything more.
async fn nothing_to_ask(stage: &Stage) -> Verdict {
    let hidden = |surface| engine::refusal(surface, 503, HIDDEN, Some("5"));
    stage.engine.on_model("org/local", hidden(Surface::Audio));
    stage.ask(&request(Surface::Audio, "org/local")).await?.is(503)?.local().during("a local model")?;
    let asked_before = questions(stage, "org/gone").len();
    stage.engine.on_model("org/gone", hidden(Surface::Audio));
    let forbidden: Request = request(Surface::Audio, "org/gone").field("X-SIE-Remote", "forbid");
    stage.ask(&forbidden).await?.is(503)?.local().during("forbidden")?;
    stage.engine.on_model("org/gone", hidden(Surface::Chat));
    stage.ask(&chat("org/gone")).await?.is(503)?.local().during("chat")?;
    let coded = engine::refusal(Surface::Audio, 503, HIDDEN, Some("5")).field("X-SIE-Error-Code", "RESOURCE_EXHAUSTED");
    stage.engine.on_model("org/gone", coded);
    stage.ask(&request(Surface::Audio, "org/gone")).await?.is(503)?.local().during("a code in the header")?;
    same("further questions", &(questions(stage, "org/gone").len() - asked_before), &0)?;
    same("questions about a local model", &questions(stage, "org/local").len(), &0)
}
