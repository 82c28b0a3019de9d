//! How is the JSON of an event written? Straight into the stream, on one line.

use serde_json::value::RawValue;

/// Appends a text with its quotes.
pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a text always renders as JSON");
}

/// Appends a whole number.
pub(super) fn number(number: u64, out: &mut Vec<u8>) {
    serde_json::to_writer(out, &number).expect("a number always renders as JSON");
}

/// Appends a value as the upstream wrote it. A line end can only stand between its tokens, and would end the event's line.
pub(super) fn raw(value: &RawValue, out: &mut Vec<u8>) {
    let value = value.get().as_bytes();
    if memchr::memchr2(b'\r', b'\n', value).is_none() {
        out.extend_from_slice(value);
    } else {
        out.extend(value.iter().filter(|byte| !matches!(byte, b'\r' | b'\n')));
    }
}

/// Writes the members of an object one by one.
pub(super) struct Object<'o> {
    pub(super) out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    pub(super) fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// Begins a member, whose value is appended next. Names are ours and need no escapes.
    pub(super) fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }
}

/// Appends a list, each value by `write`.
pub(super) fn list<T>(values: impl IntoIterator<Item = T>, out: &mut Vec<u8>, write: impl Fn(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (place, value) in values.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(value, out);
    }
    out.push(b']');
}

/// Appends a value, or null.
pub(super) fn or_null<T>(value: Option<T>, out: &mut Vec<u8>, write: impl Fn(T, &mut Vec<u8>)) {
    match value {
        Some(value) => write(value, out),
        None => out.extend_from_slice(b"null"),
    }
}
