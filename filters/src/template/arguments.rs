//! What are the arguments of an earlier tool call? OpenAI's messages carry them as JSON text; Hugging Face templates expect the object.

use crate::tree;
use minijinja::Value;
use minijinja::value::ValueKind;
use std::cell::Cell;

/// The messages with the arguments of their tool calls read. Text that is no object stays text, and so does what would make too many
/// values of all of them.
pub(super) fn read(messages: &Value) -> Value {
    let left = Cell::new(tree::MOST_VALUES);
    let function = |function: &Value| replaced(function, "arguments", |written| arguments(written, &left));
    let calls = |calls: &Value| each(calls, |call| replaced(call, "function", function));
    each(messages, |message| replaced(message, "tool_calls", calls))
}

fn arguments(written: &Value, left: &Cell<usize>) -> Value {
    let text = match written.as_str() {
        Some(text) if text.trim().is_empty() => "{}",
        Some(text) => text,
        None => return written.clone(),
    };
    let Some(still_left) = left.get().checked_sub(tree::values(text.as_bytes())) else {
        return written.clone();
    };
    left.set(still_left);
    let read: Option<Value> = serde_json::from_str(text).ok();
    read.filter(|value| value.kind() == ValueKind::Map).unwrap_or_else(|| written.clone())
}

fn each(list: &Value, change: impl Fn(&Value) -> Value) -> Value {
    match list.try_iter() {
        Ok(items) if list.kind() == ValueKind::Seq => items.map(|item| change(&item)).collect(),
        _ => list.clone(),
    }
}

fn replaced(map: &Value, key: &str, change: impl Fn(&Value) -> Value) -> Value {
    let is_there = map.kind() == ValueKind::Map && map.get_attr(key).is_ok_and(|value| !value.is_undefined());
    let (true, Ok(keys)) = (is_there, map.try_iter()) else {
        return map.clone();
    };
    Value::from_pairs(keys.map(|name| {
        let value = map.get_item(&name).unwrap_or_default();
        let value = if name.as_str() == Some(key) { change(&value) } else { value };
        (name, value)
    }))
}
