//! Which request targets mean the same to every reader?

use core::ops::Range;

use crate::wire::reject::RejectKind;
use crate::wire::{MAX_METHOD_BYTES, MAX_TARGET_BYTES};

/// The methods the lane tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`: its answer has no body.
    Head,
    /// `POST`
    Post,
    /// Any other upper-case method; it passes as it stands.
    Other,
}

/// A target that passed, as ranges of the target itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::wire) struct Target {
    /// The authority of an absolute target; it must equal Host.
    pub(in crate::wire) authority: Option<Range<usize>>,
    /// Where the origin form begins: 0 unless the target is absolute.
    pub(in crate::wire) origin_at: usize,
    /// Where the path ends: at the query or at the end.
    pub(in crate::wire) path_end: usize,
}

/// Judges a method as soon as it is known.
pub(in crate::wire) fn method(method: &str) -> Result<Method, RejectKind> {
    match method {
        "POST" => Ok(Method::Post),
        "GET" => Ok(Method::Get),
        "HEAD" => Ok(Method::Head),
        "CONNECT" | "TRACE" => Err(RejectKind::MethodUnsupported),
        _ if method.len() <= MAX_METHOD_BYTES
            && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-') =>
        {
            Ok(Method::Other)
        }
        _ => Err(RejectKind::Method),
    }
}

/// Judges a whole target. Its comparison with Host waits for the end of the head.
pub(in crate::wire) fn target(method: &str, target: &[u8]) -> Result<Target, RejectKind> {
    if target.len() > MAX_TARGET_BYTES {
        return Err(RejectKind::TargetTooLong);
    }
    let authority = match target {
        [b'/', ..] => None,
        b"*" if method == "OPTIONS" => return Ok(Target { authority: None, origin_at: 0, path_end: 1 }),
        _ => Some(authority(target).ok_or(RejectKind::Target)?),
    };
    let origin_at = authority.as_ref().map_or(0, |authority| authority.end);
    let origin = &target[origin_at..];
    if origin.starts_with(b"//") {
        return Err(RejectKind::Target);
    }
    let path_len = path_len(origin).ok_or(RejectKind::Target)?;
    Ok(Target { authority, origin_at, path_end: origin_at + path_len })
}

/// Whether a target that has not ended yet is already too long. Only bytes that may stand in a target count,
/// so that a broken target gets the same verdict however it arrives.
pub(in crate::wire) fn overflows(seen: &[u8]) -> bool {
    seen.get(..=MAX_TARGET_BYTES).is_some_and(|seen| seen.iter().all(|byte| *byte > b' ' && *byte != 0x7F))
}

/// The authority of `http://authority/path`, if there is a path after it.
fn authority(target: &[u8]) -> Option<Range<usize>> {
    let scheme = target.iter().position(|byte| *byte == b':')?;
    if !(target[..scheme].eq_ignore_ascii_case(b"http") || target[..scheme].eq_ignore_ascii_case(b"https")) {
        return None;
    }
    let start = scheme + 3;
    if !target[scheme + 1..].starts_with(b"//") {
        return None;
    }
    let length = target[start..].iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'))?;
    (length > 0 && target[start + length] == b'/').then_some(start..start + length)
}

/// What the bytes of a target ask for, as bits: what all of them ask for is one pass without branches.
const BYTES: [u8; 256] = {
    let mut table = [REFUSED; 256];
    let mut byte = 0x21;
    while byte < 0x7F {
        table[byte] = 0;
        byte += 1;
    }
    table[b'?' as usize] = QUERY;
    table[b'%' as usize] = SUSPECT;
    table[b'.' as usize] = SUSPECT;
    table[b'#' as usize] = REFUSED;
    table[b'\\' as usize] = REFUSED;
    table
};
/// Starts the query.
const QUERY: u8 = 1;
/// May be part of a dot segment: the path needs the slow look.
const SUSPECT: u8 = 2;
const REFUSED: u8 = 4;

/// The length of the path in an origin-form target, if the whole target is clean.
fn path_len(origin: &[u8]) -> Option<usize> {
    let asked = origin.iter().fold(0, |asked, byte| asked | BYTES[*byte as usize]);
    if asked & REFUSED != 0 {
        return None;
    }
    let query_at = if asked & QUERY == 0 { None } else { origin.iter().position(|byte| *byte == b'?') };
    let path_len = query_at.unwrap_or(origin.len());
    (asked & SUSPECT == 0 || is_plain_path(&origin[..path_len])).then_some(path_len)
}

/// Whether a path, once decoded, has no dot segment and no control character, and all its escapes are whole.
/// Encoded separators separate here too: a reader that decodes first would see them.
fn is_plain_path(path: &[u8]) -> bool {
    let mut dots = None;
    let mut at = 0;
    while let Some(byte) = path.get(at) {
        let byte = if *byte == b'%' {
            let Some(decoded) = path.get(at + 1..at + 3).and_then(escape) else { return false };
            at += 2;
            decoded
        } else {
            *byte
        };
        at += 1;
        let ends_segment = matches!(byte, b'/' | b'\\' | b';');
        if byte.is_ascii_control() || (ends_segment && matches!(dots, Some(1 | 2))) {
            return false;
        }
        dots = match byte {
            b'/' | b'\\' => Some(0),
            b'.' => dots.map(|dots: usize| dots + 1),
            _ => None,
        };
    }
    !matches!(dots, Some(1 | 2))
}

/// The byte that two hexadecimal digits stand for.
fn escape(digits: &[u8]) -> Option<u8> {
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(nibble(digits[0])? * 16 + nibble(digits[1])?).ok()
}

#[cfg(test)]
mod tests {
    use super::{Target, method, overflows, target};
    use crate::wire::{MAX_TARGET_BYTES, RejectKind};

    fn path(text: &str) -> Option<String> {
        let Target { origin_at, path_end, .. } = target("GET", text.as_bytes()).ok()?;
        Some(text[origin_at..path_end].to_owned())
    }

    #[test]
    fn origin_and_absolute_targets_have_a_path() {
        for (text, want) in [
            ("/", "/"),
            ("/v1/models?", "/v1/models"),
            ("/v1/models?a=..&b=%", "/v1/models"),
            ("/v1/models/BAAI%2Fbge-m3", "/v1/models/BAAI%2Fbge-m3"),
            ("/v1/encode/org/model-1.5:profile", "/v1/encode/org/model-1.5:profile"),
            ("/.well-known/x", "/.well-known/x"),
            ("/...", "/..."),
            ("http://t/v1", "/v1"),
            ("HTTPS://t:1/v1?q", "/v1"),
        ] {
            assert_eq!(path(text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn what_readers_could_resolve_differently_is_refused() {
        for text in [
            "",
            "v1",
            "*",
            "//evil/v1",
            "/x/../v1",
            "/x/./v1",
            "/..",
            "/.",
            "/x/..;a=b/v1",
            "/%2e%2e/x",
            "/%2E/x",
            "/.%2e/x",
            "/x%2f..%2fv1",
            "/x%5c..%5cv1",
            "/x#f",
            "/x?y#f",
            "\\v1",
            "/v1\\x",
            "/v1?\\",
            "/%",
            "/%2",
            "/%zz",
            "/%00",
            "/%0d%0a",
            "/\u{e9}",
            "ht!tp://t/v1",
            "ftp://t/v1",
            "http:///v1",
            "http://t",
            "http://t?q",
            "http:/t/v1",
            "http://t//evil",
            "t:80",
        ] {
            assert_eq!(target("GET", text.as_bytes()), Err(RejectKind::Target), "{text}");
        }
        assert!(target("OPTIONS", b"*").is_ok());
    }

    #[test]
    fn long_targets_are_told_apart_from_broken_ones() {
        let long = [b"/".as_slice(), &[b'a'; MAX_TARGET_BYTES]].concat();
        assert_eq!(target("GET", &long), Err(RejectKind::TargetTooLong));
        assert!(target("GET", &long[..MAX_TARGET_BYTES]).is_ok());
        assert!(overflows(&long) && !overflows(&long[1..]));
        assert!(!overflows(&[b"/\x01".as_slice(), &long].concat()));
    }

    #[test]
    fn methods_are_upper_case_words() {
        assert!(method("DELETE").is_ok() && method("M-SEARCH").is_ok());
        assert_eq!(method("post"), Err(RejectKind::Method));
        assert_eq!(method("GET1"), Err(RejectKind::Method));
        assert_eq!(method("TRACE"), Err(RejectKind::MethodUnsupported));
    }
}
