//! Is an engine that holds a call while it loads spared the call, and asked for the load once?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::sample::chat;
use crate::stage::setup::Setup;
use crate::stage::traffic::{Served, Traffic};
use crate::stage::wrapped::{Wrap, Wrapped};
use crate::stage::{Bench, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "shim_loads_what_would_be_held",
    clause: "an engine that holds calls while it loads holds none that can be bridged: the shim loads the model, once, and the next call is local",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    for (name, wrap, step) in engines() {
        let mut wrapped = bench.wrapped(wrap)?;
        wrapped.start()?;
        wrapped.until_state("ready").await.during(name)?;
        let setup = wrapped.beside(setup());
        loaded_once(&bench, &wrapped, setup, step).await.during(name)?;
    }
    Ok(())
}

/// Engines that hold calls while they load, and the step that is a load.
pub(super) fn engines() -> [(&'static str, Wrap, &'static str); 2] {
    [("ollama", Wrap::ollama(), "load org/chat:latest"), ("llama-swap", Wrap::llama_swap(), "load org/chat")]
}

/// One model that may be bridged, and one that may not.
pub(super) fn setup() -> Setup {
    Setup::new().hybrid("org/chat").local("org/near")
}

/// Calls for a model that is not loaded, until it is.
pub(super) async fn loaded_once(bench: &Bench, wrapped: &Wrapped, setup: Setup, step: &str) -> Verdict {
    let director = &wrapped.director;
    let load = director.hold(step);
    let stage = bench.stage(setup).await?;
    stage.upstream.choose(|_| true, upstream::success);
    let mut traffic = Traffic::new(&stage);
    traffic.bridged(&chat("org/chat"), "model_loading").await?;
    load.reached().await?;
    // Enough calls to outlive what is remembered of the engine's list, which for Ollama has the model from now on.
    for _ in 0..40 {
        traffic.bridged(&chat("org/chat"), "model_loading").await?;
    }
    load.open();
    traffic.until(&chat("org/chat"), &Served::Local).await?;
    same("calls that were held", &director.count("held"), &0)?;
    // Nobody else would serve this one: the engine holds it, as without us.
    traffic.local(&chat("org/near")).await?;
    director.until("held org/near", 1).await?;
    same("loads of the model", &director.count("loads org/chat"), &1)?;
    traffic.each_once(director).await
}
