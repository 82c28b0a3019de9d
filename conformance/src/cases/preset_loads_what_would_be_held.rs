//! Is an engine that holds calls while it loads spared them also when there is no shim, by its own list of loaded models?

use super::shim_loads_what_would_be_held::{engines, loaded_once, setup};
use crate::case::Case;
use crate::expect::{During, Verdict};
use crate::stage::Bench;

/// The case.
pub(super) const CASE: Case = Case {
    name: "preset_loads_what_would_be_held",
    clause: "without a shim the engine's own list tells which call it would hold: that one is bridged, and the preset's call loads the model, once",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    for (name, wrap, step) in engines() {
        let mut alone = bench.wrapped(wrap)?;
        alone.start_engine()?;
        alone.director.until("ready", 1).await.during(name)?;
        loaded_once(&bench, &alone, alone.beside_engine(setup()), step).await.during(name)?;
    }
    Ok(())
}
