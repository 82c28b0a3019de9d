//! Is this a legal chunk extension (RFC 9112 section 7.1.1)? Legal ones are accepted and mean nothing here.

use crate::wire::headers::{is_token_byte, is_value_byte};

/// Where in an extension the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extension {
    /// After `;`: spaces, then a name.
    Begin,
    /// In a quoted value, after a backslash.
    Escape,
    /// After spaces where only another extension may follow.
    Gap,
    Name,
    /// After a name and spaces.
    NameGap,
    Quoted,
    /// After the closing quote.
    QuotedEnd,
    Value,
    /// After `=`: spaces, then a value.
    ValueBegin,
}

/// What follows a byte.
pub(super) enum Next {
    Extension(Extension),
    /// It was the CR of the line's end.
    LineEnd,
}

impl Extension {
    /// One byte; none when the grammar does not allow it here.
    pub(super) fn step(self, byte: u8) -> Option<Next> {
        use Extension::{Begin, Escape, Gap, Name, NameGap, Quoted, QuotedEnd, Value, ValueBegin};
        let next = match (self, byte) {
            (Name | Value | QuotedEnd, b'\r') => return Some(Next::LineEnd),
            (Quoted, b'"') => QuotedEnd,
            (Quoted, b'\\') => Escape,
            (Quoted | Escape, _) if is_value_byte(byte) => Quoted,
            (Quoted | Escape, _) => return None,
            (Begin | Gap | NameGap | ValueBegin, b' ' | b'\t') => self,
            (Name, b' ' | b'\t') => NameGap,
            (Value | QuotedEnd, b' ' | b'\t') => Gap,
            (Gap | Name | NameGap | Value | QuotedEnd, b';') => Begin,
            (Name | NameGap, b'=') => ValueBegin,
            (ValueBegin, b'"') => Quoted,
            (Begin | Name, _) if is_token_byte(byte) => Name,
            (ValueBegin | Value, _) if is_token_byte(byte) => Value,
            _ => return None,
        };
        Some(Next::Extension(next))
    }
}
