//! What does a Connection line ask of this hop?

use crate::wire::headers::{Known, is_protected, is_token_byte, known};

/// One option of a Connection line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) enum Choice {
    Close,
    /// Nominates an extension header: its lines stay on this hop.
    Extension,
    /// Names a header that stays on this hop anyway.
    HopByHop,
    KeepAlive,
    /// Not a token.
    Malformed,
    /// Nominates a header that must arrive.
    Protected,
    /// Nominates `X-SIE-Remote`, which would take the caller's consent off the request.
    Remote,
    Upgrade,
}

/// The options of one line, in order; empty elements are skipped.
pub(in crate::wire) fn choices(value: &[u8]) -> impl Iterator<Item = Choice> {
    names(value).map(choice)
}

/// Whether a Connection line among `headers` nominates `name`, and the message can do without it.
pub(in crate::wire) fn is_nominated(headers: &[httparse::Header<'_>], name: &[u8]) -> bool {
    headers
        .iter()
        .filter(|header| known(header.name.as_bytes()) == Known::Connection)
        .flat_map(|header| names(header.value))
        .any(|option| option.eq_ignore_ascii_case(name) && choice(option) == Choice::Extension)
}

fn names(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|option| !option.is_empty())
}

fn choice(option: &[u8]) -> Choice {
    match option.len() {
        5 if option.eq_ignore_ascii_case(b"close") => return Choice::Close,
        7 if option.eq_ignore_ascii_case(b"upgrade") => return Choice::Upgrade,
        10 if option.eq_ignore_ascii_case(b"keep-alive") => return Choice::KeepAlive,
        _ => {}
    }
    if !option.iter().copied().all(is_token_byte) {
        return Choice::Malformed;
    }
    match known(option) {
        Known::Remote | Known::UnderscoredRemote => Choice::Remote,
        Known::Connection | Known::HopByHop | Known::Upgrade => Choice::HopByHop,
        Known::Other if !is_protected(option) => Choice::Extension,
        _ => Choice::Protected,
    }
}
