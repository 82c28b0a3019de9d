//! How is the list of an engine completed, in the shape or shapes that it has?

use super::entry::{self, Entry, OpenaiRouted, Routing, json, openai};
use super::{Book, Said};
use crate::answer::{Content, Members};
use crate::writer::json_text;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The two shapes of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `models[]`, named by `name`.
    Native,
    /// `data[]`, named by `id`.
    Openai,
}

impl Shape {
    const fn key(self) -> &'static str {
        match self {
            Self::Native => "models",
            Self::Openai => "data",
        }
    }
}

/// The completed list. None: the engine's answer stands as it came.
pub(super) fn list(body: &[u8], book: &Book<'_>) -> Option<Vec<u8>> {
    if book.said != Said::Known {
        return configured(book);
    }
    let mut answer = Members::read(Content::Json, body)?;
    let native = array(&answer, Shape::Native);
    let data = array(&answer, Shape::Openai);
    if native.is_none() && data.is_none() {
        return None;
    }
    let beside = answer.raw(Shape::Openai.key()).is_none();
    let mut filled = Vec::new();
    if let Some(native) = native {
        let items = fill(&native, Shape::Native, book);
        if beside {
            filled.push((Shape::Openai, joined(items.iter().filter_map(|item| item.openai(book)))));
        }
        filled.push((Shape::Native, joined(items.into_iter().map(|item| item.raw))));
    }
    if let Some(data) = data {
        filled.push((Shape::Openai, joined(fill(&data, Shape::Openai, book).into_iter().map(|item| item.raw))));
    }
    if beside && answer.raw("object").is_none() {
        answer.set_text("object", "list");
    }
    for (shape, array) in filled {
        answer.set(shape.key(), array);
    }
    Some(answer.to_bytes())
}

/// A list that the engine has no part in.
#[derive(Serialize)]
struct Configured<'a> {
    object: &'static str,
    models: Vec<entry::Native<'a>>,
    data: Vec<OpenaiRouted<'a, Routing>>,
}

/// Both shapes, from the configuration alone; none when nothing is configured.
fn configured(book: &Book<'_>) -> Option<Vec<u8>> {
    let entries: Vec<Entry<'_>> = book.routes.iter().map(|(name, model)| Entry::new(name, model)).collect();
    if entries.is_empty() {
        return None;
    }
    Some(json(&Configured {
        object: "list",
        models: entries.iter().map(|entry| entry.native(book)).collect(),
        data: entries.iter().map(Entry::openai).collect(),
    }))
}

/// The entries of a list, when that shape is there.
fn array<'a>(answer: &Members<'a>, shape: Shape) -> Option<Vec<&'a RawValue>> {
    match answer.raw_cow(shape.key())? {
        Cow::Borrowed(raw) => serde_json::from_slice(raw).ok(),
        Cow::Owned(_) => None,
    }
}

/// One entry of the completed list.
struct Item<'a> {
    name: Option<Cow<'a, str>>,
    raw: Cow<'a, [u8]>,
    /// What the engine says of its routing, in SIE's shape.
    routing: Option<&'a RawValue>,
}

/// What is looked at in an entry of SIE's shape.
#[derive(Deserialize)]
struct Native<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    routing: Option<&'a RawValue>,
}

/// What is looked at in an entry of OpenAI's.
#[derive(Deserialize)]
struct Openai<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

impl<'a> Item<'a> {
    /// An entry as the engine wrote it.
    fn read(raw: &'a str, shape: Shape) -> Self {
        let read = match shape {
            Shape::Native => serde_json::from_str::<Native<'a>>(raw).map(|model| (model.name, model.routing)),
            Shape::Openai => serde_json::from_str::<Openai<'a>>(raw).map(|model| (model.id, None)),
        };
        let (name, routing) = read.map_or((None, None), |(name, routing)| (Some(name), routing));
        Self { name, raw: raw.as_bytes().into(), routing }
    }

    /// The same in OpenAI's shape, with the routing that it states.
    fn openai(&self, book: &Book<'_>) -> Option<Cow<'static, [u8]>> {
        let name = self.name.as_deref()?;
        let ours = Entry::listed(name, book.routes).map(|entry| json(&entry.openai()));
        let theirs = || json(&OpenaiRouted { openai: openai(name), routing: self.routing });
        Some(ours.unwrap_or_else(theirs).into())
    }

    /// Writes the routing of a configured model over the engine's.
    fn fill(&mut self, book: &Book<'_>) {
        let Some(entry) = self.name.as_deref().and_then(|name| Entry::listed(name, book.routes)) else { return };
        let routed = Members::read(Content::Json, &self.raw).map(|mut members| {
            members.set("routing", json(&entry.routing()));
            members.to_bytes()
        });
        if let Some(routed) = routed {
            self.raw = routed.into();
        }
    }
}

/// The engine's entries with their routing, then the remote-backed models that it does not list.
fn fill<'a>(engine: &[&'a RawValue], shape: Shape, book: &Book<'a>) -> Vec<Item<'a>> {
    let mut items: Vec<Item<'a>> = engine.iter().map(|raw| Item::read(raw.get(), shape)).collect();
    items.iter_mut().for_each(|item| item.fill(book));
    let listed: BTreeSet<&str> = items.iter().filter_map(|item| item.name.as_deref()).collect();
    let missing = book.routes.iter().filter(|(name, _)| !listed.contains(name));
    let entries = missing.map(|(name, model)| Entry::new(name, model)).filter(Entry::is_remote);
    let added: Vec<Item<'a>> = entries
        .map(|entry| {
            let raw = match shape {
                Shape::Native => json(&entry.native(book)),
                Shape::Openai => json(&entry.openai()),
            };
            Item { name: Some(entry.name().into()), raw: raw.into(), routing: None }
        })
        .collect();
    items.extend(added);
    items
}

/// A JSON array of these.
fn joined<'a>(items: impl Iterator<Item = Cow<'a, [u8]>>) -> Vec<u8> {
    let mut array = vec![b'['];
    for (place, item) in items.enumerate() {
        if place > 0 {
            array.push(b',');
        }
        array.extend_from_slice(&item);
    }
    array.push(b']');
    array
}

/// Adds the four members of OpenAI's shape to a model in SIE's, before its own.
pub(super) fn merge_openai(model: &mut Members<'_>, name: &str) {
    for (member, value) in
        [("owned_by", json_text("spillway")), ("created", b"0".to_vec()), ("object", json_text("model"))]
    {
        if model.raw(member).is_none() {
            model.set(member, value);
        }
    }
    model.set_text("id", name);
}
