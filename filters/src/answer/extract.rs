//! Is this a well-formed answer of extract, and what does the caller see of it?

use super::cursor::Cursor;
use super::members::{self, Members};
use super::native::{answer, id, write_items};
use super::{Content, Expected};
use crate::upstream_status::loose::Loose;
use crate::writer::Writer;
use spillway_policies::failure::SieCode;

/// What was found, list by list: the members of each thing, and how many of the first of them it must have.
const ENTITY: ([&str; 6], usize) = (["text", "label", "score", "start", "end", "bbox"], 3);
const RELATION: ([&str; 4], usize) = (["head", "tail", "relation", "score"], 4);
const CLASSIFICATION: ([&str; 2], usize) = (["label", "score"], 2);
const OBJECT: ([&str; 3], usize) = (["label", "score", "bbox"], 3);

/// The answer as the caller sees it; none when it is not a valid one.
pub(super) fn shown(members: &Members<'_>, expected: &Expected) -> Option<Vec<u8>> {
    answer(members, expected, |writer| {
        write_items(members, expected, writer, |cursor, place, writer| write_item(cursor, place, expected, writer))
    })
}

fn write_item(cursor: &mut Cursor<'_>, place: usize, expected: &Expected, writer: &mut Writer) -> Option<()> {
    let content = cursor.content();
    let names = ["id", "entities", "relations", "classifications", "objects", "data", "error"];
    let [found, entities, relations, classifications, objects, data, error] =
        cursor.members(&names, |name, cursor| match name {
            "id" => cursor.null_or(Cursor::any_text),
            _ => cursor.raw().map(drop),
        })?;
    writer.object(|writer| {
        match id(expected, place, found) {
            Some(id) => writer.member_if("id", Some(id)),
            // SIE says so here where an item has none.
            None => {
                writer.member("id");
                writer.null();
            }
        }
        write_things(content, "entities", entities, &ENTITY, writer)?;
        write_things(content, "relations", relations, &RELATION, writer)?;
        write_things(content, "classifications", classifications, &CLASSIFICATION, writer)?;
        write_things(content, "objects", objects, &OBJECT, writer)?;
        write_data(content, data, writer)?;
        write_error(content, error, writer);
        Some(())
    })
}

/// A list of things with scores; nothing found is an empty list.
fn write_things<const N: usize>(
    content: Content,
    name: &str,
    raw: Option<&[u8]>,
    (names, required): &([&str; N], usize),
    writer: &mut Writer,
) -> Option<()> {
    writer.member(name);
    let mut cursor = raw.map(|raw| Cursor::new(content, raw)).filter(|cursor| cursor.clone().null().is_none());
    writer.list(|writer| {
        let Some(cursor) = &mut cursor else { return Some(0) };
        cursor.list(|cursor| {
            let found = cursor.members(names, |name, cursor| {
                let must_be = names[..*required].contains(&name);
                if must_be { read_part(name, cursor) } else { cursor.null_or(|cursor| read_part(name, cursor)) }
            })?;
            found[..*required].iter().all(Option::is_some).then_some(())?;
            writer.element();
            writer.object(|writer| writer.members(names, &found));
            Some(())
        })
    })?;
    Some(())
}

fn read_part(name: &str, cursor: &mut Cursor<'_>) -> Option<()> {
    match name {
        "bbox" => (cursor.list(|cursor| cursor.number()?.whole().map(drop))? == 4).then_some(()),
        "end" | "start" => cursor.count().map(drop),
        "score" => cursor.finite(),
        _ => cursor.any_text(),
    }
}

fn write_data(content: Content, raw: Option<&[u8]>, writer: &mut Writer) -> Option<()> {
    writer.member("data");
    let raw = raw.filter(|raw| Cursor::new(content, raw).null().is_none());
    let Some(raw) = raw else {
        writer.object(|_| ());
        return Some(());
    };
    Cursor::new(content, raw).object(|_, cursor| cursor.plain())?;
    writer.raw(raw);
    Some(())
}

/// Our own words in place of the upstream's where an item has an error; its code stays when it is one of SIE's.
fn write_error(content: Content, raw: Option<&[u8]>, writer: &mut Writer) {
    let Some(raw) = raw.filter(|raw| Cursor::new(content, raw).null().is_none()) else { return };
    let code = match members::read::<Loose<'_>>(content, raw) {
        Some(Loose::Object { code: Some(code), .. }) => match *code {
            Loose::Text(code) => SieCode::ALL.into_iter().find(|known| known.token() == code),
            Loose::Null | Loose::Object { .. } | Loose::Other | Loose::Whole(_) => None,
        },
        Some(Loose::Null | Loose::Object { .. } | Loose::Other | Loose::Text(_) | Loose::Whole(_)) | None => None,
    };
    writer.member("error");
    writer.object(|writer| {
        writer.member("code");
        writer.text(code.unwrap_or(SieCode::InferenceError).token());
        writer.member("message");
        writer.text("the upstream could not process this item");
    });
}
