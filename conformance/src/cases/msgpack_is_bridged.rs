//! Is a native request in msgpack, as SIE's own client sends it, served like one in JSON?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::client::Request;
use crate::stage::sample::Surface;
use crate::stage::script::Answer;
use crate::stage::setup::{Setup, profile};
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "msgpack_is_bridged",
    clause: "msgpack bodies are validated, bridged and answered in msgpack; refusals and rejections stay JSON",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// `{"items": [{"text": "x"}]}`.
const ITEMS: &[u8] = b"\x81\xa5items\x91\x81\xa4text\xa1x";

async fn run(bench: Bench) -> Verdict {
    let remote = profile("remote", "team-sie", "vendor/ex:default");
    let routing = "routing = { policy = \"fallback\", fallback_profile = \"remote\" }";
    let setup = Setup::new().table(&format!("[models.\"org/ex\"]\ntasks = {{ extract = {{}} }}\n{remote}\n{routing}"));
    let stage = bench.stage(setup).await?;
    stage.engine.on_model("org/ex", engine::loading(Surface::Extract));
    stage.upstream.choose(|_| true, upstream::success);
    bridged(&stage).await.during("bridged")?;
    stage.upstream.on_any(Answer::new(200).field("Content-Type", "application/msgpack").body(b"\x81\xa5items\x90"));
    let restored = stage.ask(&extract(ITEMS)).await?;
    let body = engine::error_body(Surface::Extract, 503, "MODEL_LOADING");
    restored.is(503)?.carries(body.as_bytes())?.restored("model_loading", "INFERENCE_ERROR", "invalid_answer")?;
    stage.engine.journal().expect_calls("engine", 2)?;
    for malformed in [&ITEMS[..ITEMS.len() - 1], &[ITEMS, b"\xc0"].concat(), b"\xc1", b"\x91\x01"] {
        let answer = stage.ask(&extract(malformed)).await?;
        answer.is(400)?.native_code("INVALID_INPUT")?.undisclosed().during(&format!("{malformed:?}"))?;
    }
    stage.engine.journal().expect_calls("engine", 2)?;
    stage.upstream.journal().expect_calls("upstream", 2)
}

fn extract(body: &[u8]) -> Request {
    let request = Request::new("POST", "/v1/extract/org/ex").field("Content-Type", "application/msgpack");
    request.field("Accept", "application/msgpack").body(body)
}

async fn bridged(stage: &Stage) -> Verdict {
    let answer = stage.ask(&extract(ITEMS)).await?;
    answer.is(200)?.remote("team-sie", Some("model_loading"))?.with("Content-Type", "application/msgpack")?;
    let entities = answer.body.windows(9).any(|window| window == b"\xa8entities");
    holds(entities, "the upstream's items in msgpack", &answer.body)?;
    let heard = stage.engine.journal().calls().pop();
    same("the body that the engine hears", &heard.map(|heard| heard.body), &Some(ITEMS.to_vec()))
}
