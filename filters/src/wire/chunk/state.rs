//! Which part of a chunked body does the next byte belong to?

use super::FrameError;
use super::extension::{Extension, Next};
use super::trailer::Trailer;

/// The most hexadecimal digits in a chunk size, leading zeros included. Sixteen fill 64 bits and cannot overflow.
const MAX_SIZE_DIGITS: u8 = 16;
/// The longest extension of one chunk, in bytes.
const MAX_EXTENSION_BYTES: u16 = 1024;
/// How many extension bytes a body may carry beyond its content. A peer that sends more frames than content wastes our time.
const MAX_EXTENSION_DEBT: u32 = 16 * 1024;

/// How far a chunked body has been read. Small and flat: it lives in the relay of every streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkState {
    phase: Phase,
    /// The size of the chunk whose head is being read; in its content, what is left of it.
    size: u64,
    digits: u8,
    extension: u16,
    debt: u32,
    trailer: Trailer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Size,
    Extension(Extension),
    SizeLf,
    Content,
    ContentCr,
    ContentLf,
    Trailer,
    Done,
}

/// What is missing of a chunk that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// So many bytes of content.
    pub content: u64,
    /// And then this framing.
    pub then: &'static str,
}

/// One step of [`ChunkState::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// How many bytes were taken.
    pub(super) taken: usize,
    /// Whether they are content; if not, they are framing.
    pub(super) content: bool,
}

impl ChunkState {
    /// Before the first chunk size.
    #[must_use]
    pub const fn new() -> Self {
        Self { phase: Phase::Size, size: 0, digits: 0, extension: 0, debt: 0, trailer: Trailer::new() }
    }

    /// Whether the body has ended.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// What a sender owes before another chunk may follow; none in the middle of a chunk's head and in the trailers, where only the
    /// sender itself could go on.
    #[must_use]
    pub const fn owed(&self) -> Option<Owed> {
        match self.phase {
            Phase::Size if self.digits == 0 => Some(Owed { content: 0, then: "" }),
            Phase::Content => Some(Owed { content: self.size, then: "\r\n" }),
            Phase::ContentCr => Some(Owed { content: 0, then: "\r\n" }),
            Phase::ContentLf => Some(Owed { content: 0, then: "\n" }),
            Phase::Size | Phase::Extension(_) | Phase::SizeLf | Phase::Trailer | Phase::Done => None,
        }
    }

    /// What is left of the chunk whose head has been read; 0 outside content.
    pub(super) const fn content_left(&self) -> u64 {
        if matches!(self.phase, Phase::Content) { self.size } else { 0 }
    }

    /// Takes a run of content or a run of framing off the front of `bytes`.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Result<Step, FrameError> {
        if self.phase == Phase::Content {
            let taken = usize::try_from(self.size).map_or(bytes.len(), |left| left.min(bytes.len()));
            self.size -= taken as u64;
            if self.size == 0 {
                self.phase = Phase::ContentCr;
            }
            return Ok(Step { taken, content: true });
        }
        let mut taken = 0;
        for byte in bytes {
            self.step(*byte)?;
            taken += 1;
            if matches!(self.phase, Phase::Content | Phase::Done) {
                break;
            }
        }
        Ok(Step { taken, content: false })
    }

    /// One byte of framing.
    fn step(&mut self, byte: u8) -> Result<(), FrameError> {
        self.phase = match self.phase {
            Phase::Size => return self.size_byte(byte),
            Phase::Extension(extension) => {
                if self.extension == MAX_EXTENSION_BYTES {
                    return Err(FrameError::ChunkExtension);
                }
                self.extension += 1;
                match extension.step(byte).ok_or(FrameError::ChunkExtension)? {
                    Next::Extension(next) => Phase::Extension(next),
                    Next::LineEnd => Phase::SizeLf,
                }
            }
            Phase::SizeLf if byte == b'\n' => return self.begin_chunk(),
            Phase::ContentCr if byte == b'\r' => Phase::ContentLf,
            Phase::ContentLf if byte == b'\n' => {
                (self.digits, self.extension) = (0, 0);
                Phase::Size
            }
            Phase::ContentCr | Phase::ContentLf => return Err(FrameError::ChunkEnd),
            Phase::SizeLf => return Err(FrameError::LineEnding),
            Phase::Trailer if self.trailer.step(byte)? => Phase::Done,
            Phase::Trailer => Phase::Trailer,
            // Invariant: `advance` takes content in runs and stops when the body is done.
            Phase::Content | Phase::Done => return Ok(()),
        };
        Ok(())
    }

    fn size_byte(&mut self, byte: u8) -> Result<(), FrameError> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            if self.digits == MAX_SIZE_DIGITS {
                return Err(FrameError::ChunkSize);
            }
            self.digits += 1;
            self.size = self.size << 4 | u64::from(digit);
            return Ok(());
        }
        self.phase = match byte {
            _ if self.digits == 0 => return Err(FrameError::ChunkSize),
            b'\r' => Phase::SizeLf,
            b';' => Phase::Extension(Extension::Begin),
            b' ' | b'\t' => Phase::Extension(Extension::Gap),
            b'\n' => return Err(FrameError::LineEnding),
            _ => return Err(FrameError::ChunkSize),
        };
        Ok(())
    }

    /// The line of the chunk size has ended: content pays for extensions, then it follows, unless it is the last chunk.
    fn begin_chunk(&mut self) -> Result<(), FrameError> {
        let paid = u32::try_from(self.size).unwrap_or(u32::MAX);
        self.debt = (self.debt + u32::from(self.extension)).saturating_sub(paid);
        if self.debt > MAX_EXTENSION_DEBT {
            return Err(FrameError::ChunkExtension);
        }
        self.phase = if self.size == 0 { Phase::Trailer } else { Phase::Content };
        Ok(())
    }
}

impl Default for ChunkState {
    fn default() -> Self {
        Self::new()
    }
}
