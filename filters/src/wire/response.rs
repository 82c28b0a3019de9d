//! What does an engine's head say, where does its answer end, and what does the caller get to see of it?

use core::mem::MaybeUninit;
use core::ops::Range;

use super::chunk::{ChunkState, Framing};
use super::gate::connection::{self, Choice};
use super::headers::{Known, decimal};
use super::lines::{Fate, Line, Lines, retain};
use super::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::names;

/// What the front of the buffer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseVerdict {
    /// The head has not ended yet, and nothing is wrong so far.
    NeedMore,
    /// An interim answer other than 101: skip `len` bytes and parse again.
    Informational {
        /// How many bytes the interim head took.
        len: usize,
        /// 100 to 199.
        status: u16,
    },
    /// The final answer, or 101 Switching Protocols.
    Head(ResponseHead),
    /// Not an answer that can be passed on: the engine's connection is of no more use.
    Bad(ResponseFault),
}

/// A head that passed. Ranges are ranges of the parsed buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// How many bytes of the buffer the head took. The body starts there.
    pub len: usize,
    /// 101, or 200 to 999.
    pub status: u16,
    /// Where the body ends.
    pub framing: Framing,
    /// Whether the engine's connection may be used again once the body is complete.
    pub keep_alive: bool,
    /// The value of Content-Type.
    pub content_type: Option<Range<usize>>,
    /// Whether the body is an event stream (`text/event-stream`).
    pub event_stream: bool,
    /// Whether the engine says that it passed the call on (`X-SIE-Served-By: remote`, which the caller does not get to see).
    pub served_remotely: bool,
}

/// What is wrong with an engine's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseFault {
    /// 1xx and 204 end with their head (RFC 9112 section 6.3); this one announces a body.
    #[error("a status without a body announces one")]
    BodyAnnounced,
    /// Content-Length is repeated or not a plain number.
    #[error("Content-Length is repeated or not a number")]
    ContentLength,
    /// The head is longer than [`super::MAX_HEAD_BYTES`].
    #[error("the head is larger than 64 KiB")]
    HeadTooLarge,
    /// A header line that is not `name: value`, or that is folded.
    #[error("a header line is malformed")]
    HeaderSyntax,
    /// Content-Length and Transfer-Encoding in one answer.
    #[error("Content-Length and Transfer-Encoding in one answer")]
    LengthAndCoding,
    /// A line that does not end in CRLF.
    #[error("a line does not end in CRLF")]
    LineEnding,
    /// Not a status line, or a status outside 100 to 999.
    #[error("the status line is malformed")]
    StatusLine,
    /// More header lines than [`super::MAX_HEADERS`].
    #[error("more than 100 headers")]
    TooManyHeaders,
    /// Transfer-Encoding is repeated, not `chunked`, or stands in an HTTP/1.0 answer.
    #[error("Transfer-Encoding is repeated, unknown or out of place")]
    TransferEncoding,
    /// A header this codec acts on, spelled with underscores.
    #[error("a framing or content header is spelled with underscores")]
    Underscore,
    /// An HTTP version other than 1.0 and 1.1.
    #[error("not an HTTP/1.1 answer")]
    Version,
}

/// What every answer is passed on as.
const VERSION: &[u8] = b"HTTP/1.1";
/// What a caller of [`parse`] may append to `out` without another allocation: disclosure, Connection, the empty line.
const SPARE_BYTES: usize = 192;

/// Reads the answer's head at the front of `buf` and writes the caller's head to `out`, which is cleared first.
///
/// On [`ResponseVerdict::Head`], `out` holds the status line (as HTTP/1.1, code and reason kept) and the engine's header lines as they
/// stand, framing included, unterminated: append disclosure, `Connection` and the empty line. Left out are the headers of
/// this hop, those that `Connection` nominates unless the answer needs them, and the names that are Spillway's to write
/// (product section 5). A 101 keeps its Connection and Upgrade lines. After any other verdict `out` is of no use.
pub fn parse(buf: &[u8], request_was_head: bool, out: &mut Vec<u8>) -> ResponseVerdict {
    out.clear();
    let window = &buf[..buf.len().min(MAX_HEAD_BYTES)];
    if matches!(window.first(), Some(b'\r' | b'\n')) {
        return ResponseVerdict::Bad(ResponseFault::StatusLine);
    }
    let mut slots = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut parsed = httparse::Response::new(&mut []);
    let outcome = httparse::ParserConfig::default().parse_response_with_uninit_headers(&mut parsed, window, &mut slots);
    match outcome {
        Ok(httparse::Status::Complete(len)) => {
            complete(&window[..len], &parsed, request_was_head, out).unwrap_or_else(ResponseVerdict::Bad)
        }
        Ok(httparse::Status::Partial) if window.len() == MAX_HEAD_BYTES => {
            ResponseVerdict::Bad(ResponseFault::HeadTooLarge)
        }
        Ok(httparse::Status::Partial) => ResponseVerdict::NeedMore,
        Err(error) => ResponseVerdict::Bad(fault_of(error)),
    }
}

const fn fault_of(error: httparse::Error) -> ResponseFault {
    match error {
        httparse::Error::HeaderName | httparse::Error::HeaderValue => ResponseFault::HeaderSyntax,
        httparse::Error::NewLine => ResponseFault::LineEnding,
        httparse::Error::TooManyHeaders => ResponseFault::TooManyHeaders,
        httparse::Error::Version => ResponseFault::Version,
        httparse::Error::Status | httparse::Error::Token => ResponseFault::StatusLine,
    }
}

/// What the header lines say. Ranges are ranges of the head.
#[derive(Default)]
struct Gathered {
    chunked: bool,
    close: bool,
    content_type: Option<Range<usize>>,
    event_stream: bool,
    length: Option<u64>,
    nominates: bool,
    served_remotely: bool,
    switches: bool,
}

/// Gates and rewrites a head that has ended.
fn complete(
    head: &[u8],
    parsed: &httparse::Response<'_, '_>,
    request_was_head: bool,
    out: &mut Vec<u8>,
) -> Result<ResponseVerdict, ResponseFault> {
    let status = parsed.code.filter(|status| *status >= 100).ok_or(ResponseFault::StatusLine)?;
    let http10 = parsed.version == Some(0);
    let first = head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    out.reserve(head.len() + SPARE_BYTES);
    out.extend_from_slice(VERSION);
    let mut gathered = Gathered { switches: status == 101, ..Gathered::default() };
    Lines { head, first, headers: parsed.headers }
        .rewrite(VERSION.len(), out, ResponseFault::LineEnding, |line| gathered.judge(line))?;
    gathered.check(status, http10)?;
    if gathered.nominates && !gathered.switches {
        retain(out, first, |name| connection::is_nominated(parsed.headers, name));
    }
    if status < 200 && status != 101 {
        return Ok(ResponseVerdict::Informational { len: head.len(), status });
    }
    let framing = gathered.framing(status, request_was_head);
    Ok(ResponseVerdict::Head(ResponseHead {
        len: head.len(),
        status,
        framing,
        keep_alive: !(gathered.close || http10 || gathered.switches || framing == Framing::UntilClose),
        content_type: gathered.content_type,
        event_stream: gathered.event_stream,
        served_remotely: gathered.served_remotely,
    }))
}

impl Gathered {
    /// Takes one line in; says whether the caller sees it.
    fn judge(&mut self, line: &Line<'_>) -> Result<Fate, ResponseFault> {
        match line.known {
            Known::Disclosure => {
                // Of these names Served-By says so, or Upstream, for one of that name: it was asked then too.
                self.served_remotely |= line.value.eq_ignore_ascii_case(b"remote");
                Ok(Fate::Drop)
            }
            Known::HopByHop => Ok(Fate::Drop),
            Known::Connection => Ok(self.connection(line.value)),
            Known::ContentLength => {
                let length = decimal(line.value).ok_or(ResponseFault::ContentLength)?;
                self.length.replace(length).map_or(Ok(Fate::Keep), |_| Err(ResponseFault::ContentLength))
            }
            Known::ContentType => {
                if self.content_type.is_none() {
                    self.content_type = Some(line.value_span());
                    self.event_stream = is_event_stream(line.value);
                }
                Ok(Fate::Keep)
            }
            Known::TransferEncoding if self.chunked || !line.value.eq_ignore_ascii_case(b"chunked") => {
                Err(ResponseFault::TransferEncoding)
            }
            Known::TransferEncoding => {
                self.chunked = true;
                Ok(Fate::Keep)
            }
            Known::Underscored => Err(ResponseFault::Underscore),
            Known::Upgrade if !self.switches => Ok(Fate::Drop),
            Known::ContentEncoding
            | Known::Expect
            | Known::Host
            | Known::Other
            | Known::Remote
            | Known::UnderscoredRemote
            | Known::Upgrade => Ok(Fate::Keep),
        }
    }

    fn connection(&mut self, value: &[u8]) -> Fate {
        for choice in connection::choices(value) {
            self.close |= choice == Choice::Close;
            self.nominates |= choice == Choice::Extension;
        }
        if self.switches { Fate::Keep } else { Fate::Drop }
    }

    fn check(&self, status: u16, http10: bool) -> Result<(), ResponseFault> {
        if self.chunked && self.length.is_some() {
            return Err(ResponseFault::LengthAndCoding);
        }
        if self.chunked && http10 {
            return Err(ResponseFault::TransferEncoding);
        }
        let ends_with_head = status < 200 || status == 204;
        if ends_with_head && (self.chunked || matches!(self.length, Some(1..))) {
            return Err(ResponseFault::BodyAnnounced);
        }
        Ok(())
    }

    fn framing(&self, status: u16, request_was_head: bool) -> Framing {
        if request_was_head || status < 200 || matches!(status, 204 | 304) {
            Framing::Done
        } else if self.chunked {
            Framing::Chunked(ChunkState::new())
        } else {
            self.length.map_or(Framing::UntilClose, Framing::Length)
        }
    }
}

/// Whether a Content-Type is that of an event stream, whatever its parameters.
fn is_event_stream(value: &[u8]) -> bool {
    let media_type = value.split(|byte| *byte == b';').next().unwrap_or_default();
    media_type.trim_ascii().eq_ignore_ascii_case(names::EVENT_STREAM.as_bytes())
}
