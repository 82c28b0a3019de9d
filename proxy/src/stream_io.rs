//! How are bytes read from and written to a stream inside one poll? The only place that owns the read scratch buffer.

use pingora_core::protocols::Stream;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const SCRATCH: usize = 64 * 1024;

thread_local! {
    /// One read buffer per worker thread: a connection that waits owns none.
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into_boxed_slice());
}

/// Reads once and hands the bytes to `take`; an empty slice is the end of the stream.
pub(crate) fn poll_read<R>(
    stream: &mut Stream,
    cx: &mut Context<'_>,
    take: impl FnOnce(&mut Stream, &mut Context<'_>, &[u8]) -> R,
) -> Poll<io::Result<R>> {
    READ.with_borrow_mut(|scratch| {
        let mut buffer = ReadBuf::new(scratch);
        ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(take(stream, cx, buffer.filled())))
    })
}

/// Reads once and appends to `into`; zero is the end of the stream.
pub(crate) fn poll_fill(stream: &mut Stream, cx: &mut Context<'_>, into: &mut Vec<u8>) -> Poll<io::Result<usize>> {
    poll_read(stream, cx, |_, _, bytes| {
        into.extend_from_slice(bytes);
        bytes.len()
    })
}

/// Writes `first` and `second` as one message from `*written` on, in one system call where it fits, and flushes.
///
/// The flush matters: without it a small answer stays in the write buffer of a TLS stream.
pub(crate) fn poll_write_two(
    stream: &mut Stream,
    cx: &mut Context<'_>,
    (first, second): (&[u8], &[u8]),
    written: &mut usize,
) -> Poll<io::Result<()>> {
    let total = first.len() + second.len();
    while *written < total {
        let count = if *written < first.len() && !second.is_empty() {
            let slices = [IoSlice::new(&first[*written..]), IoSlice::new(second)];
            ready!(Pin::new(&mut *stream).poll_write_vectored(cx, &slices))?
        } else {
            let rest = if *written < first.len() { &first[*written..] } else { &second[*written - first.len()..] };
            ready!(Pin::new(&mut *stream).poll_write(cx, rest))?
        };
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        *written += count;
    }
    Pin::new(stream).poll_flush(cx)
}

/// Whether an idle stream is still open and silent, as far as the runtime has heard: one read that must not be ready. It costs no system
/// call; what happened to the socket since the runtime last waited shows when it is used, as it would a moment later.
pub(crate) fn is_quiet(stream: &mut Stream) -> bool {
    let mut byte = [0];
    let mut buffer = ReadBuf::new(&mut byte);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    Pin::new(stream).poll_read(&mut cx, &mut buffer).is_pending()
}
