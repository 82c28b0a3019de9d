//! Is an output that breaks the caller's strict JSON Schema never passed off as one that keeps it?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Verdict, contains, lacks};
use crate::stage::client::Request;
use crate::stage::journal::Heard;
use crate::stage::sample::{DONE, Surface, data};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "strict_output_is_verified",
    clause: "strict JSON Schema goes upstream and the finished output is verified here: a violation before output restores the refusal, after output it is an in-stream error; no reference in a schema is fetched",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn call(stream: bool, prompt: &str, schema: &Value) -> Request {
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": schema}});
    let body = json!({"model": "org/chat", "messages": [{"role": "user", "content": prompt}], "stream": stream,
        "response_format": format});
    Request::post("/v1/chat/completions", &body.to_string())
}

/// Says what it is told to say.
fn answer(heard: &Heard) -> Play {
    let call = heard.json();
    let text = &call["messages"][0]["content"];
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4});
    if call["response_format"]["json_schema"]["strict"] != true {
        return Answer::json(400, r#"{"error":{"message":"the schema did not arrive"}}"#).into();
    }
    if call["stream"] != true {
        let choice = json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        return Answer::json(200, &json!({"choices": [choice], "usage": usage}).to_string()).into();
    }
    Play::events(&[
        data(
            &json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null}]}),
        ),
        data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
        data(&json!({"choices": [], "usage": usage})),
        DONE.to_owned(),
    ])
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat")).await?;
    stage.engine.on_model("org/chat", engine::loading(Surface::Chat));
    stage.upstream.choose(|_| true, answer);
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
        "additionalProperties": false});

    stage.ask(&call(false, r#"{"a":1}"#, &schema)).await?.is(200)?.remote("hosted", Some("model_loading"))?;
    let broken = stage.ask(&call(false, r#"{"a":"one"}"#, &schema)).await?;
    broken.is(503)?.openai_code("MODEL_LOADING")?.restored("model_loading", "INFERENCE_ERROR", "invalid_answer")?;

    let good = stage.ask(&call(true, r#"{"a":1}"#, &schema)).await?;
    contains("a good stream", &String::from_utf8_lossy(&good.is(200)?.body), "[DONE]")?;
    let bad = stage.ask(&call(true, r#"{"a":"one"}"#, &schema)).await?;
    let text = String::from_utf8_lossy(&bad.is(200)?.body).into_owned();
    contains("a stream whose output breaks the schema", &text, "\"error\"")?;
    lacks("a stream whose output breaks the schema", &text, "[DONE]")?;

    // A reference that would have to be fetched: nothing is asked of anybody, and the refusal stands.
    let before = stage.upstream.journal().calls().len();
    let fetching = json!({"$ref": "http://127.0.0.1:9/schema.json"});
    stage.ask(&call(false, "{}", &fetching)).await?.is(503)?.restored(
        "model_loading",
        "INVALID_INPUT",
        "unsupported",
    )?;
    stage.upstream.journal().expect_calls("upstream", before)
}
