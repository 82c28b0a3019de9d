//! Is a body over the limit refused where it would have to be held, and only there?

use crate::case::Case;
use crate::expect::{Findings, Verdict, holds, same};
use crate::stage::client::Request;
use crate::stage::sample::Surface;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "body_over_limit_413",
    clause: "a body over max_body_bytes is 413 and reaches nobody, unless the model is local only: then it streams through unheld",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn sized(model: &str, size: usize) -> Request {
    // The model comes first: what stands behind the limit need not be found.
    let text = "a".repeat(size);
    Request::post(
        "/v1/chat/completions",
        &format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"{text}"}}]}}"#),
    )
}

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new()
        .listen("max_body_bytes = 10000")
        .hybrid("org/chat")
        .remote_only("org/away", "hosted")
        .local("org/near");
    let stage = bench.stage(setup).await?;
    stage.engine.choose(|_| true, |heard| engine::success(Surface::Chat, &heard.model().unwrap_or_default()));
    let mut findings = Findings::default();
    for model in ["org/chat", "org/away"] {
        let request = sized(model, 12_000);
        for (framing, bytes) in [("length", request.bytes()), ("chunked", request.chunked(4096))] {
            findings.note(&format!("{model}, {framing}"), refused(&stage, bytes).await);
        }
    }
    findings.note("Expect: 100-continue", expectant(&stage).await);
    stage.engine.journal().expect_calls("engine", 0)?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    findings.note("local only", unheld(&stage).await);
    stage.ask(&sized("org/chat", 9_000)).await?.is(200)?.local()?;
    findings.verdict()
}

async fn refused(stage: &Stage, bytes: Vec<u8>) -> Verdict {
    let mut client = stage.client().await?;
    client.send(bytes).await?;
    let answer = client.answer().await?;
    answer.is(413)?.openai_error()?.undisclosed()?;
    Ok(())
}

/// The caller that asks first is told before it sends anything.
async fn expectant(stage: &Stage) -> Verdict {
    let mut client = stage.client().await?;
    // The model stands in a body that nobody has seen yet, so only a length beyond every model's limit can be refused here.
    client
        .send(
            Request::new("POST", "/v1/generate/org__chat")
                .field("Expect", "100-continue")
                .body("a".repeat(20_000))
                .head(),
        )
        .await?;
    let answer = client.answer().await?;
    holds(answer.interim.is_empty(), "no 100 before the refusal", &answer.interim)?;
    answer.is(413)?.native_code("INPUT_TOO_LONG")?;
    Ok(())
}

async fn unheld(stage: &Stage) -> Verdict {
    let request = sized("org/near", 40_000);
    let mut client = stage.client().await?;
    for bytes in [request.bytes(), request.chunked(4096)] {
        client.send(bytes).await?;
        client.answer().await?.is(200)?.local()?;
    }
    let heard = stage.engine.journal().heard_of("org/near");
    let lengths: Vec<usize> = heard.iter().map(|heard| heard.body.len()).collect();
    let whole = request.bytes().len() - request.head().len();
    same("bytes that the engine heard", &lengths, &vec![whole, whole])
}
