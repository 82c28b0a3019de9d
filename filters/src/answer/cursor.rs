//! What stands where in a value? One walk for both formats that never goes back.
//!
//! A cursor is put on values that are well-formed ([`Members`](super::Members) says so); on anything else it is wrong without harm.

use super::Content;
use super::array::{Array, scalar};
use super::msgpack::{self, Token};
use super::numeral::Number;
use crate::scan;
use std::borrow::Cow;

/// A place in a value.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    content: Content,
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// At the start of a value.
    pub(super) const fn new(content: Content, value: &'a [u8]) -> Self {
        Self { content, rest: value }
    }

    pub(super) const fn content(&self) -> Content {
        self.content
    }

    /// A value as it stands.
    pub(super) fn raw(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let len = match self.content {
            Content::Json => scan::value_len(self.rest)?,
            Content::Msgpack => msgpack::value_len(self.rest)?,
            Content::Text => return None,
        };
        self.take(len)
    }

    /// Null, if it is one.
    pub(super) fn null(&mut self) -> Option<()> {
        self.skip_space();
        self.rest = self.rest.strip_prefix(self.content.null())?;
        Some(())
    }

    /// Null, or what `walk` takes.
    pub(super) fn null_or(&mut self, walk: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.null().or_else(|| walk(self))
    }

    /// A text.
    pub(super) fn text(&mut self) -> Option<Cow<'a, str>> {
        match self.content {
            Content::Json => scan::text(self.raw()?),
            Content::Msgpack => match self.token()? {
                Token::Text(text) => Some(Cow::Borrowed(text)),
                _ => None,
            },
            Content::Text => None,
        }
    }

    /// Any text.
    pub(super) fn any_text(&mut self) -> Option<()> {
        match self.content {
            Content::Json => self.raw()?.starts_with(b"\"").then_some(()),
            Content::Msgpack | Content::Text => self.text().map(drop),
        }
    }

    /// A number; in msgpack also one that numpy wrote.
    pub(super) fn number(&mut self) -> Option<Number<'a>> {
        if self.content != Content::Msgpack {
            self.skip_space();
            let (number, len) = Number::json(self.rest)?;
            self.take(len)?;
            return Some(number);
        }
        let start = self.rest;
        match self.token()? {
            Token::Float(number) => Some(Number::Float(number)),
            Token::Whole(number) => Some(Number::Whole(number)),
            Token::Map(_) => {
                self.rest = start;
                scalar(self.raw()?)
            }
            _ => None,
        }
    }

    /// A number that is finite.
    pub(super) fn finite(&mut self) -> Option<()> {
        self.number()?.is_finite().then_some(())
    }

    /// A whole number from zero up.
    pub(super) fn count(&mut self) -> Option<u64> {
        u64::try_from(self.number()?.whole()?).ok()
    }

    /// An object: `each` takes the value of every member.
    pub(super) fn object(&mut self, mut each: impl FnMut(&str, &mut Self) -> Option<()>) -> Option<()> {
        if self.content == Content::Msgpack {
            let Token::Map(count) = self.token()? else { return None };
            for _ in 0..count {
                let Token::Text(name) = self.token()? else { return None };
                each(name, self)?;
            }
            return Some(());
        }
        self.eat(b'{')?;
        if self.eat(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.text()?;
            self.eat(b':')?;
            each(&name, self)?;
            if self.eat(b'}').is_some() {
                return Some(());
            }
            self.eat(b',')?;
        }
    }

    /// An object: the raw values of the members that `names` names. `walk` takes each of these, other members are passed over.
    /// None when one of `names` stands twice.
    pub(super) fn members<const N: usize>(
        &mut self,
        names: &[&str; N],
        mut walk: impl FnMut(&str, &mut Self) -> Option<()>,
    ) -> Option<[Option<&'a [u8]>; N]> {
        let mut found = [None; N];
        self.object(|name, cursor| {
            let Some(place) = names.iter().position(|known| *known == name) else { return cursor.raw().map(drop) };
            cursor.skip_space();
            let start = cursor.rest;
            walk(name, cursor)?;
            let value = start.get(..start.len().checked_sub(cursor.rest.len())?)?;
            found[place].replace(value).is_none().then_some(())
        })?;
        Some(found)
    }

    /// A list: `each` takes every element. How many there are.
    pub(super) fn list(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<usize> {
        if self.content == Content::Msgpack {
            let Token::List(count) = self.token()? else { return None };
            for _ in 0..count {
                each(self)?;
            }
            return usize::try_from(count).ok();
        }
        self.eat(b'[')?;
        if self.eat(b']').is_some() {
            return Some(0);
        }
        let mut count = 0;
        loop {
            each(self)?;
            count += 1;
            self.skip_space();
            match self.take(1)? {
                b"," => {}
                b"]" => return Some(count),
                _ => return None,
            }
        }
    }

    /// A value of any kind whose names are texts and whose numbers are finite: what JSON can say. In msgpack also arrays and scalars of
    /// numpy.
    pub(super) fn plain(&mut self) -> Option<()> {
        self.skip_space();
        match self.content {
            Content::Json => match self.rest.first()? {
                b'{' => self.object(|_, cursor| cursor.plain()),
                b'[' => self.list(Self::plain).map(drop),
                b'-' | b'0'..=b'9' => self.finite(),
                _ => self.raw().map(drop),
            },
            Content::Msgpack => self.plain_msgpack(),
            Content::Text => None,
        }
    }

    fn plain_msgpack(&mut self) -> Option<()> {
        let (token, len) = msgpack::token(self.rest)?;
        match token {
            // Only numpy names members by bytes, and what it writes holds no further maps: nothing is walked twice on every level.
            Token::Map(_) if matches!(msgpack::token(&self.rest[len..]), Some((Token::Bytes(_), _))) => {
                let value = self.raw()?;
                let fits = Array::read(value).is_some_and(|array| array.is_finite());
                (fits || scalar(value).is_some_and(Number::is_finite)).then_some(())
            }
            Token::Map(_) => self.object(|_, cursor| cursor.plain()),
            Token::List(_) => self.list(Self::plain).map(drop),
            Token::Float(_) => self.finite(),
            Token::Bool(_) | Token::Nil | Token::Text(_) | Token::Whole(_) => self.take(len).map(drop),
            Token::Bytes(_) | Token::Extension => None,
        }
    }

    fn token(&mut self) -> Option<Token<'a>> {
        let (token, len) = msgpack::token(self.rest)?;
        self.take(len)?;
        Some(token)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// This byte of JSON, space before it aside.
    fn eat(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        self.rest = self.rest.strip_prefix(&[byte])?;
        Some(())
    }

    fn skip_space(&mut self) {
        if self.content == Content::Json {
            self.rest = self.rest.trim_ascii_start();
        }
    }
}
