//! When may a stream start?
//!
//! A stream commits on what its caller sees: text, a piece of a tool call, reasoning that was asked for, or a valid end. Roles, empty
//! texts, comments, usage, filter results, lifecycle events and hidden reasoning do not commit: an error can still follow them, and then
//! the refusal is restored (product section 4 item 8, engines section 5).

use crate::answer::{Fields, finish};
use crate::event_stream::Event;
use crate::stream::chunk::Chunk;
use crate::stream::filled::Filled;
use crate::stream::native::Piece;
use crate::upstream_status::loose::Text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use spillway_policies::Surface;

/// How far a stream has come, the lesser first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// Nothing that was generated: comments, roles, usage.
    Nothing,
    /// The upstream generates what the caller does not see: its wait is not a silence, and not content.
    Alive,
    /// The caller sees something, or the stream is whole.
    Committed,
}

/// Whether an event of the engine's own stream tells nothing yet: neither content nor an end nor an error. The engine's caller sees its
/// stream as it is, so reasoning is content.
#[must_use]
pub fn tells_nothing(surface: Surface, event: &Event) -> bool {
    let data = event.data.trim_ascii();
    match data.first() {
        Some(b'{') => object_tells_nothing(surface, event.name.as_deref(), data).unwrap_or(false),
        // A list is what some servers wrap errors in.
        Some(b'[') => false,
        // A comment that some servers disguise as data, or nothing.
        _ => true,
    }
}

/// None when it is not an event of this surface.
fn object_tells_nothing(surface: Surface, name: Option<&[u8]>, data: &[u8]) -> Option<bool> {
    match surface {
        Surface::Generate => {
            let piece: Piece<'_> = read(data)?;
            let is_error = piece.failure(finish::is_generated).is_some();
            Some(!piece.done && !is_error && piece.text_delta.is_none_or(|text| text.0.is_empty()))
        }
        Surface::Responses => {
            let event: Lifecycle<'_> = read(data)?;
            Some(event.tells_nothing(name))
        }
        // Only four surfaces stream; any other is read as chat.
        Surface::Audio
        | Surface::Chat
        | Surface::Completions
        | Surface::Embeddings
        | Surface::Encode
        | Surface::Extract
        | Surface::Rerank
        | Surface::Score => {
            let chunk: Chunk<'_> = read(data)?;
            let tells =
                chunk.choices.iter().flat_map(|list| &list.0).any(|choice| {
                    choice.says_something() || choice.reason(surface).is_none_or(|reason| reason.is_some())
                });
            Some(chunk.failure().is_none() && !tells)
        }
    }
}

/// An event of responses. Its `type` says what it is; where that is missing, the event's name does.
#[derive(Deserialize)]
struct Lifecycle<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(default)]
    delta: Filled,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl Lifecycle<'_> {
    fn tells_nothing(&self, name: Option<&[u8]>) -> bool {
        let kind = self.kind.as_ref().map(|kind| kind.0.as_bytes()).or(name).unwrap_or_default();
        let ends = ["error", "response.cancelled", "response.completed", "response.failed", "response.incomplete"];
        let is_content = kind.ends_with(b".delta") && self.delta.0;
        self.error.is_none() && !is_content && !ends.iter().any(|end| end.as_bytes() == kind)
    }
}

fn read<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Option<T> {
    serde_json::from_slice::<Fields<T>>(data).ok().map(|fields| fields.0)
}
