//! Do many inputs go to an upstream in as few requests as it takes, each counted, and come back as one answer in order?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::Bench;
use crate::stage::client::Request;
use crate::stage::journal::Heard;
use crate::stage::script::{Answer, Play};
use crate::stage::setup::{Setup, Upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "inputs_travel_in_batches",
    clause: "inputs go in one upstream request per batch of max_batch, each counted against the rate cap; one bad batch fails the call",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const MODEL: &str = "[models.\"org/embed\"]\nremote_backed = true\ntasks = { encode = { dense = { dim = 1 } } }\n\
    profiles.default = { upstream = \"hosted\", upstream_model = \"vendor/embed\", max_batch = 2 }\n\
    routing = { policy = \"remote_only\" }";

/// One number for each input: its own text read as one. The text `bad` gets none.
fn answer(heard: &Heard) -> Play {
    let inputs = heard.json()["input"].as_array().cloned().unwrap_or_default();
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .filter_map(|(index, text)| {
            let number: f64 = text.as_str()?.parse().ok()?;
            Some(json!({"object": "embedding", "index": index, "embedding": [number]}))
        })
        .collect();
    let usage = json!({"prompt_tokens": inputs.len(), "total_tokens": inputs.len()});
    Answer::json(200, &json!({"object": "list", "data": data, "model": "v", "usage": usage}).to_string()).into()
}

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().upstream(Upstream::openai("hosted").rate_cap(7, 4)).table(MODEL);
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, answer);
    let call =
        |input: Value| Request::post("/v1/embeddings", &json!({"model": "org/embed", "input": input}).to_string());

    let received = stage.ask(&call(json!(["1", "2", "3", "4", "5"]))).await?;
    let got = received.is(200)?.remote("hosted", None)?.json()?;
    let vectors: Vec<Value> = (0..5).map(|place| got["data"][place]["embedding"][0].clone()).collect();
    same("vectors in the order of their inputs", &json!(vectors), &json!([1.0, 2.0, 3.0, 4.0, 5.0]))?;
    let indexes: Vec<Value> = (0..5).map(|place| got["data"][place]["index"].clone()).collect();
    same("indexes", &json!(indexes), &json!([0, 1, 2, 3, 4]))?;
    same("usage over all batches", &got["usage"]["prompt_tokens"], &json!(5))?;
    stage.upstream.journal().expect_calls("upstream", 3)?;
    let sizes: Vec<usize> = stage
        .upstream
        .journal()
        .calls()
        .iter()
        .map(|heard| heard.json()["input"].as_array().map_or(0, Vec::len))
        .collect();
    same("inputs in each request", &sizes, &vec![2, 2, 1])?;

    // Three requests, of which the second brings one vector too few: the third is not sent.
    stage.ask(&call(json!(["1", "2", "3", "bad", "5"]))).await?.is(500)?.openai_code("INFERENCE_ERROR")?;
    stage.upstream.journal().expect_calls("upstream", 5)?;
    // Six of seven requests are used up: three more do not fit, and none of them is sent.
    stage.ask(&call(json!(["1", "2", "3", "4", "5"]))).await?.is(503)?.openai_code("QUEUE_FULL")?;
    stage.upstream.journal().expect_calls("upstream", 5)
}
