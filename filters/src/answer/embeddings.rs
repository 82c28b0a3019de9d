//! Is this a well-formed answer of embeddings, and in which order does the caller see it?

use super::indexes::are_distinct_below;
use super::members::Members;
use super::numbers::Vector;
use super::usage::embedded_usage;
use super::{Content, Expected, Fields, list};
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
