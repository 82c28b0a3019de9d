//! Is this a well-formed answer of chat or completions, and what does the caller see of it?
//!
//! Whole choices, as many as were asked for, and exact usage. What only the upstream knows goes, and private reasoning with it (contract
//! section 5, "Model name and ids" and "Reasoning privacy").

use super::choices::Kind;
use super::cursor::Cursor;
use super::members::Members;
use super::{Content, Expected, Fields, Generated, MAX_CHOICES, finish, logprobs};
use crate::writer::Writer;
use spillway_policies::Surface;

/// Most characters of the id or name of a tool call.
const MAX_NAME_CHARS: usize = 256;

/// Most tool calls of one message.
const MAX_TOOL_CALLS: usize = 128;

/// Where hosts put private reasoning: into the message, or beside it.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

const MESSAGE: [&str; 7] =
    ["role", "content", "refusal", "reasoning_content", "reasoning", "reasoning_details", "tool_calls"];

/// The answer as the caller sees it; none when it is not a valid one.
pub(super) fn shown(members: &Members<'_>, kind: Kind, expected: &Expected) -> Option<Vec<u8>> {
    let object = if kind == Kind::Message { "chat.completion" } else { "text_completion" };
    let mut writer = Writer::new(Content::Json, members.size());
    writer.object(|writer| {
        writer.member("id");
        writer.text(&expected.shown.id);
        writer.member("object");
        writer.text(object);
        writer.member("created");
        writer.whole(expected.shown.created_s);
        writer.member("model");
        writer.text(&expected.shown.model);
        let count = write_choices(members.raw("choices")?, kind, expected, writer)?;
        let Fields(usage): Fields<Generated> = members.read_member("usage")?;
        (usage.is_sound() && usage.is_within(expected, count)).then_some(())?;
        writer.member("usage");
        writer.raw(&usage.to_json());
        Some(())
    })?;
    Some(writer.into_bytes())
}

/// The choices, each index once. How many they are.
fn write_choices(raw: &[u8], kind: Kind, expected: &Expected, writer: &mut Writer) -> Option<usize> {
    let mut seen = 0_u128;
    writer.member("choices");
    let count = writer.list(|writer| {
        Cursor::new(Content::Json, raw).list(|cursor| {
            writer.element();
            let index = write_choice(cursor, kind, expected, writer)?;
            let bit = 1_u128.checked_shl(index).filter(|bit| seen & bit == 0)?;
            seen |= bit;
            Some(())
        })
    })?;
    // Distinct indexes that are as many as the highest says are all of them.
    let is_full = (1..=MAX_CHOICES).contains(&count) && seen == u128::MAX >> (MAX_CHOICES - count);
    (is_full && expected.choices.is_none_or(|wanted| wanted == count)).then_some(count)
}

fn write_choice(cursor: &mut Cursor<'_>, kind: Kind, expected: &Expected, writer: &mut Writer) -> Option<u32> {
    let (mut index, mut reason) = (None, None);
    let [content, text, details] = REASONING;
    let names = ["index", kind.inner(), "finish_reason", "logprobs", content, text, details];
    let [index_raw, said, reason_raw, logprobs, beside @ ..] = cursor.members(&names, |name, cursor| match name {
        "index" => cursor.count().map(|count| index = Some(count)),
        "finish_reason" => cursor.text().map(|text| reason = Some(text)),
        "text" => cursor.any_text(),
        _ => cursor.raw().map(drop),
    })?;
    let surface = if kind == Kind::Message { Surface::Chat } else { Surface::Completions };
    let reason = finish::of_choice(surface, &reason?)?;
    writer.object(|writer| {
        writer.member_if("index", index_raw);
        writer.member(kind.inner());
        let mut reasons = reasons(&beside);
        match kind {
            Kind::Message => reasons |= write_message(said?, reason == "tool_calls", expected, writer)?,
            Kind::Text => writer.raw(said?),
        }
        let hides = reasons && !expected.shown.include_reasoning;
        writer.member_if("finish_reason", reason_raw);
        logprobs::write(logprobs, kind, hides, expected.logprobs, writer)
    })?;
    u32::try_from(index?).ok()
}

/// The message; whether there is reasoning in it.
fn write_message(raw: &[u8], must_call: bool, expected: &Expected, writer: &mut Writer) -> Option<bool> {
    let mut cursor = Cursor::new(Content::Json, raw);
    let found = cursor.members(&MESSAGE, |name, cursor| match name {
        "role" => (cursor.text()? == "assistant").then_some(()),
        "reasoning_details" | "tool_calls" => cursor.raw().map(drop),
        _ => cursor.null_or(Cursor::any_text),
    })?;
    let [role, content, refusal, reasoning_content, reasoning, details, calls] = found;
    let mut called = 0;
    writer.object(|writer| {
        writer.member_if("role", Some(role?));
        writer.member_if("content", content);
        writer.member_if("refusal", refusal);
        if expected.shown.include_reasoning {
            writer.member_if("reasoning_content", reasoning_content);
            writer.member_if("reasoning", reasoning);
        }
        let Some(calls) = calls.filter(|raw| *raw != b"null") else { return Some(()) };
        called = write_tool_calls(calls, writer)?;
        (called == 0 || !expected.no_tools).then_some(())
    })?;
    let says_something = called > 0 || !must_call && (content.is_some() || refusal.is_some());
    says_something.then_some(())?;
    Some(reasons(&[reasoning_content, reasoning, details]))
}

/// Whether one of these members says something.
fn reasons(members: &[Option<&[u8]>]) -> bool {
    members.iter().flatten().any(|raw| !matches!(*raw, b"null" | b"\"\"" | b"[]" | b"{}"))
}

/// The tool calls, and how many they are.
fn write_tool_calls(raw: &[u8], writer: &mut Writer) -> Option<usize> {
    let mut count = 0;
    writer.member("tool_calls");
    writer.list(|writer| {
        Cursor::new(Content::Json, raw).list(|cursor| {
            count += 1;
            writer.element();
            (count <= MAX_TOOL_CALLS).then(|| write_tool_call(cursor, writer))?
        })
    })
}

fn write_tool_call(cursor: &mut Cursor<'_>, writer: &mut Writer) -> Option<()> {
    let [id, kind, function] = cursor.members(&["id", "type", "function"], |name, cursor| match name {
        "id" => tool_name(cursor),
        "type" => (cursor.text()? == "function").then_some(()),
        _ => cursor.raw().map(drop),
    })?;
    let mut cursor = Cursor::new(Content::Json, function?);
    let [name, arguments] = cursor.members(&["name", "arguments"], |member, cursor| match member {
        "name" => tool_name(cursor),
        _ => cursor.any_text(),
    })?;
    writer.object(|writer| {
        writer.members(&["id", "type"], &[Some(id?), Some(kind?)]);
        writer.member("function");
        writer.object(|writer| {
            writer.members(&["name", "arguments"], &[Some(name?), Some(arguments?)]);
            Some(())
        })
    })
}

/// The id or name of a tool call.
pub(super) fn tool_name(cursor: &mut Cursor<'_>) -> Option<()> {
    let text = cursor.text()?;
    (!text.is_empty() && text.chars().count() <= MAX_NAME_CHARS).then_some(())
}
