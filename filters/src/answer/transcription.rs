//! Is this a well-formed transcription, and what does the caller see of it?
//!
//! `text` must be there. What else OpenAI documents is passed on where it is sound, and nothing else (contract section 1.5).

use super::Content;
use super::cursor::Cursor;
use super::members::Members;
use crate::writer::Writer;

const SCALARS: [&str; 6] = ["task", "language", "duration", "duration_ms", "text", "usage"];
const SEGMENT: [&str; 10] = [
    "id",
    "seek",
    "start",
    "end",
    "text",
    "tokens",
    "temperature",
    "avg_logprob",
    "compression_ratio",
    "no_speech_prob",
];
const WORD: [&str; 3] = ["word", "start", "end"];
const USAGE: [&str; 5] = ["type", "seconds", "input_tokens", "output_tokens", "total_tokens"];

/// The answer as the caller sees it; none when it is not a valid one.
pub(super) fn shown(members: &Members<'_>) -> Option<Vec<u8>> {
    let mut writer = Writer::new(Content::Json, members.size());
    writer.object(|writer| {
        cursor(members, "text")?.any_text()?;
        for name in SCALARS {
            let Some(mut cursor) = cursor(members, name) else { continue };
            if name == "usage" {
                write_usage(&mut cursor, writer)?;
                continue;
            }
            read_scalar(name, &mut cursor)?;
            writer.member_if(name, members.raw(name));
        }
        write_timed("segments", cursor(members, "segments"), &SEGMENT, writer)?;
        write_timed("words", cursor(members, "words"), &WORD, writer)
    })?;
    Some(writer.into_bytes())
}

/// At the start of a member that is there and not null.
fn cursor<'a>(members: &'a Members<'_>, name: &str) -> Option<Cursor<'a>> {
    members.raw(name).filter(|raw| *raw != b"null").map(|raw| Cursor::new(Content::Json, raw))
}

fn read_scalar(name: &str, cursor: &mut Cursor<'_>) -> Option<()> {
    match name {
        "duration" => time(cursor),
        "duration_ms" => cursor.count().filter(|length| *length > 0).map(drop),
        _ => cursor.any_text(),
    }
}

/// Seconds of audio, or tokens.
fn write_usage(cursor: &mut Cursor<'_>, writer: &mut Writer) -> Option<()> {
    let found = cursor.members(&USAGE, |name, cursor| match name {
        "type" => matches!(cursor.text()?.as_ref(), "duration" | "tokens").then_some(()),
        "seconds" => time(cursor),
        _ => cursor.count().map(drop),
    })?;
    writer.member("usage");
    writer.object(|writer| writer.members(&USAGE, &found));
    Some(())
}

/// A list of things that are said from one moment to another: text, and numbers about it.
fn write_timed<const N: usize>(
    name: &str,
    cursor: Option<Cursor<'_>>,
    names: &[&str; N],
    writer: &mut Writer,
) -> Option<()> {
    let Some(mut cursor) = cursor else { return Some(()) };
    writer.member(name);
    writer.list(|writer| {
        cursor.list(|cursor| {
            let found = cursor.members(names, |name, cursor| match name {
                "text" | "word" => cursor.any_text(),
                "end" | "start" => time(cursor),
                // A number, or a text where speakers are told apart.
                "id" if cursor.clone().any_text().is_some() => cursor.any_text(),
                "tokens" => cursor.null_or(|cursor| cursor.list(|cursor| cursor.count().map(drop)).map(drop)),
                _ => cursor.null_or(Cursor::finite),
            })?;
            let is_there = |part: &str| names.iter().zip(&found).any(|(name, value)| *name == part && value.is_some());
            let is_whole = (is_there("text") || is_there("word")) && is_there("start") && is_there("end");
            is_whole.then_some(())?;
            writer.element();
            writer.object(|writer| writer.members(names, &found));
            Some(())
        })
    })?;
    Some(())
}

/// A moment or a length in seconds.
fn time(cursor: &mut Cursor<'_>) -> Option<()> {
    let seconds = cursor.number()?.float()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(())
}
