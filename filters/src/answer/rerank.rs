//! Is this a well-formed answer of rerank?

use super::indexes::{MAX_INDEXES, are_distinct_below};
use super::members::Members;
use super::numbers::Finite;
use super::usage::embedded_usage;
use super::{Expected, Fields};
use serde::Deserialize;

/// Rerank: `results`, each with an index that stands once and a finite score.
pub(super) fn rerank(members: &Members<'_>, expected: &Expected) -> Option<()> {
    let results: Vec<Fields<Ranked>> = members.read_member("results")?;
    if let Some(documents) = expected.items {
        (results.len() == expected.top_n.unwrap_or(documents).min(documents)).then_some(())?;
    }
    let bound = expected.items.unwrap_or(MAX_INDEXES);
    are_distinct_below(results.iter().map(|result| Some(result.0.index)), bound).then_some(())?;
    embedded_usage(members)
}

#[derive(Deserialize)]
struct Ranked {
    index: u64,
    #[serde(rename = "relevance_score")]
    _relevance_score: Finite,
}
