//! Does an answer that blames the caller, or may follow work, stay the answer?

use crate::case::Case;
use crate::expect::{Findings, Verdict, same};
use crate::stage::engine;
use crate::stage::sample::{Surface, chat};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "client_error_is_never_retried",
    clause: "only a certain refusal may bridge: no client error, no 500, no 504, no RESOURCE_EXHAUSTED, no 503 without a known code",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const KEPT: [(u16, &str); 20] = [
    (400, "INVALID_INPUT"),
    (401, "UNAUTHORIZED"),
    (402, "INSUFFICIENT_CREDITS"),
    (403, "FORBIDDEN"),
    (404, "MODEL_NOT_FOUND"),
    (405, "METHOD_NOT_ALLOWED"),
    (408, "REQUEST_TIMEOUT"),
    (413, "INPUT_TOO_LONG"),
    (415, "UNSUPPORTED_MEDIA_TYPE"),
    (422, "INVALID_INPUT"),
    (400, "MODEL_LOADING"),
    (500, "MODEL_LOADING"),
    (500, "INFERENCE_ERROR"),
    (502, "upstream_error"),
    (503, "RESOURCE_EXHAUSTED"),
    (503, "LORA_LOADING"),
    (503, "generation_cancelled"),
    (503, "never heard of"),
    (504, "GATEWAY_TIMEOUT"),
    (504, "first_chunk_timeout"),
];

const ALL_TRIGGERS: &str = r#"["provisioning", "model_loading", "saturated", "unhealthy"]"#;

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().bridged("org/chat", "hosted", ALL_TRIGGERS)).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut findings = Findings::default();
    for (status, code) in KEPT {
        findings.note(&format!("{status} {code}"), kept(&stage, status, code).await);
    }
    findings.verdict()?;
    stage.engine.journal().expect_calls("engine", KEPT.len())?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)
}

async fn kept(stage: &Stage, status: u16, code: &str) -> Verdict {
    stage.engine.on_model("org/chat", engine::refusal(Surface::Chat, status, code, Some("3")));
    let answer = stage.ask(&chat("org/chat")).await?;
    let body = engine::error_body(Surface::Chat, status, code);
    answer.is(status)?.with("Retry-After", "3")?.carries(body.as_bytes())?.local()?;
    Ok(())
}
