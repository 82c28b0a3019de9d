//! Does health speak of Spillway and not of the engine?

use crate::case::Case;
use crate::expect::{During, Verdict};
use crate::stage::client::Request;
use crate::stage::script::Answer;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Nowhere};

/// The case.
pub(super) const CASE: Case = Case {
    name: "readyz_livez",
    clause: "/readyz and /livez on the admin address are 200 whatever the engine does; on the front they are the engine's",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> Verdict {
    let nowhere = Nowhere::new()?;
    let alone = bench.stage(Setup::new().hybrid("org/chat").engine_at(nowhere.address())).await?;
    let beside = bench.stage(Setup::new().hybrid("org/chat")).await?;
    for path in ["/readyz", "/livez"] {
        beside.engine.on_path(path, Answer::new(503).body("not ready"));
        for (stage, situation) in [(&alone, "no engine"), (&beside, "engine not ready")] {
            stage.sidecar.admin_get(path).await?.is(200).during(situation)?;
        }
        beside.ask(&Request::get(path)).await?.is(503)?.carries(b"not ready")?.local()?;
    }
    Ok(())
}
