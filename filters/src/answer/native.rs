//! Is this a well-formed answer of encode, extract, score or generate?

use super::list;
use super::members::Members;
use super::numbers::{Finite, Objects};
use super::usage::{Generated, Native};
use super::{Content, Expected, Fields, finish};
use crate::upstream_status::loose::{Loose, Text};
use serde::Deserialize;
use spillway_policies::failure::SieCode;

/// Encode and extract: `items`, one object each, and exact usage when there is any.
pub(super) fn items(members: &Members<'_>, expected: &Expected) -> Option<()> {
    let items: Objects = members.read_member("items")?;
    is_count(items.count, expected.items)?;
    usage(members)
}

/// Score: `scores`, one finite score each.
pub(super) fn scores(members: &Members<'_>, expected: &Expected) -> Option<()> {
    let scores: Vec<Fields<Score<'_>>> = members.read_member("scores")?;
    is_count(scores.len(), expected.items)?;
    usage(members)
}

/// Generate: `text`, how it finished, and exact usage.
pub(super) fn generated(members: &Members<'_>, expected: &Expected) -> Option<()> {
    members.read_member::<Text<'_>>("text")?;
    let finish: Text<'_> = members.read_member("finish_reason")?;
    let Fields(usage): Fields<Generated> = members.read_member("usage")?;
    (finish::is_generated(&finish.0) && usage.is_sound() && usage.is_within(expected, 1)).then_some(())
}

/// Puts our own words in place of the upstream's where an item of an extract answer has an error.
pub(super) fn hide_error_texts(content: Content, members: &mut Members<'_>) -> Option<()> {
    if !members.read_member::<Objects>("items")?.any_error {
        return Some(());
    }
    let items = list::values(content, members.raw("items")?)?;
    let items = items.into_iter().map(|item| without_error_text(content, item)).collect::<Option<Vec<_>>>()?;
    members.set("items", list::written(content, &items));
    Some(())
}

fn without_error_text(content: Content, item: &[u8]) -> Option<Vec<u8>> {
    let mut item = Members::read(content, item)?;
    let code = match item.read_member::<Loose<'_>>("error") {
        None | Some(Loose::Null) => return Some(item.to_bytes()),
        Some(Loose::Object { code, .. }) => match code.as_deref() {
            Some(Loose::Text(code)) => SieCode::ALL.into_iter().find(|known| known.token() == code),
            Some(Loose::Null | Loose::Object { .. } | Loose::Other | Loose::Whole(_)) | None => None,
        },
        Some(Loose::Other | Loose::Text(_) | Loose::Whole(_)) => None,
    };
    let mut error = Members::empty(content);
    error.set_text("message", "the upstream could not process this item");
    error.set_text("code", code.unwrap_or(SieCode::InferenceError).token());
    item.set("error", error.to_bytes());
    Some(item.to_bytes())
}

fn is_count(found: usize, wanted: Option<usize>) -> Option<()> {
    wanted.is_none_or(|wanted| wanted == found).then_some(())
}

fn usage(members: &Members<'_>) -> Option<()> {
    if members.raw("usage").is_none() {
        return Some(());
    }
    members.read_member::<Option<Fields<Native>>>("usage")?.is_none_or(|usage| usage.0.is_sound()).then_some(())
}

#[derive(Deserialize)]
struct Score<'a> {
    #[serde(borrow, rename = "item_id")]
    _item_id: Text<'a>,
    #[serde(rename = "score")]
    _score: Finite,
}
