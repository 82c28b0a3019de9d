//! Whatever a file holds, it is judged without a panic, and every place that is named lies in it.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "config/support.rs"]
mod support;

use proptest::prelude::*;
use spillway::config::parse;
use support::{files, here};

fn check(text: &str) {
    let found = match parse("f", text, &|_| None) {
        Ok(config) => config.warnings,
        Err(found) => {
            assert!(found.iter().any(spillway::config::Diagnostic::is_error), "refused without a mistake");
            found
        }
    };
    let lines: Vec<_> = text.split('\n').collect();
    for diagnostic in &found {
        assert!((1..=lines.len()).contains(&diagnostic.line), "{diagnostic}");
        let columns = lines[diagnostic.line - 1].chars().count() + 1;
        assert!((1..=columns).contains(&diagnostic.column), "{diagnostic}");
        assert!(!diagnostic.to_string().contains('\n'), "{diagnostic}");
    }
    let order: Vec<_> = found.iter().map(|diagnostic| (diagnostic.line, diagnostic.column)).collect();
    assert!(order.is_sorted(), "{order:?}");
}

fn corpus() -> Vec<String> {
    let paths = ["examples", "tests/config/accepted", "tests/config/refused"].into_iter().flat_map(files);
    paths.map(|path| std::fs::read_to_string(here("").join(path)).unwrap()).collect()
}

#[test]
fn every_prefix_of_every_file_is_judged() {
    for text in corpus() {
        let ends = text.char_indices().map(|(at, _)| at).filter(|at| at % 29 == 0);
        ends.for_each(|end| check(&text[..end]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_characters_are_judged(text in "[\\[\\]{}=.,\"'#a-e0-9é\n ]{0,80}") {
        check(&text);
    }

    #[test]
    fn a_file_with_pieces_cut_and_pasted_is_judged(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..40), 1..4),
    ) {
        let corpus = corpus();
        let mut text: Vec<char> = which.get(&corpus).chars().collect();
        for (from, to, len) in edits {
            let from = from.index(text.len());
            let piece: Vec<_> = text[from..(from + len).min(text.len())].to_vec();
            let to = to.index(text.len());
            let end = (to + len / 2).min(text.len());
            text.splice(to..end, piece);
        }
        check(&text.into_iter().collect::<String>());
    }
}
