//! Does nobody see private reasoning who did not ask for it: in fields of its own, and marked inside the text, whole and streamed?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{Findings, Verdict, contains, lacks, same};
use crate::stage::client::Request;
use crate::stage::journal::Heard;
use crate::stage::sample::{DONE, data};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::{GENERATE, Setup};
use crate::stage::{Bench, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "private_reasoning_stays_private",
    clause: "reasoning is removed, and its log-probabilities with it, unless the caller asked for it; reasoning that a model marks inside its text is removed where the operator says so",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// Text whose marks are cut by every fragment.
const FRAGMENTS: [&str; 6] = ["<th", "ink>sec", "ret thought</", "think>", "the ans", "wer"];

async fn run(bench: Bench) -> Verdict {
    let marked = format!(
        "[models.\"org/marked\"]\nremote_backed = true\n{GENERATE}\nprofiles.default = {{ upstream = \"hosted\", \
         upstream_model = \"vendor/marked\", reasoning = {{ format = \"deepseek_r1\", hidden = true }} }}\n\
         routing = {{ policy = \"remote_only\" }}",
    );
    let stage = bench.stage(Setup::new().remote_only("org/plain", "hosted").table(&marked)).await?;
    stage.upstream.choose(|_| true, answer);
    let mut findings = Findings::default();
    for model in ["org/plain", "org/marked"] {
        for stream in [false, true] {
            findings.note(&format!("{model}, stream {stream}"), hidden(&stage, model, stream).await);
        }
    }
    findings.note("asked for", shown_when_asked(&stage).await);
    findings.verdict()
}

fn answer(heard: &Heard) -> Play {
    let call = heard.json();
    let (marked, stream) = (call["model"] == "vendor/marked", call["stream"] == true);
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12});
    if !stream {
        let content = if marked { FRAGMENTS.concat() } else { "the answer".to_owned() };
        let message = json!({"role": "assistant", "content": content, "reasoning_content": "secret thought"});
        let logprobs = json!({"content": [{"token": "secret", "logprob": -0.5, "bytes": null, "top_logprobs": []}]});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop", "logprobs": logprobs});
        return Answer::json(200, &json!({"choices": [choice], "usage": usage}).to_string()).into();
    }
    let delta = |delta: Value| data(&json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}));
    let mut events = vec![delta(json!({"role": "assistant"})), delta(json!({"reasoning_content": "secret thought"}))];
    let texts: &[&str] = if marked { &FRAGMENTS } else { &["the ans", "wer"] };
    events.extend(texts.iter().map(|text| delta(json!({"content": text}))));
    events.push(data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})));
    events.push(data(&json!({"choices": [], "usage": usage})));
    events.push(DONE.to_owned());
    Play::events(&events)
}

fn call(model: &str, stream: bool, reasoning: bool) -> Request {
    let body = json!({"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": stream,
        "include_reasoning": reasoning});
    Request::post("/v1/chat/completions", &body.to_string())
}

async fn hidden(stage: &Stage, model: &str, stream: bool) -> Verdict {
    let received = stage.ask(&call(model, stream, false)).await?;
    received.is(200)?.remote("hosted", None)?;
    let text = String::from_utf8_lossy(&received.body).into_owned();
    for private in ["secret", "thought", "think", "reasoning"] {
        lacks("what the caller sees", &text, private)?;
    }
    let said: String = if stream {
        text.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
            .filter_map(|event| Some(event["choices"][0]["delta"]["content"].as_str()?.to_owned()))
            .collect()
    } else {
        let got = received.json()?;
        same("logprobs", &got["choices"][0]["logprobs"], &Value::Null)?;
        got["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
    };
    same("the answer", &said.as_str(), &"the answer")
}

async fn shown_when_asked(stage: &Stage) -> Verdict {
    let received = stage.ask(&call("org/plain", false, true)).await?;
    let text = String::from_utf8_lossy(&received.is(200)?.body).into_owned();
    contains("what the caller sees", &text, "secret thought")
}
