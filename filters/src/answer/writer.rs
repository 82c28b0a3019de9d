//! How is an answer written, in the format in which it is read?

use super::{Content, json_text, msgpack};

/// Writes one value into a buffer.
#[derive(Debug)]
pub(super) struct Writer {
    content: Content,
    out: Vec<u8>,
    /// Of the innermost object or list: where its head stands, and how many members or elements it has.
    open: (usize, u32),
}

impl Writer {
    /// With room for an answer of about this size.
    pub(super) fn new(content: Content, size: usize) -> Self {
        Self { content, out: Vec::with_capacity(size), open: (0, 0) }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// An object, no more than fifteen members.
    pub(super) fn object(&mut self, fill: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let outer = self.begin(b"{", &[0x80]);
        fill(self)?;
        let (head, count) = self.open;
        match self.content {
            Content::Msgpack => self.out[head] |= u8::try_from(count).ok().filter(|count| *count < 16)?,
            Content::Json | Content::Text => self.out.push(b'}'),
        }
        self.open = outer;
        Some(())
    }

    /// A list.
    pub(super) fn list(&mut self, fill: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let outer = self.begin(b"[", &[0x90]);
        fill(self)?;
        let (head, count) = self.open;
        match (self.content, u8::try_from(count)) {
            (Content::Msgpack, Ok(count @ 0..16)) => self.out[head] |= count,
            // How many elements there are is known at the end, so a long list is moved once to make room for its head.
            (Content::Msgpack, _) => drop(self.out.splice(head..=head, long_head(count))),
            (Content::Json | Content::Text, _) => self.out.push(b']'),
        }
        self.open = outer;
        Some(())
    }

    /// The name of a member. Its value is written next.
    pub(super) fn member(&mut self, name: &str) {
        self.element();
        self.text(name);
        if self.content != Content::Msgpack {
            self.out.push(b':');
        }
    }

    /// The place of an element. Its value is written next.
    pub(super) fn element(&mut self) {
        if self.content != Content::Msgpack && self.open.1 > 0 {
            self.out.push(b',');
        }
        self.open.1 += 1;
    }

    /// A value that is written already.
    pub(super) fn raw(&mut self, value: &[u8]) {
        self.out.extend_from_slice(value);
    }

    pub(super) fn text(&mut self, text: &str) {
        match self.content {
            Content::Msgpack => msgpack::write_text(text, &mut self.out),
            Content::Json | Content::Text => self.out.extend_from_slice(&json_text(text)),
        }
    }

    pub(super) fn null(&mut self) {
        let null: &[u8] = if self.content == Content::Msgpack { &[0xc0] } else { b"null" };
        self.raw(null);
    }

    pub(super) fn number(&mut self, number: u64) {
        match self.content {
            Content::Msgpack if number < 0x80 => self.out.push(number.to_be_bytes()[7]),
            Content::Msgpack => {
                self.out.push(0xcf);
                self.raw(&number.to_be_bytes());
            }
            Content::Json | Content::Text => self.out.extend_from_slice(number.to_string().as_bytes()),
        }
    }

    /// A member with a value that is written already, if there is one.
    pub(super) fn member_if(&mut self, name: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.member(name);
            self.raw(value);
        }
    }

    /// The members that [`Cursor::members`](super::cursor::Cursor::members) found, under their names.
    pub(super) fn members<const N: usize>(&mut self, names: &[&str; N], found: &[Option<&[u8]>; N]) {
        names.iter().zip(found).for_each(|(name, value)| self.member_if(name, *value));
    }

    fn begin(&mut self, json: &[u8], msgpack: &[u8]) -> (usize, u32) {
        let outer = std::mem::replace(&mut self.open, (self.out.len(), 0));
        self.raw(if self.content == Content::Msgpack { msgpack } else { json });
        outer
    }
}

/// The head of a list of sixteen elements or more.
fn long_head(count: u32) -> impl Iterator<Item = u8> {
    let [a, b, c, d] = count.to_be_bytes();
    let long = [0xdd, a, b, c, d];
    let short = [0xdc, c, d];
    if count > 0xffff { long.to_vec() } else { short.to_vec() }.into_iter()
}
