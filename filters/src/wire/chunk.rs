//! Where does a body end?

mod dechunk;
mod extension;
mod state;
mod trailer;

pub use dechunk::{Dechunk, DechunkError};
pub use state::{ChunkState, Owed};

use super::request::RequestFraming;

/// How the end of a body is found, and how far it has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// It has no bytes.
    Done,
    /// This many bytes are still to come.
    Length(u64),
    /// It ends with the chunk of size zero and its trailers.
    Chunked(ChunkState),
    /// It ends with the connection.
    UntilClose,
}

/// What is wrong with a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The bytes of a chunk are not followed by CRLF: its size was wrong.
    #[error("a chunk is not followed by CRLF")]
    ChunkEnd,
    /// A chunk extension breaks its grammar, or extensions outweigh the content.
    #[error("a chunk extension is malformed or too long")]
    ChunkExtension,
    /// A chunk size that is not 1 to 16 hexadecimal digits.
    #[error("a chunk size is not 1 to 16 hexadecimal digits")]
    ChunkSize,
    /// A trailer that frames, routes or authenticates the message: it comes too late to be true.
    #[error("a trailer carries a name that only a head may carry")]
    ForbiddenTrailer,
    /// A line of the framing does not end in CRLF.
    #[error("a line of the chunk framing does not end in CRLF")]
    LineEnding,
    /// A trailer line that is not `name: value`.
    #[error("a trailer line is malformed")]
    TrailerSyntax,
    /// More than 32 trailer lines or 8 KiB of them.
    #[error("the trailer section is too long")]
    TrailersTooLarge,
}

impl Framing {
    /// Takes the next bytes off the wire; says how many of them belong to this body. The rest is the next message.
    /// Chunk framing counts as part of the body: a relay passes the bytes on as they are.
    ///
    /// # Errors
    /// The first byte that breaks the chunk grammar or its limits. Nothing of `bytes` may be passed on then.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, FrameError> {
        match self {
            Self::Done => Ok(0),
            Self::Length(left) => {
                let taken = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *left -= taken as u64;
                Ok(taken)
            }
            Self::Chunked(state) => {
                let mut at = 0;
                while at < bytes.len() && !state.is_done() {
                    at += state.advance(&bytes[at..])?.taken;
                }
                Ok(at)
            }
            Self::UntilClose => Ok(bytes.len()),
        }
    }

    /// Whether the last byte of the body has been fed. Never true for a body that ends with the connection.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        match self {
            Self::Done | Self::Length(0) => true,
            Self::Chunked(state) => state.is_done(),
            Self::Length(_) | Self::UntilClose => false,
        }
    }

    /// Whether the end of the connection is a proper end of this body, and the only one.
    #[must_use]
    pub const fn until_close(&self) -> bool {
        matches!(self, Self::UntilClose)
    }
}

/// For a request whose body is relayed as it comes, unheld.
impl From<RequestFraming> for Framing {
    fn from(framing: RequestFraming) -> Self {
        match framing {
            RequestFraming::None => Self::Done,
            RequestFraming::Length(length) => Self::Length(length),
            RequestFraming::Chunked => Self::Chunked(ChunkState::new()),
        }
    }
}
