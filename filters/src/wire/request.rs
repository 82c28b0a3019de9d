//! What does a caller's head say, may it pass, and what does the engine get to see of it?

mod gather;
mod line;

use core::mem::MaybeUninit;
use core::ops::Range;

use super::gate::connection;
use super::lines::{Lines, retain};
use super::reject::{Reject, RejectKind};
use super::{MAX_HEAD_BYTES, MAX_HEADERS};
use gather::Gathered;
use line::RequestLine;

pub use super::gate::target::Method;

/// What the front of the buffer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The head has not ended yet, and nothing is wrong so far.
    NeedMore,
    /// A request for the fast lane.
    Fast(RequestHead),
    /// A request for the fast lane that asks to leave HTTP: a GET without a body, `Connection: upgrade` and one `Upgrade`
    /// protocol other than HTTP itself.
    Upgrade(RequestHead),
    /// An HTTP/1.0 request that passed the gate. `out` is empty: the full lane gets the bytes as they came.
    Http10(RequestHead),
    /// The 24 bytes that open an HTTP/2 connection.
    Http2Preface,
    /// Refused.
    Reject(Reject),
}

/// A head that passed the gate. Ranges are ranges of the parsed buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// How many bytes of the buffer the head took, leading line ends included. The body starts there.
    pub len: usize,
    /// The method.
    pub method: Method,
    /// The path, without query and without the authority of an absolute target.
    pub path: Range<usize>,
    /// The path with the query.
    pub target: Range<usize>,
    /// Where the body ends.
    pub framing: RequestFraming,
    /// Whether the caller's connection may carry another request.
    pub keep_alive: bool,
    /// Whether the caller waits for `100 Continue` before it sends the body. Never set without a body, nor in HTTP/1.0.
    pub expects_continue: bool,
    /// What the caller says about remote serving (contract section 3).
    pub remote: Remote,
    /// The value of Content-Type.
    pub content_type: Option<Range<usize>>,
    /// Whether a Content-Encoding other than `identity` stands on the body.
    pub content_encoded: bool,
}

/// Where the body of a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFraming {
    /// No body.
    None,
    /// After this many bytes.
    Length(u64),
    /// After the chunk of size zero and its trailers.
    Chunked,
}

/// What `X-SIE-Remote` says. Everything but absence and one line `forbid` is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remote {
    /// Nothing.
    #[default]
    Absent,
    /// Never serve this request remotely.
    Forbid,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What a caller of [`parse`] may append to `out` without another allocation: framing, upgrade lines.
const SPARE_BYTES: usize = 64;

/// Reads the request head at the front of `buf` and writes the engine's head to `out`, which is cleared first.
///
/// On [`Verdict::Fast`] and [`Verdict::Upgrade`], `out` holds the request line (HTTP/1.1, origin form) and the caller's header lines
/// as they stand, without framing and unterminated: append one of [`finish_fixed`], [`finish_none`] and [`finish_chunked`].
/// Left out are the headers of this hop and those that `Connection` nominates, Expect, Content-Length, and the names that are
/// Spillway's to write (product section 5). After any other verdict `out` is of no use.
///
/// Only the front is looked at: bytes after the head are the body or the next request.
pub fn parse(buf: &[u8], out: &mut Vec<u8>) -> Verdict {
    out.clear();
    if buf.starts_with(PREFACE) {
        return Verdict::Http2Preface;
    }
    if PREFACE.starts_with(buf) {
        return Verdict::NeedMore;
    }
    match skip_line_ends(buf) {
        Ok(None) => Verdict::NeedMore,
        Ok(Some(start)) => judge(buf, start, out),
        Err(kind) => Verdict::Reject(Reject { kind, path: None }),
    }
}

/// Ends a head whose body has `len` bytes.
pub fn finish_fixed(out: &mut Vec<u8>, len: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = len;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(b"Content-Length: ");
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n\r\n");
}

/// Ends a head without a body.
pub fn finish_none(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// Ends a head whose body follows in chunks.
pub fn finish_chunked(out: &mut Vec<u8>) {
    out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
}

/// Where the request line begins: RFC 9112 section 2.2 wants an empty line before it ignored, and two are.
fn skip_line_ends(buf: &[u8]) -> Result<Option<usize>, RejectKind> {
    let mut at = 0;
    while let Some(byte @ (b'\r' | b'\n')) = buf.get(at) {
        match (byte, buf.get(at + 1)) {
            (b'\r', Some(b'\n')) if at < 4 => at += 2,
            (b'\r', None) if at < 4 => return Ok(None),
            _ => return Err(RejectKind::RequestLine),
        }
    }
    Ok((at < buf.len()).then_some(at))
}

fn judge(buf: &[u8], start: usize, out: &mut Vec<u8>) -> Verdict {
    let window = &buf[start..buf.len().min(start + MAX_HEAD_BYTES)];
    let mut slots = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut []);
    let outcome = parsed.parse_with_uninit_headers(window, &mut slots);
    let line = match RequestLine::read(&parsed, window, outcome.is_err()) {
        Ok(line) => line,
        Err(kind) => return Verdict::Reject(Reject { kind, path: None }),
    };
    let path = line.as_ref().map(|line| shifted(line.path(), start));
    let kind = match (outcome, line) {
        (Ok(httparse::Status::Complete(len)), Some(line)) => {
            match complete(&window[..len], &parsed, &line, start, out) {
                Ok(verdict) => return verdict,
                Err(kind) => kind,
            }
        }
        (Err(error), _) => kind_of(error),
        (Ok(_), _) if window.len() == MAX_HEAD_BYTES => RejectKind::HeadTooLarge,
        (Ok(_), _) => return Verdict::NeedMore,
    };
    Verdict::Reject(Reject { kind, path })
}

const fn kind_of(error: httparse::Error) -> RejectKind {
    match error {
        httparse::Error::HeaderName | httparse::Error::HeaderValue => RejectKind::HeaderSyntax,
        httparse::Error::NewLine => RejectKind::LineEnding,
        httparse::Error::TooManyHeaders => RejectKind::TooManyHeaders,
        httparse::Error::Version => RejectKind::Version,
        httparse::Error::Status | httparse::Error::Token => RejectKind::RequestLine,
    }
}

/// Gates and rewrites a head that has ended; `start` is where it began in the parsed buffer.
fn complete(
    head: &[u8],
    parsed: &httparse::Request<'_, '_>,
    line: &RequestLine,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<Verdict, RejectKind> {
    let http10 = parsed.version == Some(0);
    out.reserve(head.len() + SPARE_BYTES);
    let run = line.begin(head, out);
    let mut gathered = Gathered::default();
    Lines { head, first: line.end(), headers: parsed.headers }
        .rewrite(run, out, RejectKind::LineEnding, |header| gathered.judge(header))?;
    gathered.check(http10, line.authority(head))?;
    let request = describe(&gathered, line, http10, start, head.len());
    if http10 {
        out.clear();
        return Ok(Verdict::Http10(request));
    }
    if gathered.nominates() {
        retain(out, line.engine_len(), |name| connection::is_nominated(parsed.headers, name));
    }
    let Some(upgrade) = gathered.upgrade(line.method) else { return Ok(Verdict::Fast(request)) };
    out.extend_from_slice(&head[upgrade]);
    out.extend_from_slice(b"Connection: Upgrade\r\n");
    Ok(Verdict::Upgrade(request))
}

fn describe(gathered: &Gathered<'_>, line: &RequestLine, http10: bool, start: usize, len: usize) -> RequestHead {
    RequestHead {
        len: start + len,
        method: line.method,
        path: shifted(line.path(), start),
        target: shifted(line.origin(), start),
        framing: gathered.framing(),
        keep_alive: gathered.keeps_alive(http10),
        expects_continue: gathered.expects_continue(http10),
        remote: gathered.remote,
        content_type: gathered.content_type.clone().map(|range| shifted(range, start)),
        content_encoded: gathered.content_encoded,
    }
}

const fn shifted(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
