//! What do the items of a native call say, as far as an OpenAI host can be asked about them?

use super::{NOT_REPLAYABLE, UNTRANSLATABLE};
use crate::answer::{Bounded, Fields, msgpack};
use crate::call::Format;
use crate::upstream_status::loose::Text;
use crate::writer::json_text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use spillway_policies::Failure;

/// Most items of one call: what a body claims never takes more memory than that.
const MOST_ITEMS: usize = 65_536;

/// The items of a call.
pub(super) type Items<'a> = Bounded<Fields<Item<'a>>, MOST_ITEMS>;

/// One item. An OpenAI host takes texts only.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(default)]
    images: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    audio: Option<IgnoredAny>,
    #[serde(default)]
    video: Option<IgnoredAny>,
    #[serde(default)]
    document: Option<IgnoredAny>,
}

impl Item<'_> {
    /// Its text.
    ///
    /// # Errors
    /// It has none, or has something beside it.
    pub(super) fn plain(&self) -> Result<&str, Failure> {
        let has_images = self.images.as_ref().is_some_and(|images| !images.is_empty());
        let has_media = has_images || self.audio.is_some() || self.video.is_some() || self.document.is_some();
        match &self.text {
            Some(text) if !has_media => Ok(&text.0),
            _ => Err(UNTRANSLATABLE),
        }
    }

    /// The caller's id.
    pub(super) fn id(&self) -> Option<String> {
        self.id.as_ref().map(|id| id.0.clone().into_owned())
    }
}

/// The plain texts of items, in their order.
///
/// # Errors
/// There are none, or one is not plain text.
pub(super) fn texts<'i>(items: &'i [Fields<Item<'_>>]) -> Result<Vec<&'i str>, Failure> {
    if items.is_empty() {
        return Err(UNTRANSLATABLE);
    }
    items.iter().map(|Fields(item)| item.plain()).collect()
}

/// The call that a body is.
///
/// # Errors
/// It is none.
pub(super) fn read<'a, T: Deserialize<'a>>(format: Format, body: &'a [u8]) -> Result<T, Failure> {
    let call: Option<Fields<T>> = match format {
        Format::Msgpack => msgpack::read(body),
        Format::Json | Format::Multipart => serde_json::from_slice(body).ok(),
    };
    call.map(|Fields(call)| call).ok_or(NOT_REPLAYABLE)
}

/// A JSON list of these texts, each behind the instruction and one space, when there is one (contract section 6).
pub(super) fn json_list(instruction: Option<&str>, texts: &[&str]) -> Vec<u8> {
    let prefix = prefix(instruction);
    let mut out = Vec::with_capacity(texts.iter().map(|text| prefix.len() + text.len() + 8).sum::<usize>() + 2);
    out.push(b'[');
    for (place, text) in texts.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        put_text(&prefix, text, &mut out);
    }
    out.push(b']');
    out
}

/// A JSON text behind the instruction and one space, when there is one.
pub(super) fn json_prefixed(instruction: Option<&str>, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&prefix(instruction), text, &mut out);
    out
}

fn prefix(instruction: Option<&str>) -> String {
    instruction.filter(|instruction| !instruction.is_empty()).map_or_else(String::new, |text| format!("{text} "))
}

fn put_text(prefix: &str, text: &str, out: &mut Vec<u8>) {
    if prefix.is_empty() {
        serde_json::to_writer(out, text).expect("a text always renders as JSON");
    } else {
        out.extend_from_slice(&json_text(&[prefix, text].concat()));
    }
}
