//! Do the laws of the codec hold for the fuzz corpus? The fuzz target runs the same function, with a fuzzer's inputs.

use std::path::Path;

use crate::{fixture, laws};

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its inputs; the crate itself reads no files")]
fn laws_hold_for_the_fuzz_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/wire");
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is committed") {
        let path = entry.expect("a folder entry").path();
        laws::check(&std::fs::read(&path).expect("a seed can be read"));
        seeds += 1;
    }
    assert!(seeds >= 100, "only {seeds} seeds in {}", folder.display());
}

/// The fuzzer starts from what the vectors know.
#[test]
fn laws_hold_for_every_vector() {
    for vector in fixture::all() {
        laws::check(&vector.parts().concat());
    }
}
