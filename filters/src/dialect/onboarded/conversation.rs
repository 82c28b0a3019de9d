//! What do chat templates expect of messages and tools? Content that is one text, and roles that every template knows.

use crate::answer::{Content, Fields, Members, values};
use crate::dialect;
use crate::upstream_status::loose::Text;
use crate::writer::Writer;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Most tools of one call (contract section 1.5).
const MAX_TOOLS: usize = 64;

/// The list of messages as a template reads it; none when one of them says anything but text.
pub(super) fn messages(raw: &[u8]) -> Option<Vec<u8>> {
    let messages = dialect::messages(raw)?;
    let mut writer = Writer::new(Content::Json, raw.len());
    writer.list(|writer| messages.into_iter().try_for_each(|message| write_message(message, writer)))?;
    Some(writer.into_bytes())
}

fn write_message(raw: &[u8], writer: &mut Writer) -> Option<()> {
    let mut message = Members::read(Content::Json, raw)?;
    if message.read_member::<Text<'_>>("role")?.0 == "developer" {
        message.set_text("role", "system");
    }
    // A message that only calls tools has no text.
    let content = message.raw_cow("content").unwrap_or_else(|| b"null"[..].into());
    if content.as_ref() == b"null" {
        message.set_text("content", "");
    } else if !content.starts_with(b"\"") {
        message.set("content", one_text(&content)?);
    }
    writer.element();
    message.write(writer);
    Some(())
}

/// The texts of a list of text parts, one behind the other.
fn one_text(parts: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![b'"'];
    for part in values(Content::Json, parts)? {
        let Fields(part): Fields<Part<'_>> = serde_json::from_slice(part).ok()?;
        matches!(part.kind.0.as_ref(), "text" | "input_text").then_some(())?;
        out.extend_from_slice(part.text.get().as_bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")?);
    }
    out.push(b'"');
    Some(out)
}

/// The names of the tools; none when one is no function, or asks for more than can be read out of a finished text.
pub(super) fn tool_names(raw: &[u8]) -> Option<Vec<String>> {
    let tools = values(Content::Json, raw).filter(|tools| tools.len() <= MAX_TOOLS)?;
    let name = |tool| {
        let Fields(tool): Fields<Tool<'_>> = serde_json::from_slice(tool).ok()?;
        let Fields(function) = tool.function;
        (tool.kind.0 == "function" && function.strict != Some(true)).then(|| function.name.0.into_owned())
    };
    tools.into_iter().map(name).collect()
}

/// Whether a `response_format` says what is so anyway.
pub(super) fn is_text_format(raw: &[u8]) -> bool {
    serde_json::from_slice::<Fields<Format<'_>>>(raw).is_ok_and(|Fields(format)| format.kind.0 == "text")
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: &'a RawValue,
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    function: Fields<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(default)]
    strict: Option<bool>,
}

#[derive(Deserialize)]
struct Format<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn read(raw: &Value) -> Option<Value> {
        messages(raw.to_string().as_bytes()).map(|bytes| serde_json::from_slice(&bytes).expect("JSON"))
    }

    #[test]
    fn messages_are_one_text_each() {
        let raw = json!([
            {"role": "developer", "content": "a"},
            {"role": "user", "content": [{"type": "text", "text": "b\n"}, {"type": "input_text", "text": "\u{1f600}"}], "name": "n"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]},
            {"role": "assistant", "tool_calls": []},
        ]);
        let wanted = json!([
            {"role": "system", "content": "a"},
            {"role": "user", "content": "b\n\u{1f600}", "name": "n"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]},
            {"role": "assistant", "content": "", "tool_calls": []},
        ]);
        assert_eq!(read(&raw), Some(wanted));
        for bad in [
            json!([]),
            json!({}),
            json!(["a"]),
            json!([{"content": "a"}]),
            json!([{"role": "user", "content": 1}]),
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}]),
            json!([{"role": "user", "content": [{"type": "text", "text": 1}]}]),
        ] {
            assert_eq!(read(&bad), None, "{bad}");
        }
    }

    #[test]
    fn tools_are_functions_with_names() {
        let names = |raw: Value| tool_names(raw.to_string().as_bytes());
        let tool = |strict: Value| json!([{"type": "function", "function": {"name": "f", "strict": strict}}]);
        assert_eq!(names(tool(json!(false))), Some(vec!["f".into()]));
        assert_eq!(names(tool(json!(true))), None);
        assert_eq!(names(json!([{"type": "web_search"}])), None);
        assert_eq!(names(json!([{"type": "function", "function": {"name": 1}}])), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = (messages(&bytes), tool_names(&bytes), is_text_format(&bytes));
        }
    }
}
