//! How is a value written, in JSON and in msgpack alike?
//!
//! Counts are stated when a list or an object is opened, because msgpack wants them there; JSON gets its commas here.

use crate::answer::Content;
use crate::answer::msgpack;

/// Writes one value into one buffer.
#[derive(Debug)]
pub(super) struct Writer {
    content: Content,
    out: Vec<u8>,
    /// Nothing stands yet in the list or object that is open.
    first: bool,
}

impl Writer {
    /// A writer with room for so many bytes.
    pub(super) fn with_capacity(content: Content, bytes: usize) -> Self {
        Self { content, out: Vec::with_capacity(bytes), first: true }
    }

    /// Opens an object of so many members.
    pub(super) fn open_map(&mut self, members: usize) {
        match self.content {
            Content::Msgpack => msgpack::write_map_head(members, &mut self.out),
            Content::Json | Content::Text => self.out.push(b'{'),
        }
        self.first = true;
    }

    /// Opens a list of so many elements.
    pub(super) fn open_list(&mut self, elements: usize) {
        match self.content {
            Content::Msgpack => msgpack::write_list_head(elements, &mut self.out),
            Content::Json | Content::Text => self.out.push(b'['),
        }
        self.first = true;
    }

    /// Closes the object that is open.
    pub(super) fn close_map(&mut self) {
        self.close(b'}');
    }

    /// Closes the list that is open.
    pub(super) fn close_list(&mut self) {
        self.close(b']');
    }

    /// The name of the next member; its value follows.
    pub(super) fn name(&mut self, name: &str) {
        self.element();
        self.text(name);
        if self.content != Content::Msgpack {
            self.out.push(b':');
        }
    }

    /// The next element of a list follows.
    pub(super) fn element(&mut self) {
        if self.content != Content::Msgpack && !self.first {
            self.out.push(b',');
        }
        self.first = false;
    }

    /// A text.
    pub(super) fn text(&mut self, text: &str) {
        match self.content {
            Content::Msgpack => msgpack::write_text(text, &mut self.out),
            Content::Json | Content::Text => put_json(&mut self.out, text),
        }
    }

    /// A whole number.
    pub(super) fn whole(&mut self, number: u64) {
        match self.content {
            Content::Msgpack => msgpack::write_whole(number, &mut self.out),
            Content::Json | Content::Text => put_json(&mut self.out, &number),
        }
    }

    /// A finite number.
    pub(super) fn float(&mut self, number: f64) {
        match self.content {
            Content::Msgpack => msgpack::write_float(number, &mut self.out),
            Content::Json | Content::Text => put_json(&mut self.out, &number),
        }
    }

    /// Nothing, as a value.
    pub(super) fn null(&mut self) {
        match self.content {
            Content::Msgpack => self.out.push(0xc0),
            Content::Json | Content::Text => self.out.extend_from_slice(b"null"),
        }
    }

    /// A value that is written already.
    pub(super) fn raw(&mut self, value: &[u8]) {
        self.out.extend_from_slice(value);
    }

    /// The buffer itself, for what writes its own bytes.
    pub(super) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// What is written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    fn close(&mut self, bracket: u8) {
        if self.content != Content::Msgpack {
            self.out.push(bracket);
        }
        self.first = false;
    }
}

/// Appends a value as JSON.
fn put_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("texts and finite numbers always render as JSON");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"a": [], "b": [[{}], "x", 300, 1.5, null], "c": {"d": 7}}`
    fn sample(content: Content) -> Vec<u8> {
        let mut writer = Writer::with_capacity(content, 0);
        writer.open_map(3);
        writer.name("a");
        writer.open_list(0);
        writer.close_list();
        writer.name("b");
        writer.open_list(5);
        writer.element();
        writer.open_list(1);
        writer.element();
        writer.open_map(0);
        writer.close_map();
        writer.close_list();
        writer.element();
        writer.text("x\"");
        writer.element();
        writer.whole(300);
        writer.element();
        writer.float(1.5);
        writer.element();
        writer.null();
        writer.close_list();
        writer.name("c");
        writer.open_map(1);
        writer.name("d");
        writer.whole(7);
        writer.close_map();
        writer.close_map();
        writer.into_bytes()
    }

    #[test]
    fn both_formats_say_the_same() {
        let json = sample(Content::Json);
        assert_eq!(json, br#"{"a":[],"b":[[{}],"x\"",300,1.5,null],"c":{"d":7}}"#);
        let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        let msgpack: serde_json::Value = rmp_serde::from_slice(&sample(Content::Msgpack)).expect("msgpack");
        assert_eq!(msgpack, json);
    }
}
