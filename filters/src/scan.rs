//! Where are the top-level members of a JSON object? A shallow scan: values are skipped, not parsed.
//!
//! The scan finds `model` without a parse of the whole body. It is strict about the object it walks and about strings and brackets
//! inside values, and leaves the rest of a value's grammar to whoever reads it; `serde_json` says whether a body is well-formed.

use std::borrow::Cow;
use std::ops::Range;

/// One member of the object: where its key (with quotes) and its value stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key, quotes included.
    pub key: Range<usize>,
    /// The value, without surrounding space.
    pub value: Range<usize>,
}

/// The text is not one JSON object, as far as a shallow scan can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is not one JSON object")]
pub struct NotAnObject;

/// Walks the members of the JSON object that `text` is.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    text: &'a [u8],
    at: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Inside,
    Over,
}

/// The members of `text`, which must be one JSON object with nothing but space around it.
#[must_use]
pub const fn members(text: &[u8]) -> Members<'_> {
    Members { text, at: 0, state: State::Start }
}

/// How many bytes the value at the start of `text` takes, as far as a shallow scan can tell.
pub(crate) fn value_len(text: &[u8]) -> Option<usize> {
    let mut walk = members(text);
    walk.value()?;
    Some(walk.at)
}

/// What follows the string whose text begins here, behind its first quote; none when it does not end.
pub(crate) fn after_string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        let at = memchr::memchr2(b'"', b'\\', text)?;
        if text[at] == b'"' {
            return Some(&text[at + 1..]);
        }
        text = text.get(at + 2..)?;
    }
}

impl Iterator for Members<'_> {
    type Item = Result<Member, NotAnObject>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Over {
            return None;
        }
        let step = self.step();
        if !matches!(step, Some(Ok(_))) {
            self.state = State::Over;
        }
        step
    }
}

impl Members<'_> {
    fn step(&mut self) -> Option<Result<Member, NotAnObject>> {
        self.space();
        if self.state == State::Start {
            if !self.eat(b'{') {
                return Some(Err(NotAnObject));
            }
            self.state = State::Inside;
            self.space();
            if self.eat(b'}') {
                return self.end();
            }
        } else if self.eat(b'}') {
            return self.end();
        } else if self.eat(b',') {
            self.space();
        } else {
            return Some(Err(NotAnObject));
        }
        Some(self.member().ok_or(NotAnObject))
    }

    fn end(&mut self) -> Option<Result<Member, NotAnObject>> {
        self.space();
        if self.at == self.text.len() { None } else { Some(Err(NotAnObject)) }
    }

    fn member(&mut self) -> Option<Member> {
        let key_start = self.at;
        self.string()?;
        let key = key_start..self.at;
        self.space();
        if !self.eat(b':') {
            return None;
        }
        self.space();
        let start = self.at;
        self.value()?;
        Some(Member { key, value: start..self.at })
    }

    /// Skips one value: a string, a bracketed value with its strings and brackets balanced, or a run of scalar bytes.
    fn value(&mut self) -> Option<()> {
        match *self.text.get(self.at)? {
            b'"' => self.string(),
            b'{' | b'[' => self.nested(),
            _ => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Option<()> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match *self.text.get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        if !self.eat(b'"') {
            return None;
        }
        self.at = self.text.len() - after_string(&self.text[self.at..])?.len();
        Some(())
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }
}

/// The text of a JSON string token, quotes included; borrowed unless it holds escapes.
#[must_use]
pub fn text(token: &[u8]) -> Option<Cow<'_, str>> {
    let inner = token.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() && inner.iter().all(|byte| *byte >= 0x20) {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice::<String>(token).ok().map(Cow::Owned)
}

/// Whether a key token, quotes included, says `name`; an escaped spelling counts.
#[must_use]
pub fn is_key(token: &[u8], name: &str) -> bool {
    match token.get(1..token.len().saturating_sub(1)) {
        Some(inner) if memchr::memchr(b'\\', inner).is_none() => inner == name.as_bytes(),
        Some(_) => text(token).is_some_and(|key| key == name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(json: &str) -> Result<Vec<(String, String)>, NotAnObject> {
        members(json.as_bytes())
            .map(|member| member.map(|m| (json[m.key].to_owned(), json[m.value].to_owned())))
            .collect()
    }

    #[test]
    fn members_stand_where_they_are() {
        let found = pairs(" { \"a\" : 1 , \"b\":\"x\\\"}\", \"c\":[{\"d\":\"]\"}] ,\"e\":{} }\n").expect("an object");
        let values: Vec<_> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(values, [("\"a\"", "1"), ("\"b\"", "\"x\\\"}\""), ("\"c\"", "[{\"d\":\"]\"}]"), ("\"e\"", "{}")]);
        assert_eq!(pairs("{}"), Ok(vec![]));
    }

    #[test]
    fn what_is_not_one_object_is_said_so() {
        for bad in [
            "",
            "[]",
            "1",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}x",
            "{\"a\":1}{}",
            "{a:1}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":\"x}",
        ] {
            assert!(pairs(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_escaped_spelling_of_a_key_is_the_same_key() {
        assert!(is_key(b"\"model\"", "model"));
        assert!(is_key(b"\"mod\\u0065l\"", "model"));
        assert!(!is_key(b"\"models\"", "model"));
    }

    proptest! {
        #[test]
        fn any_object_is_walked_as_serde_reads_it(map in prop::collection::btree_map(".{0,8}", prop_oneof![
            Just(serde_json::json!(null)), any::<i64>().prop_map(|n| serde_json::json!(n)),
            ".{0,12}".prop_map(|s| serde_json::json!([s.clone(), {s: [true]}]))], 0..6)) {
            let json = serde_json::to_string(&map).expect("a map");
            let walked: Vec<_> = members(json.as_bytes()).collect::<Result<_, _>>().expect("an object");
            prop_assert_eq!(walked.len(), map.len());
            for member in walked {
                let key = text(json[member.key].as_bytes()).expect("a string");
                let value: serde_json::Value = serde_json::from_str(&json[member.value]).expect("a value");
                prop_assert_eq!(&map[key.as_ref()], &value);
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for member in members(&bytes) { let Ok(member) = member else { break }; let _ = text(&bytes[member.key]); }
        }
    }
}
