//! What does a chunked request body hold, once its framing is taken off?

use super::{ChunkState, FrameError};

/// Takes the chunk framing off a request body, so that it can be held whole and sent on with a length.
/// Extensions and trailers are checked and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dechunk {
    state: ChunkState,
    decoded: usize,
}

/// Why a chunked request body was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DechunkError {
    /// The chunk grammar is broken, or one of its limits.
    #[error("the chunked body is malformed")]
    Malformed(#[from] FrameError),
    /// The content is larger than the limit. Known as soon as the size of the chunk that crosses it is.
    #[error("the chunked body is too large")]
    TooLarge,
}

impl Dechunk {
    /// Before the first chunk size.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: ChunkState::new(), decoded: 0 }
    }

    /// Takes the next bytes off the wire and appends their content to `body`. Says how many bytes were taken, and whether the body
    /// has ended; bytes after its end are not taken. `limit` bounds the content of the whole body, in bytes.
    ///
    /// # Errors
    /// The first fault. The body is of no use then and the connection cannot be framed any more.
    pub fn feed(&mut self, bytes: &[u8], body: &mut Vec<u8>, limit: usize) -> Result<(usize, bool), DechunkError> {
        let mut at = 0;
        while at < bytes.len() && !self.state.is_done() {
            let step = self.state.advance(&bytes[at..])?;
            let end = at + step.taken;
            if step.content {
                self.decoded += step.taken;
                body.extend_from_slice(&bytes[at..end]);
            } else if self.state.content_left() > limit.saturating_sub(self.decoded) as u64 {
                return Err(DechunkError::TooLarge);
            }
            at = end;
        }
        Ok((at, self.state.is_done()))
    }
}
