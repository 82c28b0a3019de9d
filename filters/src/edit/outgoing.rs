//! What does an upstream get instead of the body that is held? An object put together member by member, whose large values stay where
//! they are.

use super::{Piece, SMALL};
use crate::scan::{self, NotAnObject};
use crate::writer::json_text;
use spillway_policies::upstream::Params;
use std::borrow::Cow;
use std::ops::Range;

/// Most members of one body. No call has more, and names are looked for one by one.
const MAX_MEMBERS: usize = 256;

/// The two names of the cap on output tokens (contract section 6).
const CAPS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// A JSON object on its way out. A name stands once: the last value counts, as engines read it.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing<'a> {
    held: &'a [u8],
    members: Vec<(Cow<'a, str>, Value)>,
}

#[derive(Clone, Debug)]
enum Value {
    Held(Range<usize>),
    New(Vec<u8>),
}

impl Value {
    fn raw<'v>(&'v self, held: &'v [u8]) -> &'v [u8] {
        match self {
            Self::Held(range) => &held[range.clone()],
            Self::New(bytes) => bytes,
        }
    }
}

impl<'a> Outgoing<'a> {
    /// The members of the held body, as they stand.
    ///
    /// # Errors
    /// It is not a JSON object, or has more members than any call has.
    pub(crate) fn read(held: &'a [u8]) -> Result<Self, NotAnObject> {
        let mut outgoing = Self::empty(held);
        for member in scan::members(held) {
            let member = member?;
            let name = scan::text(&held[member.key]).ok_or(NotAnObject)?;
            if outgoing.members.len() == MAX_MEMBERS {
                return Err(NotAnObject);
            }
            outgoing.set(name, Value::Held(member.value));
        }
        Ok(outgoing)
    }

    /// An object without members, to be filled from the held body.
    pub(crate) const fn empty(held: &'a [u8]) -> Self {
        Self { held, members: Vec::new() }
    }

    /// The raw value of a member; null is no value.
    pub(crate) fn value(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(found, value)| *found == name && *value != b"null").map(|(_, value)| value)
    }

    /// The members as they stand: names with raw values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value.raw(self.held)))
    }

    /// Sets a member.
    pub(crate) fn put(&mut self, name: &'a str, value: impl Into<Vec<u8>>) {
        self.set(Cow::Borrowed(name), Value::New(value.into()));
    }

    /// Sets a member to a text.
    pub(crate) fn put_text(&mut self, name: &'a str, text: &str) {
        self.put(name, json_text(text));
    }

    /// Gives a member another name, in place of what stood there.
    pub(crate) fn rename(&mut self, name: &str, other: &'a str) {
        if let Some(place) = self.members.iter().position(|(found, _)| found == name) {
            let (_, value) = self.members.swap_remove(place);
            self.set(Cow::Borrowed(other), value);
        }
    }

    /// Drops the members that say nothing: null and the empty list.
    pub(crate) fn drop_empty(&mut self) {
        let held = self.held;
        self.members.retain(|(_, value)| !matches!(value.raw(held), b"null" | b"[]"));
    }

    /// Keeps the members whose names pass.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.members.retain(|(name, _)| keep(name));
    }

    /// Sets and strips what the operator says.
    pub(crate) fn apply(&mut self, params: &'a Params) {
        for (name, value) in &params.set {
            self.put(name, value.as_bytes());
        }
        self.retain(|name| !params.strip.iter().any(|stripped| stripped == name));
    }

    /// Bounds the tokens of the answer, whatever the operator set or stripped: no cap that stands is above `most`, and one stands
    /// (contract section 6). `max_tokens` is the name that every host takes; where the operator strips it from chat calls, because a
    /// host wants the newer name only, the cap goes under that one.
    pub(crate) fn cap(&mut self, most: Option<u64>, params: &Params, is_chat: bool) {
        for name in CAPS {
            if self.value(name).is_none() {
                self.retain(|found| found != name);
            }
        }
        let Some(most) = most else { return };
        let standing = CAPS.into_iter().filter_map(|name| self.value(name));
        let most = standing.filter_map(whole_number).fold(most, u64::min);
        let mut names: Vec<&str> = CAPS.into_iter().filter(|name| self.value(name).is_some()).collect();
        if names.is_empty() {
            let is_stripped = |name: &str| params.strip.iter().any(|stripped| stripped == name);
            let newer = is_chat && is_stripped("max_tokens") && !is_stripped("max_completion_tokens");
            names.push(if newer { "max_completion_tokens" } else { "max_tokens" });
        }
        for name in names {
            self.put(name, most.to_string());
        }
    }

    /// The object in pieces.
    pub(crate) fn into_pieces(self) -> Vec<Piece> {
        let mut pieces = self.begun();
        pieces.fresh.push(b'}');
        pieces.finish()
    }

    /// The object in pieces, with the list `name` that holds these elements of a held one, from the first to the last.
    pub(crate) fn into_pieces_with(mut self, name: &str, elements: Range<usize>) -> Vec<Piece> {
        self.retain(|found| found != name);
        let mut pieces = self.begun();
        if !self.members.is_empty() {
            pieces.fresh.push(b',');
        }
        pieces.fresh.extend_from_slice(&json_text(name));
        pieces.fresh.extend_from_slice(b":[");
        pieces.held(self.held, elements);
        pieces.fresh.extend_from_slice(b"]}");
        pieces.finish()
    }

    /// The object but for its end.
    fn begun(&self) -> Pieces {
        let mut pieces = Pieces { done: Vec::new(), fresh: vec![b'{'] };
        for (place, (name, value)) in self.members.iter().enumerate() {
            if place > 0 {
                pieces.fresh.push(b',');
            }
            pieces.fresh.extend_from_slice(&json_text(name));
            pieces.fresh.push(b':');
            match value {
                Value::Held(range) => pieces.held(self.held, range.clone()),
                Value::New(bytes) => pieces.fresh.extend_from_slice(bytes),
            }
        }
        pieces
    }

    fn set(&mut self, name: Cow<'a, str>, value: Value) {
        match self.members.iter_mut().find(|(found, _)| *found == name) {
            Some((_, old)) => *old = value,
            None => self.members.push((name, value)),
        }
    }
}

/// The pieces of a body in the making.
struct Pieces {
    done: Vec<Piece>,
    fresh: Vec<u8>,
}

impl Pieces {
    /// A range of the held body: a large one stays there.
    fn held(&mut self, held: &[u8], range: Range<usize>) {
        if range.len() > SMALL {
            self.done.push(Piece::New(std::mem::take(&mut self.fresh)));
            self.done.push(Piece::Held(range));
        } else {
            self.fresh.extend_from_slice(&held[range]);
        }
    }

    fn finish(mut self) -> Vec<Piece> {
        self.done.push(Piece::New(self.fresh));
        self.done
    }
}

fn whole_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    fn json(held: &[u8], pieces: Vec<Piece>) -> Json {
        let joined: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.into_bytes(held)).collect();
        serde_json::from_slice(&joined).expect("JSON")
    }

    fn capped(body: &str, most: Option<u64>, set: &[(&str, &str)], strip: &[&str]) -> Json {
        let params = Params {
            set: set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            strip: strip.iter().map(|name| (*name).to_owned()).collect(),
        };
        let mut outgoing = Outgoing::read(body.as_bytes()).expect("an object");
        outgoing.apply(&params);
        outgoing.cap(most, &params, true);
        json(body.as_bytes(), outgoing.into_pieces())
    }

    #[test]
    fn a_cap_only_shrinks_and_one_always_stands() {
        let both = r#"{"max_tokens":16,"max_completion_tokens":8}"#;
        for (body, most, set, strip, wanted) in [
            ("{}", None, &[][..], &[][..], json!({})),
            ("{}", Some(9), &[], &[], json!({"max_tokens": 9})),
            (r#"{"max_tokens":null}"#, Some(9), &[], &[], json!({"max_tokens": 9})),
            (r#"{"max_tokens":16}"#, Some(9), &[], &[], json!({"max_tokens": 9})),
            (r#"{"max_tokens":4}"#, Some(9), &[], &[], json!({"max_tokens": 4})),
            (r#"{"max_tokens":"4"}"#, Some(9), &[], &[], json!({"max_tokens": 9})),
            (both, Some(9), &[], &[], json!({"max_tokens": 8, "max_completion_tokens": 8})),
            ("{}", Some(9), &[("max_tokens", "500")], &[], json!({"max_tokens": 9})),
            ("{}", Some(9), &[("max_tokens", "5")], &[], json!({"max_tokens": 5})),
            (
                r#"{"max_tokens":4}"#,
                Some(4),
                &[("max_completion_tokens", "500")],
                &["max_tokens"],
                json!({"max_completion_tokens": 4}),
            ),
            (r#"{"max_tokens":4}"#, Some(4), &[], &["max_tokens"], json!({"max_completion_tokens": 4})),
            (r#"{"max_tokens":4}"#, Some(4), &[], &["max_tokens", "max_completion_tokens"], json!({"max_tokens": 4})),
        ] {
            assert_eq!(capped(body, most, set, strip), wanted, "{body} {most:?} {set:?} {strip:?}");
        }
    }

    #[test]
    fn a_name_stands_once_and_the_last_value_counts() {
        let body = br#"{"a":1,"\u0061":2,"b":{"a":3}}"#;
        let outgoing = Outgoing::read(body).expect("an object");
        assert_eq!(json(body, outgoing.into_pieces()), json!({"a": 2, "b": {"a": 3}}));
        let many: Vec<String> = (0..257).map(|place| format!("\"{place}\":1")).collect();
        assert!(Outgoing::read(format!("{{{}}}", many.join(",")).as_bytes()).is_err());
    }

    #[test]
    fn a_large_value_stays_where_it_is() {
        let body = format!(r#"{{"prompt":"{}","a":1}}"#, "x".repeat(100_000));
        let mut outgoing = Outgoing::read(body.as_bytes()).expect("an object");
        outgoing.rename("prompt", "input");
        assert_eq!(json(body.as_bytes(), outgoing.clone().into_pieces())["a"], 1);
        let parts = outgoing.clone().into_pieces_with("input", 10..100_000);
        for pieces in [outgoing.into_pieces(), parts] {
            let copied: usize =
                pieces.iter().map(|piece| if let Piece::New(bytes) = piece { bytes.len() } else { 0 }).sum();
            assert!(copied < 64, "{copied}");
        }
    }

    #[test]
    fn elements_of_a_list_become_one_of_their_own() {
        let body = br#"{"input":["a", "b" ,"c"],"model":"m"}"#;
        let outgoing = Outgoing::read(body).expect("an object");
        let pieces = outgoing.into_pieces_with("input", 15..23);
        assert_eq!(json(body, pieces), json!({"input": ["b", "c"], "model": "m"}));
        assert_eq!(json(body, Outgoing::empty(body).into_pieces_with("input", 10..13)), json!({"input": ["a"]}));
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_goes_out(map in prop::collection::btree_map(".{0,8}", prop_oneof![
            Just(json!(null)), any::<i64>().prop_map(|n| json!(n)), ".{0,1200}".prop_map(|s| json!([s]))], 0..6)) {
            let body = serde_json::to_vec(&map).expect("a map");
            let outgoing = Outgoing::read(&body).expect("an object");
            prop_assert_eq!(json(&body, outgoing.into_pieces()), serde_json::to_value(&map).expect("a map"));
        }
    }
}
