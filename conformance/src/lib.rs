//! Does a Spillway keep its contract, seen from outside?
//!
//! The suite imports nothing of the project. It states the contract a second time, in plain strings, as an outside reader would:
//! a scripted engine, a scripted upstream and a raw client stand around the binary, and every case checks what the caller saw and
//! what both sides saw.
//!
//! * [`cases`]: one rule of the contract per file.
//! * [`bridge`]: the recorded bridge decisions of `fixtures/bridge_cases.json`.
//! * [`vectors`]: the raw HTTP/1.1 requests of `fixtures/h1_vectors.json`.
//! * [`stage`]: the language in which cases are written.
//! * [`engine`]: programs that behave like engines, for the cases with the real shim.
//! * [`expect`]: assertions that print both sides.
//! * [`report`]: what came of a run; `waivers.toml` names what is known not to hold yet.

pub mod bridge;
pub mod case;
pub mod cases;
pub mod engine;
pub mod expect;
pub mod report;
pub mod stage;
pub mod vectors;
mod waivers;

use std::path::Path;

use report::Report;
use stage::Binaries;

/// Runs the cases whose name contains `filter` against these programs.
pub async fn run_cases(binaries: &Binaries, filter: Option<&str>) -> Report {
    let chosen: Vec<case::Case> = cases::ALL.iter().filter(|case| matches(case.name, filter)).copied().collect();
    let mut report = case::run("cases", &chosen, binaries).await;
    let all: Vec<&str> = cases::ALL.iter().map(|case| case.name).collect();
    waivers::apply(&mut report, &all);
    report
}

/// Runs the recorded bridge decisions whose name contains `filter` against the binary at `bin`.
pub async fn run_bridge_cases(bin: &Path, filter: Option<&str>) -> Report {
    bridge::run(bin, filter).await
}

/// Runs the HTTP/1.1 vectors whose name contains `filter` against the binary at `bin`.
pub async fn run_vectors(bin: &Path, filter: Option<&str>) -> Report {
    vectors::run(bin, filter).await
}

/// Whether a name is chosen.
pub(crate) fn matches(name: &str, filter: Option<&str>) -> bool {
    filter.is_none_or(|filter| name.contains(filter))
}
