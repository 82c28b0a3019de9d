//! Does this answer satisfy the conditions of a rule?

use super::{Answer, MAX_BODY_BYTES, MAX_TEXT_BYTES, Rule};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;

/// An answer, with its body parsed at most once and only when a rule asks.
pub(super) struct Evidence<'a> {
    answer: &'a Answer<'a>,
    json: OnceCell<Option<Value>>,
}

impl<'a> Evidence<'a> {
    pub(super) const fn new(answer: &'a Answer<'a>) -> Self {
        Self { answer, json: OnceCell::new() }
    }

    pub(super) fn satisfies(&self, rule: &Rule) -> bool {
        self.has_headers(&rule.header)
            && rule.content_type.as_deref().is_none_or(|wanted| self.has_media_type(wanted))
            && rule.text.iter().all(|text| self.has_text(text))
            && self.has_json(rule)
    }

    fn has_headers(&self, wanted: &[(Cow<'_, str>, Cow<'_, str>)]) -> bool {
        wanted.iter().all(|(name, value)| {
            self.values(name).any(|found| match value.as_ref() {
                "*" => !found.is_empty(),
                value => found.eq_ignore_ascii_case(value.as_bytes()),
            })
        })
    }

    fn has_media_type(&self, wanted: &str) -> bool {
        self.values("content-type").any(|found| {
            let media_type = found.split(|byte| *byte == b';').next().unwrap_or_default();
            media_type.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes())
        })
    }

    /// The values of one header, trimmed.
    fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.answer.head.split(|byte| *byte == b'\n').filter_map(move |line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (found, value) = (&line[..colon], &line[colon + 1..]);
            found.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
        })
    }

    fn has_text(&self, wanted: &str) -> bool {
        let body = &self.answer.body[..self.answer.body.len().min(MAX_TEXT_BYTES)];
        wanted.is_empty() || body.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
    }

    fn has_json(&self, rule: &Rule) -> bool {
        if rule.json.is_empty() && rule.any_json.is_empty() {
            return true;
        }
        let Some(json) = self.json.get_or_init(|| parsed(self.answer.body)) else { return false };
        let holds = |(pointer, wanted): &(Cow<'_, str>, Cow<'_, str>)| is_value(json.pointer(pointer), wanted);
        rule.json.iter().all(holds) && (rule.any_json.is_empty() || rule.any_json.iter().any(holds))
    }
}

fn parsed(body: &[u8]) -> Option<Value> {
    if body.len() > MAX_BODY_BYTES { None } else { serde_json::from_slice(body).ok() }
}

fn is_value(found: Option<&Value>, wanted: &str) -> bool {
    match (found, wanted) {
        (None | Some(Value::Null), wanted) => wanted.is_empty(),
        (Some(_), "*") => true,
        (Some(Value::String(found)), wanted) => match wanted.strip_suffix('*') {
            Some(start) => found.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)),
            None => found.eq_ignore_ascii_case(wanted),
        },
        (Some(Value::Number(found)), wanted) => found.to_string() == wanted,
        (Some(Value::Bool(found)), wanted) => if *found { "true" } else { "false" }.eq_ignore_ascii_case(wanted),
        (Some(Value::Array(found)), wanted) => wanted.is_empty() && found.is_empty(),
        (Some(Value::Object(found)), wanted) => wanted.is_empty() && found.is_empty(),
    }
}
