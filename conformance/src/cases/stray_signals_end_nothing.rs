//! Does the sidecar live through signals that are not meant for it?

use crate::case::Case;
use crate::expect::{During, Verdict, contains, same};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::gate::Gate;
use crate::stage::sample::{Surface, chat_events, chat_text};
use crate::stage::script::Play;
use crate::stage::setup::Setup;
use crate::stage::{Bench, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "stray_signals_end_nothing",
    clause: "SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2, and SIGQUIT while nobody waits to take over, end neither the process nor a request",
    faults: &["X5"],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().engine("max_in_flight = 2").hybrid("org/chat").hybrid("org/quick")).await?;
    let gate = Gate::new();
    let play = Play::stream().event(&chat_text("m", "begun")).gate(&gate);
    let play = chat_events("m", &["finished"]).iter().fold(play, |play, event| play.event(event)).end();
    stage.engine.on_model("org/chat", play);
    stage.engine.on_model("org/quick", engine::success(Surface::Chat, "org/quick"));
    let mut client = stage.client().await?;
    client.send(secretive(Surface::ChatStream, "org/chat").bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    client.event().await?;
    let signals = ["HUP", "PIPE", "USR1", "USR2", "QUIT"];
    for signal in signals {
        stage.sidecar.signal(signal)?;
        stage.ask(&secretive(Surface::Chat, "org/quick")).await.during(signal)?.is(200)?.local()?;
        stage.sidecar.admin_get("/readyz").await.during(signal)?.is(200)?;
    }
    stage.sidecar.says("handing over").await?;
    gate.open();
    let rest = client.events().await?.concat();
    contains("the rest of the stream", &rest, "finished")?;
    contains("the rest of the stream", &rest, "[DONE]")?;
    stage.engine.journal().expect_calls("engine", 1 + signals.len())?;
    clean(stage, 1 + signals.len()).await
}
