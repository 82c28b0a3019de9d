//! Is this a trailer section that may be read over?

use super::FrameError;
use crate::wire::headers::{fold, is_forbidden_in_trailers, is_token_byte, is_value_byte};

const MAX_LINES: u8 = 32;
const MAX_BYTES: u16 = 8 * 1024;
/// Longer than every name that is refused by its whole spelling; families are told by their first bytes.
const NAME_BYTES: usize = 24;

/// How far a trailer section has been read. Every line is checked and none is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    phase: Phase,
    lines: u8,
    bytes: u16,
    /// The first bytes of the name, folded.
    name: [u8; NAME_BYTES],
    name_len: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// At the start of a line.
    Line,
    Name,
    Value,
    ValueLf,
    /// After the CR of the empty line.
    EndLf,
}

impl Trailer {
    pub(super) const fn new() -> Self {
        Self { phase: Phase::Line, lines: 0, bytes: 0, name: [0; NAME_BYTES], name_len: 0 }
    }

    /// One byte; true when it was the last of the section.
    pub(super) fn step(&mut self, byte: u8) -> Result<bool, FrameError> {
        self.phase = match self.phase {
            Phase::EndLf if byte == b'\n' => return Ok(true),
            Phase::Line if byte == b'\r' => Phase::EndLf,
            _ if self.bytes == MAX_BYTES => return Err(FrameError::TrailersTooLarge),
            Phase::Line if self.lines == MAX_LINES => return Err(FrameError::TrailersTooLarge),
            Phase::Line if is_token_byte(byte) => {
                self.lines += 1;
                self.name_len = 0;
                self.push(byte);
                Phase::Name
            }
            Phase::Name if byte == b':' => {
                if is_forbidden_in_trailers(&self.name[..usize::from(self.name_len).min(NAME_BYTES)]) {
                    return Err(FrameError::ForbiddenTrailer);
                }
                Phase::Value
            }
            Phase::Name if is_token_byte(byte) => {
                self.push(byte);
                Phase::Name
            }
            Phase::Value if byte == b'\r' => Phase::ValueLf,
            Phase::Value if is_value_byte(byte) => Phase::Value,
            Phase::ValueLf if byte == b'\n' => Phase::Line,
            Phase::EndLf | Phase::ValueLf => return Err(FrameError::LineEnding),
            _ if byte == b'\n' => return Err(FrameError::LineEnding),
            Phase::Line | Phase::Name | Phase::Value => return Err(FrameError::TrailerSyntax),
        };
        self.bytes = self.bytes.saturating_add(1);
        Ok(false)
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.name.get_mut(usize::from(self.name_len)) {
            *slot = fold(byte);
            self.name_len += 1;
        }
    }
}
