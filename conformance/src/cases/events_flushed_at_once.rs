//! Does every event reach the caller before the next one exists?

use crate::case::Case;
use crate::expect::{During, Verdict, contains};
use crate::stage::gate::Gate;
use crate::stage::sample::{DONE, Surface, chat_finish, chat_text, generate_end, generate_text, request};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "events_flushed_at_once",
    clause: "after the first content every event is flushed as it comes, local or remote",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const WORDS: [&str; 4] = ["first", "second", "third", "fourth"];

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().hybrid("org/chat").bridged("org/sie", "team-sie", "").local("org/near").hybrid("org/warm");
    let stage = bench.stage(setup).await?;
    for model in ["org/near", "org/warm"] {
        let gates = gates();
        stage.engine.on_model(model, chat(&gates));
        stepwise(&stage, Surface::ChatStream, model, &gates).await.during(model)?;
    }
    stage.engine.on_model("org/chat", engine::loading(Surface::ChatStream));
    stage.engine.on_model("org/sie", engine::loading(Surface::GenerateStream));
    let gates_of_chat = gates();
    stage.upstream.on_model("vendor/chat", chat(&gates_of_chat));
    stepwise(&stage, Surface::ChatStream, "org/chat", &gates_of_chat).await.during("remote chat")?;
    let gates_of_sie = gates();
    stage.upstream.on_model("vendor/sie", native(&gates_of_sie));
    stepwise(&stage, Surface::GenerateStream, "org/sie", &gates_of_sie).await.during("remote generate")
}

fn gates() -> Vec<Gate> {
    WORDS.iter().map(|_| Gate::new()).collect()
}

/// A stream that stands still after every word until the test has seen it.
fn chat(gates: &[Gate]) -> Play {
    let words = WORDS.iter().zip(gates);
    let play = words.fold(Play::stream(), |play, (word, gate)| play.event(&chat_text("m", word)).gate(gate));
    chat_finish("m").iter().fold(play, |play, event| play.event(event)).end()
}

fn native(gates: &[Gate]) -> Play {
    let words = WORDS.iter().zip(gates).enumerate();
    let play = words.fold(Play::stream(), |play, (seq, (word, gate))| play.event(&generate_text(seq, word)).gate(gate));
    let usage = serde_json::json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    play.event(&generate_end(WORDS.len(), "stop", &[("usage", usage)])).event(DONE).end()
}

async fn stepwise(stage: &Stage, surface: Surface, model: &str, gates: &[Gate]) -> Verdict {
    let mut client = stage.client().await?;
    client.send(request(surface, model).bytes()).await?;
    let head = client.head().await?;
    crate::expect::same("the status", &head.status(), &200)?;
    for (word, gate) in WORDS.iter().zip(gates) {
        // The script goes on only after this event has arrived here.
        let event = client.event().await?.unwrap_or_default();
        contains("the next event", &event, word)?;
        gate.open();
    }
    let rest = client.events().await?;
    contains("the last event", rest.last().map_or("", String::as_str), "[DONE]")
}
