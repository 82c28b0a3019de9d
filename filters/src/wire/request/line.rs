//! What does the request line say, as far as it has arrived?

use core::ops::Range;

use super::Method;
use crate::wire::MAX_METHOD_BYTES;
use crate::wire::gate::target::{self, Target};
use crate::wire::reject::RejectKind;

/// The request line once it is known up to the target.
pub(super) struct RequestLine {
    pub(super) method: Method,
    target: Target,
    /// The target in the head.
    span: Range<usize>,
}

impl RequestLine {
    /// Judges method and target as soon as the tokeniser has them, whatever comes after them, so that a prefix and the whole head
    /// are refused for the same reason. `failed` says that the tokeniser has given up.
    pub(super) fn read(
        parsed: &httparse::Request<'_, '_>,
        window: &[u8],
        failed: bool,
    ) -> Result<Option<Self>, RejectKind> {
        let Some(word) = parsed.method else {
            let broken = failed || window.len() > MAX_METHOD_BYTES;
            return if broken { Err(RejectKind::Method) } else { Ok(None) };
        };
        let method = target::method(word)?;
        let at = word.len() + 1;
        let Some(text) = parsed.path else {
            return match failed {
                _ if target::overflows(&window[at..]) => Err(RejectKind::TargetTooLong),
                true => Err(RejectKind::Target),
                false => Ok(None),
            };
        };
        let target = target::target(word, text.as_bytes())?;
        Ok(Some(Self { method, target, span: at..at + text.len() }))
    }

    /// Appends the start of the engine's line, if it cannot be copied as it stands, and says where in the head copying begins.
    pub(super) fn begin(&self, head: &[u8], out: &mut Vec<u8>) -> usize {
        if self.target.origin_at == 0 {
            return 0;
        }
        out.extend_from_slice(&head[..self.span.start]);
        self.origin().start
    }

    /// Where the first header line begins in the head.
    pub(super) const fn end(&self) -> usize {
        self.span.end + b" HTTP/1.1\r\n".len()
    }

    /// How long the engine's line is.
    pub(super) const fn engine_len(&self) -> usize {
        self.end() - self.target.origin_at
    }

    /// The authority of an absolute target.
    pub(super) fn authority<'b>(&self, head: &'b [u8]) -> Option<&'b [u8]> {
        self.target.authority.as_ref().map(|range| &head[self.span.start + range.start..self.span.start + range.end])
    }

    /// The path and query, in the head.
    pub(super) const fn origin(&self) -> Range<usize> {
        self.span.start + self.target.origin_at..self.span.end
    }

    /// The path alone, in the head.
    pub(super) const fn path(&self) -> Range<usize> {
        self.span.start + self.target.origin_at..self.span.start + self.target.path_end
    }
}
