//! What does the input of a responses call say as chat messages? (contract section 1.5)

use crate::answer::{Content, Fields, values};
use crate::dialect;
use crate::upstream_status::loose::Text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The list of messages: the instructions, which come first, and the input, a text or a list of messages. None when it says what a
/// message of text cannot.
pub(super) fn messages(instructions: Option<&[u8]>, input: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(input.len() + 64);
    out.push(b'[');
    if let Some(instructions) = instructions {
        write("system", &[instructions], &mut out)?;
    }
    if input.starts_with(b"\"") {
        write("user", &[input], &mut out)?;
    } else {
        for item in dialect::messages(input)? {
            let Fields(item): Fields<Item<'_>> = serde_json::from_slice(item).ok()?;
            (item.kind.is_none_or(|kind| kind.0 == "message")).then_some(())?;
            write(role(&item.role.0)?, &texts(item.content.get().as_bytes())?, &mut out)?;
        }
    }
    out.push(b']');
    Some(out)
}

/// The roles of contract section 1.5. Not every host knows `developer`, which is the newer word for the same.
fn role(role: &str) -> Option<&'static str> {
    match role {
        "assistant" => Some("assistant"),
        "developer" | "system" => Some("system"),
        "user" => Some("user"),
        _ => None,
    }
}

/// The raw texts of a content: a text, or a list of text parts.
fn texts(content: &[u8]) -> Option<Vec<&[u8]>> {
    if content.starts_with(b"\"") {
        return Some(vec![content]);
    }
    let text = |part| {
        let Fields(part): Fields<Part<'_>> = serde_json::from_slice(part).ok()?;
        let is_text = matches!(part.kind.0.as_ref(), "text" | "input_text" | "output_text");
        is_text.then_some(part.text.get().as_bytes())
    };
    values(Content::Json, content)?.into_iter().map(text).collect()
}

/// Appends a message whose content is these raw texts, one behind the other.
fn write(role: &str, texts: &[&[u8]], out: &mut Vec<u8>) -> Option<()> {
    if out.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(format!(r#"{{"role":"{role}","content":""#).as_bytes());
    for text in texts {
        out.extend_from_slice(text.strip_prefix(b"\"")?.strip_suffix(b"\"")?);
    }
    out.extend_from_slice(b"\"}");
    Some(())
}

/// One message. An earlier answer that is given back has an id and a status, which mean nothing here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(default, rename = "id")]
    _id: Option<IgnoredAny>,
    #[serde(default, rename = "status")]
    _status: Option<IgnoredAny>,
}

/// One part of a content. Annotations and log-probabilities stand in earlier answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: &'a RawValue,
    #[serde(default, rename = "annotations")]
    _annotations: Option<IgnoredAny>,
    #[serde(default, rename = "logprobs")]
    _logprobs: Option<IgnoredAny>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn said(instructions: Option<&str>, input: &Value) -> Option<Value> {
        let instructions = instructions.map(|text| json!(text).to_string());
        let input = input.to_string();
        let bytes = messages(instructions.as_deref().map(str::as_bytes), input.as_bytes())?;
        Some(serde_json::from_slice(&bytes).expect("JSON"))
    }

    #[test]
    fn texts_become_messages() {
        assert_eq!(said(None, &json!("a\n\"b")), Some(json!([{"role": "user", "content": "a\n\"b"}])));
        let earlier = json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "c", "annotations": [], "logprobs": []}]});
        let input = json!([
            {"role": "developer", "content": "a"},
            {"role": "user", "content": [{"type": "input_text", "text": "b\u{1f600}"}, {"type": "text", "text": "\"c"}]},
            earlier,
        ]);
        let wanted = json!([
            {"role": "system", "content": "be brief"},
            {"role": "system", "content": "a"},
            {"role": "user", "content": "b\u{1f600}\"c"},
            {"role": "assistant", "content": "c"},
        ]);
        assert_eq!(said(Some("be brief"), &input), Some(wanted));
    }

    #[test]
    fn what_is_not_text_is_not_said() {
        for input in [
            json!([]),
            json!({}),
            json!(1),
            json!(["a"]),
            json!([{"role": "user"}]),
            json!([{"role": "tool", "content": "a"}]),
            json!([{"role": "user", "content": 1}]),
            json!([{"role": "user", "content": "a", "name": "n"}]),
            json!([{"type": "function_call_output", "role": "user", "content": "a"}]),
            json!([{"role": "user", "content": [{"type": "input_image", "text": "a"}]}]),
            json!([{"role": "user", "content": [{"type": "input_text", "text": 1}]}]),
            json!([{"role": "user", "content": [{"type": "input_text", "text": "a", "more": 1}]}]),
            json!([["user", "a"]]),
        ] {
            assert_eq!(said(None, &input), None, "{input}");
        }
        let many = Value::Array(vec![json!({"role": "user", "content": "a"}); dialect::MAX_MESSAGES + 1]);
        assert_eq!(said(None, &many), None);
    }

    proptest! {
        #[test]
        fn any_split_of_a_text_is_the_same_text(parts in prop::collection::vec(".{0,12}", 1..5)) {
            let content: Vec<Value> = parts.iter().map(|text| json!({"type": "input_text", "text": text})).collect();
            let said = said(None, &json!([{"role": "user", "content": content}])).expect("text");
            prop_assert_eq!(&said[0]["content"], &json!(parts.concat()));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = messages(None, &bytes);
            let _ = messages(Some(&bytes), b"\"a\"");
        }
    }
}
