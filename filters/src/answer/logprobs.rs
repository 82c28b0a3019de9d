//! Are these log-probabilities sound, and who may see them?
//!
//! A caller that did not ask sees null where an upstream says more. Probabilities of hidden reasoning are hidden with it (contract
//! section 5, "Reasoning privacy"), and none is positive or endless.

use super::Content;
use super::choices::Kind;
use super::cursor::Cursor;
use crate::writer::Writer;

/// Most alternatives to one token.
const MAX_ALTERNATIVES: usize = 20;

/// Most bytes of one token.
const MAX_TOKEN_BYTES: usize = 4096;

const TOKEN: [&str; 4] = ["token", "logprob", "bytes", "top_logprobs"];
const LEGACY: [&str; 4] = ["tokens", "token_logprobs", "top_logprobs", "text_offset"];

/// Writes the member `logprobs` of a choice; none when it is not sound, or missing from a completion that was asked for it.
pub(super) fn write(raw: Option<&[u8]>, kind: Kind, hides: bool, asked: bool, writer: &mut Writer) -> Option<()> {
    let is_null = raw.is_none_or(|raw| raw == b"null");
    if kind == Kind::Text && asked && is_null {
        return None;
    }
    let Some(raw) = raw else { return Some(()) };
    writer.member("logprobs");
    if is_null || hides || !asked {
        writer.null();
        return Some(());
    }
    let lists = Cursor::new(Content::Json, raw).members(&["content", "refusal"], |_, cursor| cursor.raw().map(drop))?;
    let legacy = Cursor::new(Content::Json, raw);
    writer.object(|writer| {
        for (name, list) in ["content", "refusal"].into_iter().zip(lists) {
            let Some(list) = list else { continue };
            writer.member(name);
            write_tokens(list, true, writer)?;
        }
        if kind == Kind::Text { write_legacy(legacy, writer) } else { Some(()) }
    })
}

/// A list of tokens, or null.
fn write_tokens(raw: &[u8], alternatives: bool, writer: &mut Writer) -> Option<()> {
    let mut cursor = Cursor::new(Content::Json, raw);
    if cursor.null().is_some() {
        writer.null();
        return Some(());
    }
    let mut count = 0;
    writer.list(|writer| {
        cursor.list(|cursor| {
            count += 1;
            (alternatives || count <= MAX_ALTERNATIVES).then_some(())?;
            writer.element();
            write_token(cursor, alternatives, writer)
        })
    })?;
    Some(())
}

fn write_token(cursor: &mut Cursor<'_>, alternatives: bool, writer: &mut Writer) -> Option<()> {
    let [token, probability, bytes, others] = cursor.members(&TOKEN, |name, cursor| match name {
        "token" => cursor.any_text(),
        "logprob" => probability(cursor),
        "bytes" => cursor.null_or(byte_list),
        _ => cursor.raw().map(drop),
    })?;
    writer.object(|writer| {
        writer.members(&["token", "logprob", "bytes"], &[Some(token?), Some(probability?), bytes]);
        let Some(others) = others.filter(|_| alternatives) else { return Some(()) };
        writer.member("top_logprobs");
        write_tokens(others, false, writer)
    })
}

/// The older form of completions: lists side by side.
fn write_legacy(mut cursor: Cursor<'_>, writer: &mut Writer) -> Option<()> {
    let found = cursor.members(&LEGACY, |name, cursor| {
        cursor.null_or(|cursor| match name {
            "tokens" => cursor.list(Cursor::any_text).map(drop),
            "token_logprobs" => cursor.list(|cursor| cursor.null_or(probability)).map(drop),
            "top_logprobs" => cursor.list(|cursor| cursor.null_or(alternatives)).map(drop),
            _ => cursor.list(|cursor| cursor.count().map(drop)).map(drop),
        })
    })?;
    writer.members(&LEGACY, &found);
    Some(())
}

fn alternatives(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.object(|_, cursor| probability(cursor))
}

fn probability(cursor: &mut Cursor<'_>) -> Option<()> {
    let number = cursor.number()?.float()?;
    (number.is_finite() && number <= 0.0).then_some(())
}

fn byte_list(cursor: &mut Cursor<'_>) -> Option<()> {
    let count = cursor.list(|cursor| (cursor.count()? < 256).then_some(()))?;
    (count <= MAX_TOKEN_BYTES).then_some(())
}
