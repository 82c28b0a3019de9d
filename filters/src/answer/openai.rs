//! Is this a well-formed answer of embeddings, rerank, responses or audio?

use super::members::Members;
use super::numbers::{Finite, Objects, Vector};
use super::usage::{Embedded, Responded};
use super::{Content, Expected, Fields, list};
use crate::upstream_status::loose::Text;
use serde::Deserialize;

/// Embeddings: `data`, one vector each, all of one size, with indexes that name each input once or none at all.
pub(super) fn embeddings(members: &Members<'_>, expected: &Expected) -> Option<()> {
    let data: Vec<Fields<Datum>> = members.read_member("data")?;
    let first = data.first()?.0.embedding;
    let fits = expected.dim.is_none_or(|dim| first.is_wide(dim as usize));
    let even = fits && !first.is_empty() && data.iter().all(|datum| datum.0.embedding == first);
    let wanted = expected.items.unwrap_or(data.len());
    let indexed = data.iter().any(|datum| datum.0.index.is_some());
    let placed = !indexed || are_distinct_below(data.iter().map(|datum| datum.0.index), wanted);
    (even && data.len() == wanted && placed).then_some(())?;
    embedded_usage(members)
}

/// Puts the vectors into the order of their inputs: callers map them by place.
pub(super) fn put_in_order(members: &mut Members<'_>) -> Option<()> {
    let placed: Vec<Fields<Placed>> = members.read_member("data")?;
    if placed.is_sorted_by_key(|datum| datum.0.index) {
        return Some(());
    }
    let mut data: Vec<(Option<u64>, &[u8])> =
        placed.iter().map(|datum| datum.0.index).zip(list::values(Content::Json, members.raw("data")?)?).collect();
    data.sort_by_key(|(index, _)| *index);
    let data: Vec<Vec<u8>> = data.into_iter().map(|(_, datum)| datum.to_vec()).collect();
    members.set("data", list::written(Content::Json, &data));
    Some(())
}

/// Rerank: `results`, each with an index that stands once and a finite score.
pub(super) fn rerank(members: &Members<'_>, expected: &Expected) -> Option<()> {
    let results: Vec<Fields<Ranked>> = members.read_member("results")?;
    if let Some(documents) = expected.items {
        (results.len() == expected.top_n.unwrap_or(documents).min(documents)).then_some(())?;
    }
    let bound = expected.items.unwrap_or(MAX_DOCUMENTS);
    are_distinct_below(results.iter().map(|result| Some(result.0.index)), bound).then_some(())?;
    embedded_usage(members)
}

/// Responses: `output`, no failed status, and exact usage when there is any.
pub(super) fn responses(members: &Members<'_>) -> Option<()> {
    members.read_member::<Objects>("output")?;
    if members.raw("status").is_some() {
        let status: Option<Text<'_>> = members.read_member("status")?;
        status.is_none_or(|status| matches!(status.0.as_ref(), "completed" | "incomplete")).then_some(())?;
    }
    if members.raw("usage").is_none() {
        return Some(());
    }
    members.read_member::<Option<Fields<Responded>>>("usage")?.is_none_or(|usage| usage.0.is_sound()).then_some(())
}

/// Audio as JSON: `text`.
pub(super) fn transcription(members: &Members<'_>) -> Option<()> {
    members.read_member::<Text<'_>>("text").map(drop)
}

/// Most documents of one rerank call, when the caller's number is not known.
const MAX_DOCUMENTS: usize = 100_000;

/// Whether every index is there, below `bound`, and stands once.
fn are_distinct_below(indexes: impl Iterator<Item = Option<u64>>, bound: usize) -> bool {
    let mut seen = vec![false; bound.min(MAX_DOCUMENTS)];
    for index in indexes {
        let place = index.and_then(|index| usize::try_from(index).ok()).and_then(|index| seen.get_mut(index));
        match place {
            Some(place) if !*place => *place = true,
            _ => return false,
        }
    }
    true
}

fn embedded_usage(members: &Members<'_>) -> Option<()> {
    if members.raw("usage").is_none() {
        Some(())
    } else {
        members.read_member::<Option<Fields<Embedded>>>("usage").map(drop)
    }
}

#[derive(Deserialize)]
struct Datum {
    #[serde(default)]
    index: Option<u64>,
    embedding: Vector,
}

#[derive(Deserialize)]
struct Placed {
    #[serde(default)]
    index: Option<u64>,
}

#[derive(Deserialize)]
struct Ranked {
    index: u64,
    #[serde(rename = "relevance_score")]
    _relevance_score: Finite,
}
