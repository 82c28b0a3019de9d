//! Why is a request refused before anyone has seen it, and how does its sender mend it?

use core::fmt;
use core::ops::Range;

use super::chunk::DechunkError;

/// A request that goes nowhere. The connection is closed after the answer: where framing is in doubt the next byte has no meaning,
/// and where it is not, closing is the simplest safe thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// What is wrong.
    pub kind: RejectKind,
    /// The path without query, as a range of the buffer that was parsed, when the request line could be read.
    /// It tells the surface, and so the shape of the error body.
    pub path: Option<Range<usize>>,
}

/// What is wrong with a request head or its body framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectKind {
    /// An absolute target whose authority is not the Host.
    AbsoluteTarget,
    /// The chunked body breaks its grammar or its limits.
    BodyFraming,
    /// The body did not arrive in time. Found by the caller of this codec, which has the clock.
    BodyTimeout,
    /// The body is larger than the operator allows. Found by the caller of this codec for a body with a length.
    BodyTooLarge,
    /// Connection nominates a header that must arrive, or is not a list of names.
    Connection,
    /// Content-Length is repeated or not a plain number.
    ContentLength,
    /// An expectation other than a single `100-continue`.
    Expectation,
    /// The head did not arrive in time. Found by the caller of this codec, which has the clock.
    HeadTimeout,
    /// The head is longer than [`super::MAX_HEAD_BYTES`].
    HeadTooLarge,
    /// A header line that is not `name: value`, or that is folded.
    HeaderSyntax,
    /// Host is missing, repeated or malformed.
    Host,
    /// Content-Length and Transfer-Encoding in one request.
    LengthAndCoding,
    /// A line that does not end in CRLF.
    LineEnding,
    /// The method is not a short upper-case word.
    Method,
    /// A method that no engine here serves (CONNECT, TRACE).
    MethodUnsupported,
    /// `X-SIE-Remote` is anything but one line `forbid`.
    Remote,
    /// Content-Type is repeated.
    RepeatedContentType,
    /// The request line is not `METHOD target HTTP/1.1`.
    RequestLine,
    /// The target is in no form that is served here.
    Target,
    /// The target is longer than [`super::MAX_TARGET_BYTES`].
    TargetTooLong,
    /// More header lines than [`super::MAX_HEADERS`].
    TooManyHeaders,
    /// A transfer coding other than `chunked`.
    TransferCoding,
    /// Transfer-Encoding is repeated or stands in an HTTP/1.0 request.
    TransferEncoding,
    /// A header that this proxy acts on, spelled with underscores.
    Underscore,
    /// An HTTP version other than 1.0 and 1.1.
    Version,
}

impl RejectKind {
    /// The status of the answer.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::BodyTimeout | Self::HeadTimeout => 408,
            Self::BodyTooLarge => 413,
            Self::TargetTooLong => 414,
            Self::Expectation => 417,
            Self::HeadTooLarge | Self::TooManyHeaders => 431,
            Self::MethodUnsupported | Self::TransferCoding => 501,
            Self::Version => 505,
            _ => 400,
        }
    }

    /// One sentence for the caller: what is wrong and how to mend it. It never repeats what was sent.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::AbsoluteTarget => {
                "the authority in the request target must equal the Host header; send the path alone"
            }
            Self::BodyFraming => {
                "the chunked body is malformed; send each chunk as its size in hexadecimal, CRLF, its bytes and CRLF, and end with a chunk of size 0"
            }
            Self::BodyTimeout => {
                "the request body did not arrive in time; send the body that Content-Length announces without long pauses"
            }
            Self::BodyTooLarge => "the request body is too large; send fewer or smaller items in one request",
            Self::Connection => {
                "the Connection header may name only close, keep-alive, upgrade and extension headers of this hop; take the other names out of it"
            }
            Self::ContentLength => "Content-Length must stand once and be a plain decimal number",
            Self::Expectation => {
                "the only expectation served here is one Expect: 100-continue; take the Expect header out"
            }
            Self::HeadTimeout => {
                "the request head did not arrive in time; send the request line and all headers at once"
            }
            Self::HeadTooLarge => "the request head is larger than 64 KiB; send fewer or shorter headers",
            Self::HeaderSyntax => {
                "a header line is malformed; send name, colon and value on one line, without a space before the colon, control characters or folding"
            }
            Self::Host => "send exactly one Host header that holds a host name or address and at most a port",
            Self::LengthAndCoding => "a request has either Content-Length or Transfer-Encoding; send one of them",
            Self::LineEnding => {
                "a line of the request head does not end in CRLF; end every line with carriage return and line feed"
            }
            Self::Method => "the method must be an upper-case word such as GET or POST",
            Self::MethodUnsupported => {
                "this method is not served here; use GET, HEAD, POST or another method of the engine's API"
            }
            Self::Remote => "X-SIE-Remote is either absent or exactly one line with the value forbid",
            Self::RepeatedContentType => "Content-Type must stand at most once",
            Self::RequestLine => "the request line must be: method, one space, target, one space, HTTP/1.1, CRLF",
            Self::Target => {
                "the request target must be a path that starts with one slash, in visible ASCII, without fragment, backslash or dot segments"
            }
            Self::TargetTooLong => "the request target is longer than 16 KiB; move parameters into the body",
            Self::TooManyHeaders => "the request has more than 100 headers; send fewer",
            Self::TransferCoding => {
                "the only transfer coding served here is chunked; send the body with it or with Content-Length"
            }
            Self::TransferEncoding => "Transfer-Encoding must stand once, in an HTTP/1.1 request",
            Self::Underscore => "a framing or content header is spelled with underscores; spell it with hyphens",
            Self::Version => "this HTTP version is not served here; speak HTTP/1.1",
        }
    }
}

impl fmt::Display for RejectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl From<DechunkError> for RejectKind {
    fn from(error: DechunkError) -> Self {
        match error {
            DechunkError::Malformed(_) => Self::BodyFraming,
            DechunkError::TooLarge => Self::BodyTooLarge,
        }
    }
}
