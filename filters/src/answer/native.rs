//! Is this a well-formed answer of encode, extract, score or generate?

use super::members::Members;
use super::numbers::{Finite, Objects};
use super::usage::{Generated, Native};
use super::{Expected, finish};
use crate::upstream_status::loose::Text;
use serde::Deserialize;

/// Encode and extract: `items`, one object each, and exact usage when there is any.
pub(super) fn items(members: &Members<'_>, expected: &Expected<'_>) -> Option<()> {
    let Objects(count) = members.read_member("items")?;
    is_count(count, expected.items)?;
    usage(members)
}

/// Score: `scores`, one finite score each.
pub(super) fn scores(members: &Members<'_>, expected: &Expected<'_>) -> Option<()> {
    let scores: Vec<Score<'_>> = members.read_member("scores")?;
    is_count(scores.len(), expected.items)?;
    usage(members)
}

/// Generate: `text`, how it finished, and exact usage.
pub(super) fn generated(members: &Members<'_>) -> Option<()> {
    members.read_member::<Text<'_>>("text")?;
    let finish: Text<'_> = members.read_member("finish_reason")?;
    let usage: Generated = members.read_member("usage")?;
    (finish::is_generated(&finish.0) && usage.is_sound()).then_some(())
}

fn is_count(found: usize, wanted: Option<usize>) -> Option<()> {
    wanted.is_none_or(|wanted| wanted == found).then_some(())
}

fn usage(members: &Members<'_>) -> Option<()> {
    if members.raw("usage").is_none() {
        return Some(());
    }
    members.read_member::<Option<Native>>("usage")?.is_none_or(|usage| usage.is_sound()).then_some(())
}

#[derive(Deserialize)]
struct Score<'a> {
    #[serde(borrow, rename = "item_id")]
    _item_id: Text<'a>,
    #[serde(rename = "score")]
    _score: Finite,
}
