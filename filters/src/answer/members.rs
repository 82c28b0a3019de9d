//! What are the members of an object, and how is it written again with some of them changed?
//!
//! Values stay the bytes they were, so a large answer never becomes a tree and its numbers keep their digits.

use super::{Content, msgpack};
use crate::writer::Writer;
use crate::{surrogates, tree};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Most members of one object.
const MAX_MEMBERS: usize = 256;

/// Deepest nesting of one object.
const MAX_DEPTH: usize = 128;

/// An object: names with raw values, in order. No name stands twice, so that every reader of it sees the same.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    content: Content,
    entries: Vec<(Cow<'a, str>, Cow<'a, [u8]>)>,
}

impl<'a> Members<'a> {
    /// The object that `bytes` is; none when it is anything else or not well-formed.
    pub(crate) fn read(content: Content, bytes: &'a [u8]) -> Option<Self> {
        let entries: Vec<(Cow<'a, str>, Cow<'a, [u8]>)> = match content {
            Content::Json => {
                let text = std::str::from_utf8(bytes).ok().filter(|text| is_sound(text))?;
                serde_json::from_str::<Entries<'a>>(text).ok()?.0
            }
            Content::Msgpack => msgpack::members(bytes, MAX_MEMBERS)?
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            Content::Text => return None,
        };
        (!repeats(&entries)).then_some(Self { content, entries })
    }

    /// An object without members.
    pub(crate) const fn empty(content: Content) -> Self {
        Self { content, entries: Vec::new() }
    }

    /// How it is written.
    pub(super) const fn content(&self) -> Content {
        self.content
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.entries.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>() + 2
    }

    /// The raw value of a member.
    pub(crate) fn raw(&self, name: &str) -> Option<&[u8]> {
        self.entries.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_ref())
    }

    /// The members in their order: names with raw values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    /// The raw value of a member, without a copy where it is still what was read.
    pub(crate) fn raw_cow(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        self.entries.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone())
    }

    /// The value of a member, if it is there and of the shape that is asked for.
    pub(crate) fn read_member<'s, T: Deserialize<'s>>(&'s self, name: &str) -> Option<T> {
        read(self.content, self.raw(name)?)
    }

    /// Keeps the members whose names pass.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.entries.retain(|(name, _)| keep(name));
    }

    /// Sets a member; one that was not there comes first.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Cow<'a, [u8]>>) {
        let value = value.into();
        match self.entries.iter_mut().find(|(found, _)| found == name) {
            Some((_, old)) => *old = value,
            None => self.entries.insert(0, (Cow::Borrowed(name), value)),
        }
    }

    /// Sets a member to a text.
    pub(crate) fn set_text(&mut self, name: &'static str, text: &str) {
        let mut writer = Writer::new(self.content, text.len() + 8);
        writer.text(text);
        self.set(name, writer.into_bytes());
    }

    /// Writes the object.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.object(|writer| self.iter().for_each(|(name, value)| writer.member_if(name, Some(value))));
    }

    /// The object as bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(self.content, self.size());
        self.write(&mut writer);
        writer.into_bytes()
    }
}

/// Whether a name stands twice.
fn repeats<V>(entries: &[(Cow<'_, str>, V)]) -> bool {
    // Most objects are small; pairs of many would be far too many.
    if entries.len() <= 16 {
        return entries.iter().enumerate().any(|(place, (name, _))| entries[..place].iter().any(|(n, _)| n == name));
    }
    let mut names: Vec<&str> = entries.iter().map(|(name, _)| name.as_ref()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// Reads one value of a known shape.
pub(super) fn read<'de, T: Deserialize<'de>>(content: Content, bytes: &'de [u8]) -> Option<T> {
    match content {
        Content::Json => serde_json::from_slice(bytes).ok(),
        Content::Msgpack => msgpack::read(bytes),
        Content::Text => None,
    }
}

/// Whether a JSON text nests no deeper than serde_json reads and escapes no half of a surrogate pair: raw values are skipped, so its own
/// checks do not see them.
fn is_sound(text: &str) -> bool {
    tree::depth(text.as_bytes()) <= MAX_DEPTH && !surrogates::is_halved(text)
}

/// The members of a JSON object.
struct Entries<'a>(Vec<(Cow<'a, str>, Cow<'a, [u8]>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::with_capacity(8);
        while let Some(name) = map.next_key::<Name<'de>>()? {
            if entries.len() == MAX_MEMBERS {
                return Err(A::Error::custom("too many members"));
            }
            let value: &'de RawValue = map.next_value()?;
            entries.push((name.0, Cow::Borrowed(value.get().as_bytes())));
        }
        Ok(Entries(entries))
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
