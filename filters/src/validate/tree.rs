//! How deep, how large and of which keywords is a value of any content? JSON Schemas and metadata, walked and not built.

use super::fields::KeyText;
use super::rule::UNSUPPORTED;
use super::seen::Wrong;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The bounds of a tree.
pub(crate) struct Tree {
    /// How many arrays and objects may stand in each other; what is deeper is not walked.
    pub(crate) depth: u16,
    /// How many values there may be.
    pub(crate) values: u32,
    /// Which bytes are counted.
    pub(crate) size: Size,
    /// The rules of a JSON Schema, where it is one.
    pub(crate) schema: Option<&'static Schema>,
}

/// The encoding whose bytes are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// JSON without spaces, in ASCII.
    Json,
    /// msgpack.
    Msgpack,
}

/// What a JSON Schema may say.
pub(crate) struct Schema {
    /// What stands behind a name in a context.
    pub(crate) behind: fn(Context, &str) -> Context,
    /// Keywords that are not accepted.
    pub(crate) refused: &'static [&'static str],
    /// The code of one of them, where it is not the surface's own.
    pub(crate) refusal: Option<&'static str>,
    /// Keywords that are only remembered.
    pub(crate) unverifiable: &'static [&'static str],
    /// How many schema keywords may stand in each other.
    pub(crate) nesting: u16,
    /// `$ref` must point into the schema itself.
    pub(crate) own_references: bool,
}

/// What a value in a schema is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// Plain data.
    Data,
    /// Names, each with a schema.
    Map,
    /// A schema.
    Schema,
    /// Schemas.
    Schemas,
}

/// What was counted.
#[derive(Default)]
pub(super) struct Tally {
    values: u32,
    pub(super) bytes: usize,
    pub(super) unverifiable: bool,
    /// Where the walk is.
    path: String,
    pub(super) wrong: Option<Box<Wrong>>,
}

/// One step of the walk.
pub(super) struct Walk<'t> {
    tree: &'static Tree,
    tally: &'t mut Tally,
    context: Context,
    depth: u16,
    nesting: u16,
    /// The value is that of `$ref` in a schema.
    reference: bool,
}

const TOO_DEEP: Wrong = Wrong::saying("this value nests too deeply: flatten it");
const TOO_MANY: Wrong = Wrong::saying("this value has too many parts: make it smaller");
const NAMELESS: Wrong = Wrong::saying("names of fields must be texts");
const KEYWORD: Wrong = Wrong::saying("this JSON Schema keyword is not supported: leave it out");
const REFERENCE: Wrong = Wrong::saying("`$ref` must be a text");
const FOREIGN: Wrong = Wrong::coded(UNSUPPORTED, "`$ref` must point into the schema itself, as `#/$defs/name` does");

/// A path is reported to so many characters at most.
const MOST_PATH: usize = 256;

impl<'t> Walk<'t> {
    pub(super) const fn root(tree: &'static Tree, tally: &'t mut Tally) -> Self {
        Self { tree, tally, context: Context::Schema, depth: 0, nesting: 0, reference: false }
    }

    fn refuse(&mut self, wrong: Wrong, keyword: &str) {
        let path = format!("{}{keyword}", self.tally.path);
        self.tally.wrong.get_or_insert_with(|| Box::new(Wrong { path, ..wrong }));
    }

    fn count(&mut self, json: usize, msgpack: usize) {
        self.tally.values += 1;
        let bytes = if self.tree.size == Size::Json { json } else { msgpack };
        self.tally.bytes = self.tally.bytes.saturating_add(bytes);
        if self.tally.values > self.tree.values {
            self.refuse(TOO_MANY, "");
        }
        if self.reference {
            self.refuse(REFERENCE, "");
        }
    }

    /// Enters an array or object: whether what is in it is walked.
    fn enter(&mut self) {
        self.count(2, 0);
        if self.depth >= self.tree.depth {
            self.refuse(TOO_DEEP, "");
        }
    }

    /// The head of an array or object depends on its length.
    fn leave(&mut self, len: usize) {
        if self.tree.size == Size::Msgpack {
            self.tally.bytes += match len {
                0..=15 => 1,
                16..=0xffff => 3,
                _ => 5,
            };
        }
    }

    fn is_over(&self) -> bool {
        self.tally.wrong.is_some()
    }

    fn child(&mut self, context: Context, nesting: u16, reference: bool) -> Walk<'_> {
        Walk { tree: self.tree, tally: self.tally, context, depth: self.depth + 1, nesting, reference }
    }

    /// Looks at a keyword of a schema: what stands behind it.
    fn keyword(&mut self, name: &str) -> (Context, u16, bool) {
        let Some(schema) = self.tree.schema else { return (Context::Data, 0, false) };
        let context = (schema.behind)(self.context, name);
        if self.context != Context::Schema {
            return (context, self.nesting, false);
        }
        if schema.refused.contains(&name) {
            self.refuse(Wrong { code: schema.refusal, ..KEYWORD }, &format!(".{name}"));
        }
        self.tally.unverifiable |= schema.unverifiable.contains(&name);
        let nesting = self.nesting + u16::from(context != Context::Data);
        if nesting > schema.nesting {
            self.refuse(TOO_DEEP, "");
        }
        (context, nesting, schema.own_references && name == "$ref")
    }

    fn step(&mut self, step: fmt::Arguments<'_>) -> usize {
        let before = self.tally.path.len();
        if before < MOST_PATH {
            let _ = fmt::Write::write_fmt(&mut self.tally.path, step);
        }
        before
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.count(4, 1);
        Ok(())
    }

    fn visit_bool<E>(mut self, flag: bool) -> Result<(), E> {
        self.count(if flag { 4 } else { 5 }, 1);
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
        let msgpack = match number {
            -32..=127 => 1,
            -0x80..=0xff => 2,
            -0x8000..=0xffff => 3,
            -0x8000_0000..=0xffff_ffff => 5,
            _ => 9,
        };
        self.count(digits + usize::from(number < 0), msgpack);
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(mut self, number: u64) -> Result<(), E> {
        match i64::try_from(number) {
            Ok(number) => return self.visit_i64(number),
            Err(_) => self.count(20, 9),
        }
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        let json = if self.tree.size == Size::Json { serde_json::Number::from_f64(number) } else { None };
        self.count(json.map_or(8, |number| number.to_string().len()), 9);
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        if self.reference {
            self.reference = false;
            let pointer = text.strip_prefix('#').is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if !pointer {
                self.refuse(FOREIGN, "");
            }
        }
        let json = if self.tree.size == Size::Json { ascii_len(text) } else { 0 };
        self.count(json, text.len() + head_len(text.len()));
        Ok(())
    }

    fn visit_bytes<E>(mut self, bytes: &[u8]) -> Result<(), E> {
        self.count(bytes.len(), bytes.len() + head_len(bytes.len()));
        Ok(())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        self.count(0, 16);
        deserializer.deserialize_any(IgnoredAny).map(|_| ())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        self.enter();
        let context = match self.context {
            Context::Schema | Context::Schemas => Context::Schema,
            Context::Data | Context::Map => Context::Data,
        };
        let mut at = 0_usize;
        loop {
            if self.is_over() {
                return IgnoredAny.visit_seq(elements).map(|_| ());
            }
            let before = self.step(format_args!("[{at}]"));
            let nesting = self.nesting;
            let more = elements.next_element_seed(self.child(context, nesting, false))?;
            self.tally.path.truncate(before);
            if more.is_none() {
                self.leave(at);
                return Ok(());
            }
            self.tally.bytes += usize::from(at > 0 && self.tree.size == Size::Json);
            at += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.enter();
        let mut len = 0_usize;
        loop {
            if self.is_over() {
                return IgnoredAny.visit_map(members).map(|_| ());
            }
            let Some(key) = members.next_key_seed(KeyText)? else {
                self.leave(len);
                return Ok(());
            };
            let Some(name) = key.as_deref() else {
                self.refuse(NAMELESS, "");
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let (context, nesting, reference) = self.keyword(name);
            let before = self.step(format_args!(".{}", cut(name)));
            self.tally.bytes += match self.tree.size {
                Size::Json => ascii_len(name) + 1 + usize::from(len > 0),
                Size::Msgpack => name.len() + head_len(name.len()),
            };
            members.next_value_seed(self.child(context, nesting, reference))?;
            self.tally.path.truncate(before);
            len += 1;
        }
    }
}

/// The start of a name, enough to find it by.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MOST_PATH)]
}

/// The head of a text or binary of this length in msgpack.
const fn head_len(len: usize) -> usize {
    match len {
        0..=31 => 1,
        32..=0xff => 2,
        0x100..=0xffff => 3,
        _ => 5,
    }
}

/// The length of a text in JSON of ASCII alone, quotes included.
pub(super) fn ascii_len(text: &str) -> usize {
    let len = |char| match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        ' '..='\u{7f}' => 1,
        '\u{10000}'.. => 12,
        _ => 6,
    };
    text.chars().map(len).sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(tree: &'static Tree, json: &str) -> Tally {
        let mut tally = Tally::default();
        let mut deserializer = serde_json::Deserializer::from_str(json);
        deserializer.disable_recursion_limit();
        Walk::root(tree, &mut tally).deserialize(&mut deserializer).expect("JSON");
        tally
    }

    static JSON: Tree = Tree { depth: 128, values: 100, size: Size::Json, schema: None };
    static MSGPACK: Tree = Tree { depth: 3, values: 100, size: Size::Msgpack, schema: None };

    #[test]
    fn sizes_are_those_of_the_encoders() {
        for json in [r#"{"a":[1,-20,2.5,"\u00e4\n"],"b":{"c":null,"d":true}}"#, "[]", r#"[[],{},""]"#] {
            assert_eq!(walk(&JSON, json).bytes, json.len(), "{json}");
        }
        assert_eq!(walk(&MSGPACK, r#"{"a":200,"b":"text"}"#).bytes, 1 + 2 + 2 + 2 + 5);
    }

    #[test]
    fn depth_and_values_are_bounded_without_recursion() {
        assert!(walk(&MSGPACK, "[[[1]]]").wrong.is_none());
        assert!(walk(&MSGPACK, "[[[[]]]]").wrong.is_some());
        let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(walk(&JSON, &deep).wrong.expect("too deep").path.len() < 512);
        let wide = format!("[{}1]", "1,".repeat(200));
        assert!(walk(&JSON, &wide).wrong.is_some());
    }
}
