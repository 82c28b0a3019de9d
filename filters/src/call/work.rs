//! How much work is a call: one request to the engine's own queue, or several of which some may run before a later one is refused?

use super::Format;
use crate::answer::{Content, Members};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use spillway_policies::Surface;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The surface it was asked on.
    pub surface: Surface,
    /// How the body is written.
    pub format: Format,
    /// The whole body.
    pub body: &'a [u8],
}

impl Work<'_> {
    /// Whether every engine makes one request of it: one input, one answer, no tool of the engine's own. What cannot be told is more.
    #[must_use]
    pub fn is_one_piece(&self) -> bool {
        if self.format != Format::Json {
            return false;
        }
        let Some(call) = Members::read(Content::Json, self.body) else { return false };
        match self.surface {
            Surface::Chat => has_one_answer(&call),
            Surface::Completions => {
                has_one_answer(&call) && is_absent(&call, "prompt_embeds") && is_one_input(call.raw("prompt"))
            }
            Surface::Embeddings => is_one_input(call.raw("input")),
            // A tool of the engine's own starts another turn.
            Surface::Responses => {
                is_absent(&call, "tools")
                    || call.read_member("tools").is_some_and(|tools: Vec<IgnoredAny>| tools.is_empty())
            }
            // A recording is cut into pieces, and query and document are two inputs to some models.
            Surface::Audio | Surface::Rerank => false,
            Surface::Encode | Surface::Extract | Surface::Generate | Surface::Score => false,
        }
    }
}

fn has_one_answer(call: &Members<'_>) -> bool {
    let is_one = |name| call.raw(name).is_none_or(|value| matches!(value, b"null" | b"1"));
    let is_off = |name| call.raw(name).is_none_or(|value| matches!(value, b"null" | b"false"));
    is_one("n") && is_one("best_of") && is_off("use_beam_search")
}

fn is_absent(call: &Members<'_>, name: &str) -> bool {
    call.raw(name).is_none_or(|value| value == b"null")
}

/// A text, a list of one input, or a list of token ids, which is one input.
fn is_one_input(value: Option<&[u8]>) -> bool {
    let Some(value) = value else { return false };
    if value.starts_with(b"\"") {
        return true;
    }
    let Ok(items) = serde_json::from_slice::<Vec<&RawValue>>(value) else { return false };
    items.len() == 1
        || !items.is_empty() && items.iter().all(|item| item.get().starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_one(surface: Surface, body: &str) -> bool {
        Work { surface, format: Format::Json, body: body.as_bytes() }.is_one_piece()
    }

    #[test]
    fn one_input_with_one_answer_is_one_piece() {
        for (surface, body) in [
            (
                Surface::Chat,
                r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#,
            ),
            (Surface::Chat, r#"{"n":1,"best_of":null,"use_beam_search":false,"tools":[{}]}"#),
            (Surface::Completions, r#"{"prompt":"a","n":1}"#),
            (Surface::Completions, r#"{"prompt":["a"]}"#),
            (Surface::Completions, r#"{"prompt":[1,2,3]}"#),
            (Surface::Completions, r#"{"prompt":[[1,2,3]],"prompt_embeds":null}"#),
            (Surface::Embeddings, r#"{"input":"a, b"}"#),
            (Surface::Embeddings, r#"{"input":["a"]}"#),
            (Surface::Responses, r#"{"input":[{},{}],"tools":[ ]}"#),
            (Surface::Responses, r#"{"input":"a","tools":null}"#),
        ] {
            assert!(is_one(surface, body), "{surface:?} {body}");
        }
    }

    #[test]
    fn what_is_or_may_be_more_is_not() {
        for (surface, body) in [
            (Surface::Chat, r#"{"n":2}"#),
            (Surface::Chat, r#"{"n":"1"}"#),
            (Surface::Chat, r#"{"n":1,"n":4}"#),
            (Surface::Chat, r#"{"best_of":2}"#),
            (Surface::Chat, r#"{"use_beam_search":true}"#),
            (Surface::Chat, "no JSON"),
            (Surface::Completions, r#"{"prompt":["a","b"]}"#),
            (Surface::Completions, r#"{"prompt":[[1],[2]]}"#),
            (Surface::Completions, r#"{"prompt":[]}"#),
            (Surface::Completions, r#"{"prompt":"a","prompt_embeds":"AA"}"#),
            (Surface::Completions, r#"{"prompt":"a","best_of":3}"#),
            (Surface::Completions, "{}"),
            (Surface::Embeddings, r#"{"input":["a","b"]}"#),
            (Surface::Embeddings, r#"{"messages":[]}"#),
            (Surface::Responses, r#"{"input":"a","tools":[{"type":"web_search"}]}"#),
            (Surface::Responses, r#"{"input":"a","tools":{}}"#),
            (Surface::Rerank, r#"{"query":"a","documents":["b"]}"#),
            (Surface::Audio, "{}"),
            (Surface::Encode, r#"{"items":[{"text":"a"}]}"#),
        ] {
            assert!(!is_one(surface, body), "{surface:?} {body}");
        }
        let packed = Work { surface: Surface::Chat, format: Format::Msgpack, body: b"{}" };
        assert!(!packed.is_one_piece());
    }
}
