//! Which header lines concern the codec?

/// What a header line is to the codec, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Connection,
    ContentEncoding,
    ContentLength,
    ContentType,
    /// Spillway's to write; from anyone else it is a forgery.
    Disclosure,
    Expect,
    /// For this hop only.
    HopByHop,
    Host,
    Other,
    Remote,
    TransferEncoding,
    /// A name the codec acts on, spelled with underscores: some readers take it for the real one, some do not.
    Underscored,
    /// The same for the caller's consent.
    UnderscoredRemote,
    Upgrade,
}

/// Names that a message needs to arrive with; `Connection` cannot take them off and a trailer cannot bring them late.
const PROTECTED: [&[u8]; 23] = [
    b"accept",
    b"api-key",
    b"authorization",
    b"cache-control",
    b"cookie",
    b"date",
    b"expect",
    b"forwarded",
    b"host",
    b"idempotency-key",
    b"origin",
    b"range",
    b"referer",
    b"set-cookie",
    b"traceparent",
    b"tracestate",
    b"transfer-encoding",
    b"user-agent",
    b"via",
    b"www-authenticate",
    b"x-api-key",
    b"x-real-ip",
    b"x-request-id",
];
/// Families of such names.
const PROTECTED_FAMILIES: [&[u8]; 6] = [b"accept-", b"content-", b"if-", b"spillway-", b"x-forwarded-", b"x-sie-"];

/// Lower case, and a hyphen for an underscore: gateways that turn names into variables cannot tell the two apart.
const FOLD: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = if byte == b'_' as usize { b'-' } else { (byte as u8).to_ascii_lowercase() };
        byte += 1;
    }
    table
};

/// A byte as it counts when names are compared.
pub(super) const fn fold(byte: u8) -> u8 {
    FOLD[byte as usize]
}

/// Whether `name` is `folded` but for case and underscores.
fn spells(name: &[u8], folded: &[u8]) -> bool {
    name.len() == folded.len() && starts_with(name, folded)
}

fn starts_with(name: &[u8], folded: &[u8]) -> bool {
    name.len() >= folded.len() && name.iter().zip(folded).all(|(byte, want)| fold(*byte) == *want)
}

/// Sorts a header name.
pub(super) fn known(name: &[u8]) -> Known {
    let known = match name.len() {
        2 if spells(name, b"te") => Known::HopByHop,
        4 if spells(name, b"host") => Known::Host,
        6 if spells(name, b"expect") => Known::Expect,
        7 if spells(name, b"upgrade") => Known::Upgrade,
        7 if spells(name, b"trailer") => Known::HopByHop,
        10 if spells(name, b"connection") => Known::Connection,
        10 if spells(name, b"keep-alive") => Known::HopByHop,
        12 if spells(name, b"content-type") => Known::ContentType,
        12 if spells(name, b"x-sie-remote") => Known::Remote,
        14 if spells(name, b"content-length") => Known::ContentLength,
        14 if spells(name, b"http2-settings") => Known::HopByHop,
        14 if spells(name, b"x-sie-upstream") || spells(name, b"spillway-cause") => Known::Disclosure,
        15 if spells(name, b"x-sie-served-by") => Known::Disclosure,
        16 if spells(name, b"content-encoding") => Known::ContentEncoding,
        16 if spells(name, b"proxy-connection") => Known::HopByHop,
        17 if spells(name, b"transfer-encoding") => Known::TransferEncoding,
        19 if spells(name, b"proxy-authorization") => Known::HopByHop,
        20 if spells(name, b"x-sie-fallback-error") || spells(name, b"spillway-equivalence") => Known::Disclosure,
        21 if spells(name, b"x-sie-fallback-reason") => Known::Disclosure,
        _ => return Known::Other,
    };
    match known {
        Known::ContentEncoding | Known::ContentLength | Known::ContentType | Known::TransferEncoding
            if name.contains(&b'_') =>
        {
            Known::Underscored
        }
        Known::Remote if name.contains(&b'_') => Known::UnderscoredRemote,
        known => known,
    }
}

/// Whether a message needs this header to arrive as a header.
pub(super) fn is_protected(name: &[u8]) -> bool {
    PROTECTED.iter().any(|folded| spells(name, folded))
        || PROTECTED_FAMILIES.iter().any(|family| starts_with(name, family))
}

/// Whether a trailer section must not carry this name.
pub(super) fn is_forbidden_in_trailers(name: &[u8]) -> bool {
    known(name) != Known::Other || is_protected(name)
}

/// `tchar` of RFC 9110: what names, methods and tokens are made of.
pub(super) const fn is_token_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~')
}

/// A byte of a header value or a quoted string: tab, visible ASCII, space, or opaque.
pub(super) const fn is_value_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

/// Content-Length of one line: digits alone, at most 19 of them, so that it cannot overflow.
pub(super) fn decimal(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 19 {
        return None;
    }
    value.iter().try_fold(0u64, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::{Known, is_protected, known};
    use crate::names;

    #[test]
    fn the_names_of_the_contract_are_known_in_every_spelling() {
        let ours = [names::SERVED_BY, names::UPSTREAM, names::FALLBACK_REASON, names::FALLBACK_ERROR, names::CAUSE];
        for name in ours.into_iter().chain(["Spillway-Equivalence"]) {
            for spelling in [name.to_owned(), name.to_ascii_uppercase(), name.replace('-', "_")] {
                assert_eq!(known(spelling.as_bytes()), Known::Disclosure, "{spelling}");
            }
            assert!(is_protected(name.as_bytes()), "{name}");
        }
        assert_eq!(known(names::REMOTE.as_bytes()), Known::Remote);
        assert_eq!(known(b"x-sie_remote"), Known::UnderscoredRemote);
    }

    #[test]
    fn near_misses_are_other_headers() {
        for name in ["Hosts", "Xost", "Content-Lengthy", "Content-Size", "Authorization_", "X-SIE-Remote-", "tee", ""] {
            assert_eq!(known(name.as_bytes()), Known::Other, "{name}");
        }
        assert!(!is_protected(b"x-hop") && !is_protected(b"contents") && is_protected(b"Content_Language"));
    }
}
