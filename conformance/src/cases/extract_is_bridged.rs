//! Does an extraction reach a SIE upstream in the caller's encoding, and do its items come back?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{During, Findings, Verdict, same};
use crate::stage::client::{Received, Request};
use crate::stage::journal::Heard;
use crate::stage::sample::Surface;
use crate::stage::script::Answer;
use crate::stage::setup::{Setup, profile};
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "extract_is_bridged",
    clause: "extract goes to a SIE upstream whole, JSON or msgpack, but for our profile and the caller's ids; items, ids and item errors come back, one for each input",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// `{"items":[{"text":"a"},{"text":"b"}]}`, and the same with one empty result for each.
const PACKED: &[u8] = b"\x81\xa5items\x92\x81\xa4text\xa1a\x81\xa4text\xa1b";
const PACKED_ITEMS: &[u8] =
    b"\x82\xa5model\xa2up\xa5items\x92\x82\xa2id\xa1a\xa8entities\x90\x82\xa2id\xa1b\xa8entities\x90";

async fn run(bench: Bench) -> Verdict {
    let remote = profile("remote", "team-sie", "vendor/ex:default");
    let routing = "routing = { policy = \"fallback\", fallback_profile = \"remote\" }";
    let setup = Setup::new().table(&format!("[models.\"org/ex\"]\ntasks = {{ extract = {{}} }}\n{remote}\n{routing}"));
    let stage = bench.stage(setup).await?;
    stage.engine.on_model("org/ex", engine::loading(Surface::Extract));
    let mut findings = Findings::default();
    findings.note("JSON", as_json(&stage).await);
    findings.note("msgpack", as_msgpack(&stage).await);
    findings.note("a profile of ours", our_profile(&stage).await);
    findings.note("invalid answers", invalid(&stage).await);
    findings.verdict()
}

fn call() -> Value {
    json!({"items": [{"id": "first", "text": "Ada"}, {"text": "Bob", "metadata": {"page": 1.50}}],
        "params": {"labels": ["person"], "output_schema": {"type": "object"}, "instruction": "find", "options": {"threshold": 0.25}}})
}

/// The call as the upstream sees it: ids are the caller's own.
fn sent() -> Value {
    let mut sent = call();
    sent["items"][0].as_object_mut().map(|item| item.remove("id"));
    sent
}

fn results() -> Value {
    json!([
        {"id": "first", "entities": [{"text": "Ada", "label": "person", "score": 0.875, "start": 0, "end": 3}],
            "relations": [{"head": "a", "tail": "b", "relation": "r", "score": 1.0}],
            "classifications": [{"label": "c", "score": 0.5}], "objects": [{"label": "o", "score": 0.5, "bbox": [1, 2, 3, 4]}],
            "data": {"pages": [{"text": "x"}], "duration_ms": 1500}},
        {"id": "item-1", "entities": [], "relations": [], "classifications": [], "objects": [], "data": {}}
    ])
}

fn as_json_request(path: &str, body: &Value) -> Request {
    Request::post(path, &body.to_string()).field("Accept", "application/json")
}

fn said(items: &Value) -> Answer {
    Answer::json(200, &json!({"model": "vendor/ex", "items": items, "usage": {"input_tokens": 9}}).to_string())
}

async fn as_json(stage: &Stage) -> Verdict {
    stage.upstream.on_any(said(&results()));
    let answer = stage.ask(&as_json_request("/v1/extract/org/ex", &call())).await?;
    answer.is(200)?.remote("team-sie", Some("model_loading"))?.with("Content-Type", "application/json")?;
    let shown = answer.json()?;
    same("the model", &shown["model"], &json!("org/ex"))?;
    same("the items", &shown["items"], &results())?;
    same("the usage", &shown["usage"], &json!({"input_tokens": 9}))?;
    same("the body", &heard(stage, "application/json")?.json(), &sent())?;

    let errors = json!([results()[0], {"id": "item-1", "entities": [], "error": {"code": "INVALID_INPUT", "message": "upstream words"}}]);
    stage.upstream.on_any(said(&errors));
    let answer = stage.ask(&as_json_request("/v1/extract/org/ex", &call())).await?;
    let shown = answer.is(200)?.json()?;
    same("the first item", &shown["items"][0], &results()[0])?;
    same("the code of an item's error", &shown["items"][1]["error"]["code"], &json!("INVALID_INPUT"))?;
    let words = shown.to_string().contains("upstream words");
    same("the upstream's words in it", &words, &false)
}

fn heard(stage: &Stage, encoding: &str) -> Verdict<Heard> {
    let heard = stage.upstream.journal().calls().pop().expect("an answer of the upstream's was asked for");
    same("the path", &heard.path(), &"/v1/extract/vendor/ex:default".to_owned())?;
    same("its encoding", &heard.head.all("Content-Type"), &vec![encoding.to_owned()])?;
    same("the encoding that is asked for", &heard.head.all("Accept"), &vec![encoding.to_owned()])?;
    Ok(heard)
}

async fn packed(stage: &Stage, accept: Option<&str>) -> Verdict<Received> {
    let request = Request::new("POST", "/v1/extract/org/ex").field("Content-Type", "application/msgpack");
    let request = accept.map_or_else(|| request.clone(), |accept| request.clone().field("Accept", accept));
    stage.ask(&request.body(PACKED)).await
}

async fn as_msgpack(stage: &Stage) -> Verdict {
    let items = Answer::new(200).field("Content-Type", "application/msgpack").body(PACKED_ITEMS);
    stage.upstream.on_any(items);
    for accept in [Some("application/msgpack"), None] {
        let answer = packed(stage, accept).await.during(&format!("Accept {accept:?}"))?;
        answer.is(200)?.remote("team-sie", Some("model_loading"))?.with("Content-Type", "application/msgpack")?;
        let parts = [&b"\xa5model\xa6org/ex"[..], b"\xa8entities\x90", b"\xa2id\xa1b"];
        let carries = parts.map(|part| answer.body.windows(part.len()).any(|window| window == part));
        same(
            "our name for the model, the items, and an id that only the upstream knows",
            &carries,
            &[true, true, false],
        )?;
        same("the body is the caller's", &(heard(stage, "application/msgpack")?.body == PACKED), &true)?;
    }
    Ok(())
}

/// The profile that the caller names is ours: an upstream has its own.
async fn our_profile(stage: &Stage) -> Verdict {
    stage.upstream.on_any(said(&results()));
    let mut named = call();
    named["params"]["options"]["profile"] = json!("remote");
    let answer = stage.ask(&as_json_request("/v1/extract/org/ex", &named)).await?;
    answer.is(200)?.remote("team-sie", None)?;
    same("the body less the profile", &heard(stage, "application/json")?.json(), &sent())
}

async fn invalid(stage: &Stage) -> Verdict {
    let refusal = engine::error_body(Surface::Extract, 503, "MODEL_LOADING");
    let one = json!([results()[0]]);
    let three = json!([results()[0], results()[0], results()[0]]);
    for items in [one, three, json!({}), json!([1, 2]), Value::Null] {
        stage.upstream.on_any(said(&items));
        let answer = stage.ask(&as_json_request("/v1/extract/org/ex", &call())).await?;
        answer.is(503)?.carries(refusal.as_bytes()).during(&items.to_string())?;
        answer.restored("model_loading", "INFERENCE_ERROR", "invalid_answer")?;
    }
    Ok(())
}
