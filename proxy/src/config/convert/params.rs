//! `set_params` and `strip_params`: which fields of an OpenAI request an operator sets or strips (contract section 4).

use crate::config::table::{Node, Place};
use serde_json::{Map, Number, Value};
use spillway_policies::upstream::Params;
use toml::de::DeValue;

/// Fields that say what a request is: setting or stripping them would change whom it serves.
const RESERVED: &str = "documents encoding_format input messages model n prompt query stream stream_options top_n";
const MOST_FIELDS: usize = 32;
const MOST_JSON_BYTES: usize = 16_384;
const MOST_DEPTH: usize = 8;

pub(super) fn params(set: Option<&Node<'_>>, strip: Option<&Node<'_>>) -> Params {
    let strip = strip.map_or_else(Vec::new, stripped);
    let set = set.map_or_else(Vec::new, |node| set_fields(node, &strip));
    Params { set, strip }
}

fn stripped(node: &Node<'_>) -> Vec<String> {
    let names = node.texts().unwrap_or_default();
    fits(names.len(), &node.place);
    let mut strip: Vec<String> = Vec::new();
    for (name, place) in names {
        check_name(name, &place);
        if strip.iter().any(|other| other == name) {
            place.wrong("stands here twice", "keep one of them");
        }
        strip.push(name.into());
    }
    strip
}

fn set_fields(node: &Node<'_>, strip: &[String]) -> Vec<(String, String)> {
    let Some(table) = node.table() else { return Vec::new() };
    let fields = table.each();
    fits(fields.len(), &node.place);
    let mut set = Map::new();
    for (name, field) in fields {
        check_name(name, &field.name);
        if strip.iter().any(|other| other == name) {
            field.name.wrong("is both set and stripped", "keep it in one of set_params and strip_params");
        }
        match json(field.raw(), 0) {
            Ok(value) => _ = set.insert(name.into(), value),
            Err(problem) => field.place.wrong(problem, ""),
        }
    }
    if Value::from(set.clone()).to_string().len() > MOST_JSON_BYTES {
        node.name.wrong(format!("is more than {MOST_JSON_BYTES} bytes of JSON"), "");
    }
    set.into_iter().map(|(name, value)| (name, value.to_string())).collect()
}

fn fits(count: usize, place: &Place<'_>) {
    if count > MOST_FIELDS {
        place.wrong(format!("must name at most {MOST_FIELDS} fields"), "");
    }
}

fn check_name(name: &str, place: &Place<'_>) {
    if !is_identifier(name, 64) {
        place.wrong("must be a field name: letters, digits and _, at most 64, not starting with a digit", "");
    } else if RESERVED.split(' ').any(|reserved| reserved == name) {
        place.wrong("is a field that Spillway itself writes", "it can be neither set nor stripped");
    }
}

/// Letters, digits and underscores, not starting with a digit.
pub(super) fn is_identifier(name: &str, most_bytes: usize) -> bool {
    let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    (1..=most_bytes).contains(&name.len())
        && name.bytes().all(|byte| is_start(byte) || byte.is_ascii_digit())
        && name.bytes().next().is_some_and(is_start)
}

/// A TOML value as JSON, when JSON has it.
fn json(value: &DeValue<'_>, depth: usize) -> Result<Value, String> {
    match value {
        DeValue::String(text) => Ok(Value::from(text.as_ref())),
        DeValue::Boolean(flag) => Ok(Value::from(*flag)),
        DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
            .map(Value::from)
            .map_err(|_| "must be a whole number of at most 64 bits".into()),
        DeValue::Float(digits) => digits
            .as_str()
            .parse()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::from)
            .ok_or_else(|| "must be a finite number: JSON has no other".into()),
        DeValue::Datetime(_) => Err("must not be a date: JSON has none".into()),
        DeValue::Array(_) | DeValue::Table(_) if depth == MOST_DEPTH => {
            Err(format!("must be nested at most {MOST_DEPTH} deep"))
        }
        DeValue::Array(items) => {
            Ok(Value::Array(items.iter().map(|item| json(item.get_ref(), depth + 1)).collect::<Result<_, _>>()?))
        }
        DeValue::Table(fields) => {
            let fields =
                fields.iter().map(|(name, field)| Ok((name.get_ref().to_string(), json(field.get_ref(), depth + 1)?)));
            Ok(Value::Object(fields.collect::<Result<_, String>>()?))
        }
    }
}
