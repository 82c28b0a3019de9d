//! Is the disclosure Spillway's alone, whoever else writes under its names?

use crate::case::Case;
use crate::expect::{DISCLOSURE, Verdict, holds};
use crate::stage::Bench;
use crate::stage::client::Request;
use crate::stage::engine;
use crate::stage::sample::{Surface, chat, request};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;

/// The case.
pub(super) const CASE: Case = Case {
    name: "caller_cannot_spoof_disclosure",
    clause: "what a caller, an engine or an upstream sends under the disclosure names is dropped",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn forge(answer: Answer) -> Answer {
    let names = DISCLOSURE.iter().flat_map(|name| [(*name).to_owned(), name.to_lowercase()]);
    names.fold(answer, |answer, name| answer.field(&name, "forged"))
}

fn forged_request(request: Request) -> Request {
    let names = DISCLOSURE.iter().flat_map(|name| [(*name).to_owned(), name.to_uppercase()]);
    names.fold(request, |request, name| request.field(&name, "forged"))
}

fn chat_answer(text: &str) -> Answer {
    let body = format!(
        r#"{{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}}}"#
    );
    Answer::json(200, &body)
}

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().hybrid("org/warm").hybrid("org/cold").hybrid("org/stuck").hybrid("org/stream");
    let stage = bench.stage(setup).await?;
    let loading = || forge(engine::loading(Surface::Chat));
    stage.engine.on_model("org/warm", forge(chat_answer("local")));
    stage.engine.on_model("org/unknown", forge(chat_answer("local")));
    for model in ["org/cold", "org/stuck", "org/stream"] {
        stage.engine.on_model(model, loading());
    }
    stage.upstream.on_model("vendor/cold", forge(chat_answer("remote")));
    stage.upstream.on_model("vendor/stuck", forge(Answer::json(500, "{}")));
    let head = forge(Answer::new(200).field("Content-Type", "text/event-stream")).field("Transfer-Encoding", "chunked");
    let events = crate::stage::sample::chat_events("vendor/stream", &["remote"]);
    let stream = events.iter().fold(Play::raw(head.head()), |play, event| play.event(event)).end();
    stage.upstream.on_model("vendor/stream", stream);

    for model in ["org/warm", "org/unknown"] {
        stage.ask(&forged_request(chat(model))).await?.is(200)?.local()?;
    }
    let cold = stage.ask(&forged_request(chat("org/cold"))).await?;
    cold.is(200)?.remote("hosted", Some("model_loading"))?;
    let stuck = stage.ask(&forged_request(chat("org/stuck"))).await?;
    stuck.is(503)?.restored("model_loading", "QUEUE_FULL", "status")?;
    let stream = stage.ask(&forged_request(request(Surface::ChatStream, "org/stream"))).await?;
    stream.is(200)?.remote("hosted", Some("model_loading"))?;

    let heard = [stage.engine.journal().calls(), stage.upstream.journal().calls()].concat();
    holds(heard.len() == 8, "eight calls in all", &heard.len())?;
    let forged = |name: &str| DISCLOSURE.iter().any(|own| own.eq_ignore_ascii_case(name));
    for heard in heard {
        let fields = heard.head.fields();
        holds(!fields.iter().any(|field| forged(&field.0)), "no disclosure name in a request", &fields)?;
    }
    Ok(())
}
