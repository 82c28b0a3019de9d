//! How is a value written, in JSON and in msgpack alike?
//!
//! JSON wants a comma between two members, msgpack the number of members before the first: both are seen to here.

pub(crate) mod msgpack;

use crate::answer::Content;

/// Writes one value into one buffer.
#[derive(Debug)]
pub(crate) struct Writer {
    content: Content,
    out: Vec<u8>,
    /// How many members or elements the innermost object or list has so far.
    count: usize,
}

/// Writes the head of so many members or elements.
type Head = fn(usize, &mut Vec<u8>);

impl Writer {
    /// With room for so many bytes.
    pub(crate) fn new(content: Content, bytes: usize) -> Self {
        Self { content, out: Vec::with_capacity(bytes), count: 0 }
    }

    /// An object: `fill` writes its members.
    pub(crate) fn object<R>(&mut self, fill: impl FnOnce(&mut Self) -> R) -> R {
        self.counted(*b"{}", msgpack::write_map_head, fill)
    }

    /// A list: `fill` writes its elements.
    pub(crate) fn list<R>(&mut self, fill: impl FnOnce(&mut Self) -> R) -> R {
        self.counted(*b"[]", msgpack::write_list_head, fill)
    }

    /// A list of so many elements: `fill` writes them where they stay.
    pub(crate) fn list_of<R>(&mut self, elements: usize, fill: impl FnOnce(&mut Self) -> R) -> R {
        if self.content != Content::Msgpack {
            return self.list(fill);
        }
        msgpack::write_list_head(elements, &mut self.out);
        let outer = std::mem::take(&mut self.count);
        let filled = fill(self);
        self.count = outer;
        filled
    }

    /// The name of a member. Its value is written next.
    pub(crate) fn member(&mut self, name: &str) {
        self.element();
        self.text(name);
        if self.content != Content::Msgpack {
            self.out.push(b':');
        }
    }

    /// The place of an element. Its value is written next.
    pub(crate) fn element(&mut self) {
        if self.content != Content::Msgpack && self.count > 0 {
            self.out.push(b',');
        }
        self.count += 1;
    }

    /// A text.
    pub(crate) fn text(&mut self, text: &str) {
        match self.content {
            Content::Msgpack => msgpack::write_text(text, &mut self.out),
            Content::Json | Content::Text => put_json(text, &mut self.out),
        }
    }

    /// A whole number.
    pub(crate) fn whole(&mut self, number: u64) {
        match self.content {
            Content::Msgpack => msgpack::write_whole(number, &mut self.out),
            Content::Json | Content::Text => put_json(&number, &mut self.out),
        }
    }

    /// A finite number.
    pub(crate) fn float(&mut self, number: f64) {
        match self.content {
            Content::Msgpack => msgpack::write_float(number, &mut self.out),
            Content::Json | Content::Text => put_json(&number, &mut self.out),
        }
    }

    /// Nothing, as a value.
    pub(crate) fn null(&mut self) {
        self.raw(self.content.null());
    }

    /// A value that is written already.
    pub(crate) fn raw(&mut self, value: &[u8]) {
        self.out.extend_from_slice(value);
    }

    /// A member with a value that is written already, if there is one.
    pub(crate) fn member_if(&mut self, name: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.member(name);
            self.raw(value);
        }
    }

    /// The values that were found under these names, as members.
    pub(crate) fn members<const N: usize>(&mut self, names: &[&str; N], found: &[Option<&[u8]>; N]) {
        names.iter().zip(found).for_each(|(name, value)| self.member_if(name, *value));
    }

    /// The buffer itself, for what writes its own bytes.
    pub(crate) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// What is written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// How many members or elements there are is known at the end. More than fifteen have a longer head, for which they move once.
    fn counted<R>(&mut self, brackets: [u8; 2], head: Head, fill: impl FnOnce(&mut Self) -> R) -> R {
        let is_msgpack = self.content == Content::Msgpack;
        let outer = std::mem::take(&mut self.count);
        let start = self.out.len();
        if is_msgpack {
            head(0, &mut self.out);
        } else {
            self.out.push(brackets[0]);
        }
        let filled = fill(self);
        match (is_msgpack, u8::try_from(self.count)) {
            (false, _) => self.out.push(brackets[1]),
            (true, Ok(count @ 0..16)) => self.out[start] |= count,
            (true, _) => {
                let mut long = Vec::new();
                head(self.count, &mut long);
                self.out.splice(start..=start, long);
            }
        }
        self.count = outer;
        filled
    }
}

/// A text as JSON, quotes included.
pub(crate) fn json_text(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    put_json(text, &mut out);
    out
}

fn put_json<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("texts and finite numbers always render as JSON");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"a": [], "b": [[{}], "x\"", 300, 1.5, null], "c": {"d": 7}}`
    fn sample(content: Content) -> Vec<u8> {
        let mut writer = Writer::new(content, 0);
        writer.object(|writer| {
            writer.member("a");
            writer.list(|_| ());
            writer.member("b");
            writer.list_of(5, |writer| {
                writer.element();
                writer.list(|writer| {
                    writer.element();
                    writer.object(|_| ());
                });
                writer.element();
                writer.text("x\"");
                writer.element();
                writer.whole(300);
                writer.element();
                writer.float(1.5);
                writer.element();
                writer.null();
            });
            writer.member("c");
            writer.object(|writer| {
                writer.members(&["d", "e"], &[Some(if content == Content::Msgpack { &[7] } else { b"7" }), None]);
            });
        });
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

    /// Members or elements, each a number.
    fn fill(writer: &mut Writer, names: &[String], are_members: bool) {
        for (place, name) in names.iter().enumerate() {
            if are_members {
                writer.member(name)
            } else {
                writer.element()
            }
            writer.whole(place as u64);
        }
    }

    #[test]
    fn a_count_stands_in_the_shortest_head_that_holds_it() {
        for (count, head) in [(0, 1), (15, 1), (16, 3), (0xffff, 3), (0x1_0000, 5)] {
            let names: Vec<String> = (0..count).map(|place| place.to_string()).collect();
            let numbers: Vec<usize> = (0..count).collect();
            let write = |fill: &dyn Fn(&mut Writer)| {
                let mut writer = Writer::new(Content::Msgpack, 0);
                fill(&mut writer);
                writer.into_bytes()
            };
            let list = write(&|writer| writer.list(|writer| fill(writer, &names, false)));
            assert_eq!(list, write(&|writer| writer.list_of(count, |writer| fill(writer, &names, false))));
            assert_eq!(rmp_serde::from_slice::<Vec<usize>>(&list).expect("a list"), numbers);
            let bare: usize = (0..count as u64).map(|number| write(&|writer| writer.whole(number)).len()).sum();
            assert_eq!(list.len(), head + bare);
            let map = write(&|writer| writer.object(|writer| fill(writer, &names, true)));
            let map: std::collections::BTreeMap<String, usize> = rmp_serde::from_slice(&map).expect("a map");
            assert_eq!(map.len(), count);
        }
    }
}
