//! Can a SIE client use an OpenAI host: is each native call translated there, and its answer back?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Findings, Verdict, holds, same};
use crate::stage::client::Request;
use crate::stage::journal::Heard;
use crate::stage::script::{Answer, Play};
use crate::stage::setup::{Setup, profile};
use crate::stage::{Bench, Stage, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "native_calls_reach_an_openai_upstream",
    clause: "encode, score, generate and responses are asked of an OpenAI upstream in a translation, and answered in the caller's own protocol",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const TASKS: &str = "tasks = { encode = { dense = { dim = 2 } }, score = {}, \
                     generate = { context_length = 8192, max_output_tokens = 1024 } }";

async fn run(bench: Bench) -> Verdict {
    let model = format!(
        "[models.\"org/all\"]\nremote_backed = true\n{TASKS}\n{}\nrouting = {{ policy = \"remote_only\" }}",
        profile("default", "hosted", "vendor/all"),
    );
    let stage = bench.stage(Setup::new().table(&model)).await?;
    stage.upstream.choose(|_| true, answer);
    let mut findings = Findings::default();
    findings.note("encode", encode(&stage).await);
    findings.note("score", score(&stage).await);
    findings.note("generate", generate(&stage).await);
    findings.note("generate, streamed", streamed(&stage).await);
    findings.note("responses", responses(&stage).await);
    findings.verdict()?;
    stage.engine.journal().expect_calls("engine", 0)
}

/// What the host says; it takes no notice of the encoding that it was asked for.
fn answer(heard: &Heard) -> Play {
    match heard.path().as_str() {
        "/v1/embeddings" => Answer::json(
            200,
            r#"{"object":"list","data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2.5]}],"model":"v","usage":{"prompt_tokens":4,"total_tokens":4}}"#,
        )
        .into(),
        "/v1/rerank" => Answer::json(
            200,
            r#"{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":-0.5}],"usage":{"total_tokens":7}}"#,
        )
        .into(),
        _ => upstream::success(heard),
    }
}

async fn asked(stage: &Stage, path: &str, body: &Value) -> Verdict<(Value, Heard)> {
    let request = Request::post(path, &body.to_string()).field("Accept", "application/json");
    let received = stage.ask(&request).await?;
    received.is(200)?.remote("hosted", None)?;
    let heard = stage.upstream.journal().calls().pop().expect("a 200 of an upstream was asked for");
    Ok((received.json()?, heard))
}

async fn encode(stage: &Stage) -> Verdict {
    let body = json!({"items": [{"id": "first", "text": "a"}, {"text": "b"}]});
    let (got, heard) = asked(stage, "/v1/encode/org/all", &body).await?;
    same("path", &heard.path().as_str(), &"/v1/embeddings")?;
    same("input", &heard.json()["input"], &json!(["a", "b"]))?;
    same("model there", &heard.json()["model"], &json!("vendor/all"))?;
    same("model", &got["model"], &json!("org/all"))?;
    same("ids", &json!([got["items"][0]["id"], got["items"][1].get("id")]), &json!(["first", null]))?;
    same("the first vector", &got["items"][0]["dense"]["values"], &json!([1.0, 2.5]))?;
    same("the second vector", &got["items"][1]["dense"]["values"], &json!([3.0, 4.0]))?;
    same("usage", &got["usage"]["input_tokens"], &json!(4))
}

async fn score(stage: &Stage) -> Verdict {
    let body = json!({"query": {"text": "q"}, "items": [{"id": "x", "text": "a"}, {"text": "b"}], "instruction": "I"});
    let (got, heard) = asked(stage, "/v1/score/org/all", &body).await?;
    same("path", &heard.path().as_str(), &"/v1/rerank")?;
    let wanted = json!({"model": "vendor/all", "query": "I q", "documents": ["a", "b"], "top_n": 2});
    same("the request", &heard.json(), &wanted)?;
    let ids: Vec<_> = [0, 1].map(|place| got["scores"][place]["item_id"].clone()).into();
    same("ids, best first", &json!(ids), &json!(["item-1", "x"]))?;
    same("the best score", &got["scores"][0]["score"], &json!(0.9))
}

async fn generate(stage: &Stage) -> Verdict {
    let (got, heard) = asked(stage, "/v1/generate/org__all", &json!({"prompt": "hi", "max_new_tokens": 16})).await?;
    same("path", &heard.path().as_str(), &"/v1/completions")?;
    same("prompt", &heard.json()["prompt"], &json!("hi"))?;
    same("cap", &heard.json()["max_tokens"], &json!(16))?;
    same("text", &got["text"], &json!("remote"))?;
    same("model", &got["model"], &json!("org/all"))?;
    same("usage", &got["usage"]["total_tokens"], &json!(4))
}

async fn streamed(stage: &Stage) -> Verdict {
    let body = json!({"prompt": "hi", "max_new_tokens": 16, "stream": true});
    let received = stage.ask(&Request::post("/v1/generate/org__all", &body.to_string())).await?;
    received.is(200)?.remote("hosted", None)?;
    let text = String::from_utf8_lossy(&received.body).into_owned();
    let events: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    let said: String = events.iter().filter_map(|event| event["text_delta"].as_str()).collect();
    same("text", &said.as_str(), &"remote")?;
    let last = events.last().cloned().unwrap_or_default();
    same("the end", &json!([last["done"], last["finish_reason"]]), &json!([true, "stop"]))?;
    same("usage", &last["usage"]["total_tokens"], &json!(4))?;
    holds(text.trim_end().ends_with("data: [DONE]"), "[DONE] last", &text)
}

/// SIE reads a plain text as a raw prompt, and messages as a chat.
async fn responses(stage: &Stage) -> Verdict {
    let body = json!({"model": "org/all", "input": "hi", "max_output_tokens": 16});
    let (got, heard) = asked(stage, "/v1/responses", &body).await?;
    same("path of a text", &heard.path().as_str(), &"/v1/completions")?;
    same("prompt", &heard.json()["prompt"], &json!("hi"))?;
    same("object", &got["object"], &json!("response"))?;
    same("model", &got["model"], &json!("org/all"))?;
    same("text", &got["output"][0]["content"][0]["text"], &json!("remote"))?;

    let messages = json!([{"role": "user", "content": "hi"}]);
    let body = json!({"model": "org/all", "input": messages, "max_output_tokens": 16});
    let (got, heard) = asked(stage, "/v1/responses", &body).await?;
    same("path of messages", &heard.path().as_str(), &"/v1/chat/completions")?;
    same("messages", &heard.json()["messages"], &messages)?;
    same("text", &got["output"][0]["content"][0]["text"], &json!("remote"))
}
