//! How is a case of the fixture turned into the bytes that were sent?

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value};

pub(crate) fn body(case: &Value) -> Vec<u8> {
    if let Some(text) = case["body_text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(hex) = case["body_hex"].as_str().or_else(|| case["body_msgpack_hex"].as_str()) {
        return bytes_of(hex);
    }
    if let Some([before, fill, after, total]) = case["body_pad"].as_array().map(Vec::as_slice) {
        let (before, fill, after) = (text(before), text(fill), text(after));
        let total = usize::try_from(total.as_u64().expect("a length")).expect("a length");
        return [before, &fill.repeat(total - before.len() - after.len()), after].concat().into_bytes();
    }
    if case["form"].is_object() {
        return form(&case["form"]);
    }
    let body = expanded(&case["body"]);
    if case["content"] == "msgpack" {
        return packed(&body);
    }
    serde_json::to_vec(&body).expect("it renders")
}

pub(crate) fn packed(body: &Value) -> Vec<u8> {
    rmp_serde::to_vec(&Packed { value: body, is_data: false }).expect("it renders")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
    hex.as_bytes().chunks(2).map(byte).collect()
}

fn form(form: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut part = |head: String, value: &Value| {
        let value = expanded(value);
        bytes.extend_from_slice(format!("--boundary\r\nContent-Disposition: form-data; {head}\r\n\r\n").as_bytes());
        bytes.extend_from_slice(text(&value).as_bytes());
        bytes.extend_from_slice(b"\r\n");
    };
    for field in form["fields"].as_array().into_iter().flatten() {
        part(format!("name=\"{}\"", text(&field[0])), &field[1]);
    }
    for file in form["files"].as_array().into_iter().flatten() {
        part(format!("name=\"{}\"; filename=\"{}\"", text(&file[0]), text(&file[1])), &file[2]);
    }
    bytes.extend_from_slice(b"--boundary--\r\n");
    bytes
}

/// A value with what its descriptions stand for.
fn expanded(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(expanded).collect(),
        Value::Object(members) if members.len() == 1 => described(members).unwrap_or_else(|| object(members)),
        Value::Object(members) => object(members),
        _ => value.clone(),
    }
}

fn object(members: &Map<String, Value>) -> Value {
    members.iter().map(|(name, value)| (name.clone(), expanded(value))).collect()
}

fn described(members: &Map<String, Value>) -> Option<Value> {
    let (name, value) = members.iter().next()?;
    let parts = value.as_array()?;
    let count = |at: usize| parts.get(at).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
    Some(match (name.as_str(), parts.as_slice()) {
        ("repeat", [part, _]) => text(part).repeat(count(1)?).into(),
        ("repeat_item", [item, _]) => vec![expanded(item); count(1)?].into(),
        ("numbered", [prefix, value, _]) => {
            (0..count(2)?).map(|at| (format!("{}{at}", text(prefix)), expanded(value))).collect()
        }
        ("concat", parts) => {
            parts.iter().map(|part| text(&expanded(part)).to_owned()).collect::<Vec<_>>().concat().into()
        }
        ("nest", [key, _, leaf]) => (0..count(1)?).fold(expanded(leaf), |inner, _| match text(key) {
            "list" => Value::Array(vec![inner]),
            "properties" => member("properties", member("a", inner)),
            key => member(key, inner),
        }),
        _ => return None,
    })
}

fn member(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

/// msgpack as the SDK writes it: `data` in canonical base64 stands for bytes.
struct Packed<'v> {
    value: &'v Value,
    is_data: bool,
}

impl Serialize for Packed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inner = |value, is_data| Packed { value, is_data };
        match self.value {
            Value::String(text) if self.is_data => match STANDARD.decode(text) {
                Ok(bytes) => serializer.serialize_bytes(&bytes),
                Err(_) => serializer.serialize_str(text),
            },
            Value::Array(elements) => {
                let mut list = serializer.serialize_seq(Some(elements.len()))?;
                elements.iter().try_for_each(|element| list.serialize_element(&inner(element, false)))?;
                list.end()
            }
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                let mut each = members.iter();
                each.try_for_each(|(name, value)| map.serialize_entry(name, &inner(value, name == "data")))?;
                map.end()
            }
            value => value.serialize(serializer),
        }
    }
}
