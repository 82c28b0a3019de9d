//! Is a call for what a remote model does not do the caller's mistake, and told before anybody is asked?

use serde_json::json;

use crate::case::Case;
use crate::expect::{During, Findings, Verdict, same};
use crate::stage::sample::{Surface, request};
use crate::stage::setup::{Setup, profile};
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "audio_and_vectors_of_a_model_without_the_task_400",
    clause: "a remote_only model that does not declare a surface's task: 400 in the surface's own shape with param model, and nobody is asked; audio and embeddings call it invalid_request",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// Each surface, the task that it belongs to, and what it calls the mistake.
const SURFACES: [(Surface, &str, &str); 13] = [
    (Surface::Audio, "transcribe", "invalid_request"),
    (Surface::Chat, "generate", "INVALID_INPUT"),
    (Surface::ChatStream, "generate", "INVALID_INPUT"),
    (Surface::Completions, "generate", "INVALID_INPUT"),
    (Surface::CompletionsStream, "generate", "INVALID_INPUT"),
    (Surface::Embeddings, "encode", "invalid_request"),
    (Surface::Encode, "encode", "INVALID_INPUT"),
    (Surface::Extract, "extract", "INVALID_INPUT"),
    (Surface::Generate, "generate", "INVALID_INPUT"),
    (Surface::GenerateStream, "generate", "INVALID_INPUT"),
    (Surface::Rerank, "score", "INVALID_INPUT"),
    (Surface::Responses, "generate", "INVALID_INPUT"),
    (Surface::Score, "score", "INVALID_INPUT"),
];

/// The declarations of each task.
const TASKS: [(&str, &str); 5] = [
    ("encode", "encode = { dense = { dim = 2 } }"),
    ("extract", "extract = {}"),
    ("generate", "generate = { context_length = 8192, max_output_tokens = 1024 }"),
    ("score", "score = {}"),
    ("transcribe", "transcribe = {}"),
];

/// A model that declares one task, and one that declares every other.
fn models(setup: Setup, task: &str) -> Setup {
    let declared = |keep: &dyn Fn(&str) -> bool| -> String {
        let kept: Vec<_> = TASKS.iter().filter(|(name, _)| keep(name)).map(|(_, table)| *table).collect();
        kept.join(", ")
    };
    let table = |model: &str, tasks: &str| {
        let remote = profile("default", "team-sie", "vendor/all");
        format!(
            "[models.\"{model}\"]\nremote_backed = true\ntasks = {{ {tasks} }}\n{remote}\nrouting = {{ policy = \"remote_only\" }}"
        )
    };
    setup
        .table(&table(&format!("with/{task}"), &declared(&|name| name == task)))
        .table(&table(&format!("without/{task}"), &declared(&|name| name != task)))
}

async fn run(bench: Bench) -> Verdict {
    let setup = TASKS.iter().fold(Setup::new(), |setup, (task, _)| models(setup, task));
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut findings = Findings::default();
    for (surface, task, code) in SURFACES {
        findings.note(&format!("{surface:?}"), told(&stage, surface, &format!("without/{task}"), code).await);
    }
    findings.verdict()?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    stage.engine.journal().expect_calls("engine", 0)?;
    // Who declares it is served.
    for (surface, task, _) in SURFACES {
        let model = format!("with/{task}");
        let served = stage.ask(&request(surface, &model)).await?;
        served.is(200).and_then(|answer| answer.remote("team-sie", None)).during(&format!("{surface:?} of {model}"))?;
    }
    stage.engine.journal().expect_calls("engine", 0)
}

async fn told(stage: &Stage, surface: Surface, model: &str, code: &str) -> Verdict {
    let answer = stage.ask(&request(surface, model)).await?;
    answer.is(400)?.undisclosed()?.without("Retry-After")?;
    let error = if surface.is_native() {
        answer.native_code(code)?.json()?["detail"].clone()
    } else {
        answer.openai_code(code)?.json()?["error"].clone()
    };
    same("the field that it is about", &error["param"], &json!("model"))
}
