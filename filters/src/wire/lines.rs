//! How do header lines pass from one buffer to another, less the ones that stay here?

use core::ops::Range;

use super::headers::{Known, known};

/// One header line as it stands in the head.
pub(super) struct Line<'b> {
    pub(super) known: Known,
    /// Without the spaces round it.
    pub(super) value: &'b [u8],
    /// Where the value begins in the head.
    pub(super) value_at: usize,
    /// The whole line with its CRLF, in the head.
    pub(super) span: Range<usize>,
}

impl Line<'_> {
    pub(super) fn value_span(&self) -> Range<usize> {
        self.value_at..self.value_at + self.value.len()
    }
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Drop,
    Keep,
}

/// The header lines of a complete head.
pub(super) struct Lines<'h, 'b> {
    /// The head with its empty line.
    pub(super) head: &'b [u8],
    /// Where the first header line begins.
    pub(super) first: usize,
    pub(super) headers: &'h [httparse::Header<'b>],
}

impl<'b> Lines<'_, 'b> {
    /// Judges every line that concerns the codec, in order, and appends the head from `from` on to `out`, less the lines that
    /// are dropped and the empty line. Kept neighbours are copied as one run, so they arrive byte for byte.
    ///
    /// Invariant: every byte of the head belongs to a line that ends in CRLF. The tokeniser also takes a bare LF for a line end;
    /// such a head ends here with `torn`.
    pub(super) fn rewrite<E>(
        &self,
        from: usize,
        out: &mut Vec<u8>,
        torn: E,
        mut judge: impl FnMut(&Line<'b>) -> Result<Fate, E>,
    ) -> Result<(), E> {
        let (mut run, mut at) = (from, self.first);
        if !self.head[..at].ends_with(b"\r\n") {
            return Err(torn);
        }
        for header in self.headers {
            let Some((value_at, end)) = self.line_end(at, header) else { return Err(torn) };
            let known = known(header.name.as_bytes());
            if known != Known::Other {
                let line = Line { known, value: header.value, value_at, span: at..end };
                if judge(&line)? == Fate::Drop {
                    out.extend_from_slice(&self.head[run..at]);
                    run = end;
                }
            }
            at = end;
        }
        if self.head[at..] != *b"\r\n" {
            return Err(torn);
        }
        out.extend_from_slice(&self.head[run..at]);
        Ok(())
    }

    /// Where the value of the line at `at` begins and where the line ends, if it ends in CRLF.
    fn line_end(&self, at: usize, header: &httparse::Header<'b>) -> Option<(usize, usize)> {
        let value_at = self.skip_spaces(at + header.name.len() + 1);
        let end = self.skip_spaces(value_at + header.value.len());
        self.head.get(end..)?.starts_with(b"\r\n").then_some((value_at, end + 2))
    }

    fn skip_spaces(&self, mut at: usize) -> usize {
        while matches!(self.head.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    }
}

/// Takes the lines that `drop` names out of `out`, whose header lines begin at `from`.
pub(crate) fn retain(out: &mut Vec<u8>, from: usize, mut drop: impl FnMut(&[u8]) -> bool) {
    let (mut read, mut write) = (from, from);
    while let Some(length) = out[read..].iter().position(|byte| *byte == b'\n') {
        let end = read + length + 1;
        let name = out[read..end].split(|byte| *byte == b':').next().unwrap_or_default();
        if !drop(name) {
            out.copy_within(read..end, write);
            write += end - read;
        }
        read = end;
    }
    out.truncate(write);
}
