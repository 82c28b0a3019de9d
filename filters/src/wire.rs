//! HTTP/1.1 on bytes: what does this head say, what may pass on, and where does the body end?
//!
//! Pure: bytes in, verdict out. The strict gate is part of the parse: what two readers could understand differently is refused
//! before anything is sent anywhere. One pass parses, gates and rewrites; the only allocation is the growth of the caller's buffer.
//!
//! [`request::parse`] reads the caller's head and writes the engine's; [`response::parse`] does the same in the other direction;
//! [`chunk`] finds the end of a body. All of them may be called again with more bytes: a prefix never gets another verdict
//! than [`request::Verdict::NeedMore`] or the final one.
//!
//! Bytes above 0x7F in a header value are opaque and pass as they stand, except in the headers that this codec acts on, where
//! they are refused. Header lines that pass keep their order, case and spacing.

pub mod chunk;
mod gate;
mod headers;
pub(crate) mod lines;
mod reject;
pub mod request;
pub mod response;

pub use reject::{Reject, RejectKind};

/// The longest head, in bytes, from the first byte of its first line to its empty line (leading line ends not counted).
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The most header lines in one head.
pub const MAX_HEADERS: usize = 100;
/// The longest request target, in bytes.
pub const MAX_TARGET_BYTES: usize = 16 * 1024;
/// The longest method, in bytes.
pub const MAX_METHOD_BYTES: usize = 32;
