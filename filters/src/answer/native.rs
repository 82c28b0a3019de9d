//! What have the answers of encode, extract, score and generate in common?

use super::cursor::Cursor;
use super::members::Members;
use super::usage::Generated;
use super::{Expected, Fields, finish};
use crate::upstream_status::loose::Text;
use crate::writer::Writer;

/// Most items of one answer, when the caller's number is not known.
const MAX_ITEMS: usize = 65_536;

/// An answer with the caller's model, what `fill` writes, and exact usage when there is any.
pub(super) fn answer(
    members: &Members<'_>,
    expected: &Expected,
    fill: impl FnOnce(&mut Writer) -> Option<()>,
) -> Option<Vec<u8>> {
    let mut writer = Writer::new(members.content(), members.size());
    writer.object(|writer| {
        writer.member("model");
        writer.text(&expected.shown.model);
        fill(writer)?;
        write_usage(members, writer)
    })?;
    Some(writer.into_bytes())
}

/// The list `items`, one object for each item: `item` reads the one at its place and writes what the caller sees.
pub(super) fn write_items(
    members: &Members<'_>,
    expected: &Expected,
    writer: &mut Writer,
    mut item: impl FnMut(&mut Cursor<'_>, usize, &mut Writer) -> Option<()>,
) -> Option<()> {
    let mut cursor = Cursor::new(members.content(), members.raw("items")?);
    let wanted = items(expected);
    let mut place = 0;
    writer.member("items");
    writer.list(|writer| {
        let found = cursor.list(|cursor| {
            (place < wanted.unwrap_or(MAX_ITEMS)).then_some(())?;
            writer.element();
            item(cursor, place, writer)?;
            place += 1;
            Some(())
        })?;
        wanted.is_none_or(|wanted| wanted == found).then_some(())
    })
}

/// How many items there must be, when that is known.
pub(super) const fn items(expected: &Expected) -> Option<usize> {
    if expected.ids.is_empty() { expected.items } else { Some(expected.ids.len()) }
}

/// The id of the item at `place`: the caller's, or where the items went as they were sent, the one that came back.
pub(super) fn id<'a>(expected: &'a Expected, place: usize, found: Option<&'a [u8]>) -> Option<&'a [u8]> {
    if expected.ids.is_empty() { found } else { expected.ids.get(place)?.as_deref() }
}

/// Usage of encode, score and extract: exact, or none at all (contract section 5, "Usage").
fn write_usage(members: &Members<'_>, writer: &mut Writer) -> Option<()> {
    let Some(raw) = members.raw("usage") else { return Some(()) };
    let mut cursor = Cursor::new(members.content(), raw);
    if cursor.null().is_some() {
        return Some(());
    }
    let (mut input, mut images, mut content) = (None, None, None);
    cursor.members(&["input_tokens", "images", "input_tokens_details"], |name, cursor| match name {
        "input_tokens" => tokens(cursor).map(|count| input = Some(count)),
        "images" => cursor.null_or(|cursor| tokens(cursor).map(|count| images = Some(count))),
        _ => cursor.null_or(|cursor| content_tokens(cursor).map(|count| content = Some(count))),
    })?;
    let input = input.filter(|input| content.is_none_or(|content| content <= *input))?;
    writer.member("usage");
    writer.object(|writer| {
        writer.member("input_tokens");
        writer.whole(input);
        if let Some(images) = images {
            writer.member("images");
            writer.whole(images);
        }
        let Some(content) = content else { return };
        writer.member("input_tokens_details");
        writer.object(|writer| {
            writer.member("content_tokens");
            writer.whole(content);
        });
    });
    Some(())
}

fn tokens(cursor: &mut Cursor<'_>) -> Option<u64> {
    cursor.count().filter(|count| *count <= u64::from(u32::MAX))
}

fn content_tokens(cursor: &mut Cursor<'_>) -> Option<u64> {
    let mut content = None;
    cursor.members(&["content_tokens"], |_, cursor| tokens(cursor).map(|count| content = Some(count)))?;
    content
}

/// Generate: `text`, how it finished, and exact usage.
pub(super) fn generated(members: &Members<'_>, expected: &Expected) -> Option<Vec<u8>> {
    let text = members.raw("text").filter(|raw| raw.starts_with(b"\""))?;
    let finish: Text<'_> = members.read_member("finish_reason")?;
    let Fields(usage): Fields<Generated> = members.read_member("usage")?;
    (finish::is_generated(&finish.0) && usage.is_sound() && usage.is_within(expected, 1)).then_some(())?;
    let mut writer = Writer::new(members.content(), members.size());
    writer.object(|writer| {
        writer.member("model");
        writer.text(&expected.shown.model);
        writer.member("text");
        writer.raw(text);
        writer.member("finish_reason");
        writer.text(&finish.0);
        writer.member("usage");
        writer.raw(&usage.to_json());
        Some(())
    })?;
    Some(writer.into_bytes())
}
