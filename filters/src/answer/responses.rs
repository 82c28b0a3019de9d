//! Is this a well-formed answer of responses, and what does the caller see of it?
//!
//! The output of SIE is messages of plain text (contract section 1.5), that of OpenAI hosts also calls of functions. Reasoning and what
//! a host adds of its own is left out.

use super::chat::tool_name;
use super::cursor::Cursor;
use super::members::Members;
use super::usage::Responded;
use super::{Content, Expected, Fields};
use crate::upstream_status::loose::Text;
use crate::writer::Writer;

/// Most pieces of output that are read.
const MAX_OUTPUT: usize = 256;

/// The answer as the caller sees it; none when it is not a valid one.
pub(super) fn shown(members: &Members<'_>, expected: &Expected) -> Option<Vec<u8>> {
    let status = status(members)?;
    let Fields(usage): Fields<Responded> = members.read_member("usage")?;
    (usage.generated().is_sound() && usage.generated().is_within(expected, 1)).then_some(())?;
    let mut writer = Writer::new(Content::Json, members.size());
    writer.object(|writer| {
        writer.member("id");
        writer.text(&expected.shown.id);
        writer.member("object");
        writer.text("response");
        writer.member("created_at");
        writer.whole(expected.shown.created_s);
        writer.member("model");
        writer.text(&expected.shown.model);
        writer.member("status");
        writer.text(status);
        let count = write_output(members.raw("output")?, expected, writer)?;
        (count > 0 || status == "incomplete").then_some(())?;
        write_incompleteness(members, writer);
        writer.member("usage");
        usage.write(writer);
        Some(())
    })?;
    Some(writer.into_bytes())
}

fn status(members: &Members<'_>) -> Option<&'static str> {
    let Some(raw) = members.raw("status").filter(|raw| *raw != b"null") else { return Some("completed") };
    known_status(&mut Cursor::new(Content::Json, raw))
}

/// An end that is one: of the whole answer or of a piece of its output.
fn known_status(cursor: &mut Cursor<'_>) -> Option<&'static str> {
    let status = cursor.text()?;
    ["completed", "incomplete"].into_iter().find(|known| *known == status)
}

/// The pieces of output that the caller sees, and how many they are.
fn write_output(raw: &[u8], expected: &Expected, writer: &mut Writer) -> Option<usize> {
    let (mut read, mut written) = (0, 0);
    // Our own ids: those of the upstream mean nothing here.
    let id = expected.shown.id.strip_prefix("resp").unwrap_or(&expected.shown.id);
    writer.member("output");
    writer.list(|writer| {
        Cursor::new(Content::Json, raw).list(|cursor| {
            read += 1;
            (read <= MAX_OUTPUT).then_some(())?;
            let piece = cursor.raw()?;
            let kind = kind(piece)?;
            if !matches!(kind.as_ref(), "function_call" | "message") {
                return Some(());
            }
            writer.element();
            let place = if written == 0 { String::new() } else { format!("-{written}") };
            written += 1;
            match kind.as_ref() {
                "message" => write_message(piece, &format!("msg{id}{place}"), writer),
                _ if expected.no_tools => None,
                _ => write_function_call(piece, &format!("fc{id}{place}"), writer),
            }
        })
    })?;
    Some(written)
}

/// The `type` of an object.
fn kind(raw: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let [kind] = Cursor::new(Content::Json, raw).members(&["type"], |_, cursor| cursor.any_text())?;
    Cursor::new(Content::Json, kind?).text()
}

fn write_message(raw: &[u8], id: &str, writer: &mut Writer) -> Option<()> {
    let mut status = "completed";
    let names = ["role", "status", "content"];
    let [role, _, content] = Cursor::new(Content::Json, raw).members(&names, |name, cursor| match name {
        "role" => (cursor.text()? == "assistant").then_some(()),
        "status" => cursor.null_or(|cursor| known_status(cursor).map(|found| status = found)),
        _ => cursor.raw().map(drop),
    })?;
    writer.object(|writer| {
        writer.member("type");
        writer.text("message");
        writer.member("id");
        writer.text(id);
        writer.member_if("role", Some(role?));
        writer.member("status");
        writer.text(status);
        writer.member("content");
        writer.list(|writer| Cursor::new(Content::Json, content?).list(|cursor| write_part(cursor, writer)))
    })?;
    Some(())
}

/// A part of a message: text, or the words of a refusal.
fn write_part(cursor: &mut Cursor<'_>, writer: &mut Writer) -> Option<()> {
    let raw = cursor.raw()?;
    let kind = kind(raw)?;
    let name = match kind.as_ref() {
        "output_text" => "text",
        "refusal" => "refusal",
        _ => return None,
    };
    let [text] = Cursor::new(Content::Json, raw).members(&[name], |_, cursor| cursor.any_text())?;
    writer.element();
    writer.object(|writer| {
        writer.member("type");
        writer.text(&kind);
        writer.member_if(name, Some(text?));
        if name == "text" {
            writer.member("annotations");
            writer.raw(b"[]");
        }
        Some(())
    })
}

fn write_function_call(raw: &[u8], id: &str, writer: &mut Writer) -> Option<()> {
    let mut status = "completed";
    let names = ["call_id", "name", "arguments", "status"];
    let [call_id, function, arguments, _] =
        Cursor::new(Content::Json, raw).members(&names, |member, cursor| match member {
            "arguments" => cursor.any_text(),
            "status" => cursor.null_or(|cursor| known_status(cursor).map(|found| status = found)),
            _ => tool_name(cursor),
        })?;
    writer.object(|writer| {
        writer.member("type");
        writer.text("function_call");
        writer.member("id");
        writer.text(id);
        writer.members(&["call_id", "name", "arguments"], &[Some(call_id?), Some(function?), Some(arguments?)]);
        writer.member("status");
        writer.text(status);
        Some(())
    })
}

/// Why an answer is not complete, where the upstream says so in words that OpenAI knows.
fn write_incompleteness(members: &Members<'_>, writer: &mut Writer) {
    let Some(Some(Fields(details))) = members.read_member::<Option<Fields<Incompleteness<'_>>>>("incomplete_details")
    else {
        return;
    };
    let Some(Text(reason)) = details.reason else { return };
    if !matches!(reason.as_ref(), "content_filter" | "max_output_tokens") {
        return;
    }
    writer.member("incomplete_details");
    writer.object(|writer| {
        writer.member("reason");
        writer.text(&reason);
    });
}

#[derive(serde::Deserialize)]
struct Incompleteness<'a> {
    #[serde(borrow, default)]
    reason: Option<Text<'a>>,
}
