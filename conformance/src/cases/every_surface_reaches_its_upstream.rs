//! Does every inference surface reach a SIE upstream in the caller's own protocol, under the upstream's name for the model?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Findings, Verdict, holds, same};
use crate::stage::head::latin1;
use crate::stage::sample::{Surface, request};
use crate::stage::setup::{Setup, profile};
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "every_surface_reaches_its_upstream",
    clause: "a call goes to a SIE upstream in its own protocol: the path, the model's name there, and nothing in the body that the caller did not say but whether to stream, usage, and positions for ids",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const TASKS: &str = "tasks = { encode = { dense = { dim = 2 } }, score = {}, extract = {}, transcribe = {}, \
                     generate = { context_length = 8192, max_output_tokens = 1024 } }";

const SURFACES: [Surface; 13] = [
    Surface::Audio,
    Surface::Chat,
    Surface::ChatStream,
    Surface::Completions,
    Surface::CompletionsStream,
    Surface::Embeddings,
    Surface::Encode,
    Surface::Extract,
    Surface::Generate,
    Surface::GenerateStream,
    Surface::Rerank,
    Surface::Responses,
    Surface::Score,
];

async fn run(bench: Bench) -> Verdict {
    let model = format!(
        "[models.\"org/all\"]\nremote_backed = true\n{TASKS}\n{}\nrouting = {{ policy = \"remote_only\" }}",
        profile("default", "team-sie", "vendor/all:fast"),
    );
    let stage = bench.stage(Setup::new().table(&model)).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut findings = Findings::default();
    for surface in SURFACES {
        findings.note(&format!("{surface:?}"), reaches(&stage, surface).await);
    }
    findings.verdict()?;
    stage.engine.journal().expect_calls("engine", 0)
}

async fn reaches(stage: &Stage, surface: Surface) -> Verdict {
    let asked = request(surface, "org/all");
    let head = asked.head();
    let body = asked.bytes().split_off(head.len());
    stage.ask(&asked).await?.is(200)?.remote("team-sie", None)?;
    let Some(heard) = stage.upstream.journal().calls().pop() else { return same("calls", &0, &1) };
    let target = latin1(&head).split(' ').nth(1).unwrap_or_default().to_owned();
    let there = target.replace("org/all", "vendor/all:fast").replace("org__all", "vendor__all:fast");
    same("the path", &heard.path(), &there)?;
    let renamed = latin1(&body).replace("org/all", "vendor/all:fast");
    match serde_json::from_str(&renamed) {
        Ok(said) => same("the body", &heard.json(), &with_our_own(surface, said))?,
        Err(_) => same("the form", &latin1(&heard.body), &renamed)?,
    }
    holds(heard.head.field("Authorization").is_some(), "the upstream's own key", &latin1(heard.head.raw()))
}

/// What every upstream is told besides.
fn with_our_own(surface: Surface, mut said: Value) -> Value {
    match surface {
        Surface::Chat | Surface::Completions => said["stream"] = json!(false),
        Surface::ChatStream | Surface::CompletionsStream => said["stream_options"] = json!({"include_usage": true}),
        Surface::Rerank => said["top_n"] = json!(2),
        Surface::Score => (0..2).for_each(|place| said["items"][place]["id"] = json!(place.to_string())),
        _ => {}
    }
    said
}
