//! Does an answer without a length reach the caller whole?

use crate::case::Case;
use crate::expect::{During, Verdict};
use crate::stage::sample::{Surface, chat_events, request};
use crate::stage::script::Answer;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "close_delimited_answer",
    clause: "an engine's answer that ends with its connection, HTTP/1.0 too, is relayed whole",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn answers() -> Vec<(&'static str, Answer)> {
    let long = "0123456789".repeat(20_000);
    let events = chat_events("m", &["one", "two"]).concat();
    vec![
        ("short", Answer::json(200, "{}")),
        ("empty", Answer::new(200)),
        ("long", Answer::new(200).body(&long)),
        ("old", Answer::with_start("HTTP/1.0 200 OK").field("Content-Type", "text/event-stream").body(events)),
        ("closing", Answer::json(500, r#"{"a":1}"#).field("Connection", "close")),
    ]
}

async fn run(bench: Bench) -> Verdict {
    let mut setup = Setup::new();
    for (name, _) in answers() {
        setup = setup.hybrid(&format!("org/{name}"));
    }
    let stage = bench.stage(setup).await?;
    for (name, answer) in answers() {
        for model in [format!("org/{name}"), format!("far/{name}")] {
            stage.engine.on_model(&model, answer.clone().until_close());
            relayed(&stage, &model, &answer).await.during(&model)?;
        }
    }
    Ok(())
}

async fn relayed(stage: &Stage, model: &str, answer: &Answer) -> Verdict {
    let surface = if model.ends_with("old") { Surface::ChatStream } else { Surface::Chat };
    let seen = stage.ask(&request(surface, model)).await?;
    seen.carries(answer.content())?.local()?;
    Ok(())
}
