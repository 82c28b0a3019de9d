//! The whole black-box suite against the real binary: the cases, the bridge situations and the HTTP/1.1 vectors.

use spillway_conformance::stage::Binaries;
use spillway_conformance::{run_bridge_cases, run_cases, run_vectors};
use std::path::Path;

/// The shim and the program that plays the engines lie beside it: `cargo build -p spillway-shim -p spillway-conformance`, or a test run of
/// the whole workspace, puts them there.
const BINARY: &str = env!("CARGO_BIN_EXE_spillway");

#[tokio::test(flavor = "multi_thread")]
async fn every_case_passes() {
    let report = run_cases(&Binaries::beside(Path::new(BINARY)), None).await;
    report.print();
    assert!(report.failed() == 0, "{}", report.failures());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bridge_situation_ends_as_it_must() {
    let report = run_bridge_cases(Path::new(BINARY), None).await;
    report.print();
    assert!(report.failed() == 0, "{}", report.failures());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_vector_ends_as_it_must() {
    let report = run_vectors(Path::new(BINARY), None).await;
    report.print();
    assert!(report.failed() == 0, "{}", report.failures());
}
