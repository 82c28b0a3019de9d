//! A stream whose first bytes were read already: what pingora gets of a connection.

use async_trait::async_trait;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::tls::SslDigest;
use pingora_core::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream, TimingDigest,
    UniqueID, UniqueIDType,
};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// First what was read, then the stream.
pub(super) struct Replay {
    read: Vec<u8>,
    at: usize,
    stream: Stream,
}

/// pingora's streams must print; a caller's bytes must not.
impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("waiting", &(self.read.len() - self.at)).finish_non_exhaustive()
    }
}

/// What opens an HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Most bytes of one read. Invariant: together with what is looked at of a body they fit the 64 KiB that pingora replays.
const MOST_READ: usize = 16 * 1024;

impl Replay {
    pub(super) const fn new(read: Vec<u8>, stream: Stream) -> Self {
        Self { read, at: 0, stream }
    }

    /// Waits for the first bytes: as many as tell HTTP/2 from HTTP/1.
    pub(super) async fn begin(&mut self) -> io::Result<()> {
        while self.read.is_empty() || self.read.len() < PREFACE.len() && PREFACE.starts_with(&self.read) {
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

impl AsyncRead for Replay {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let rest = &this.read[this.at..];
        if rest.is_empty() {
            let most = buffer.remaining().min(MOST_READ);
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut part))?;
            let count = part.filled().len();
            buffer.advance(count);
            return Poll::Ready(Ok(()));
        }
        let count = rest.len().min(buffer.remaining()).min(MOST_READ);
        buffer.put_slice(&rest[..count]);
        this.at += count;
        if this.at == this.read.len() {
            (this.read, this.at) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Replay {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[async_trait]
impl Shutdown for Replay {
    async fn shutdown(&mut self) {
        Shutdown::shutdown(&mut *self.stream).await;
    }
}

impl UniqueID for Replay {
    fn id(&self) -> UniqueIDType {
        self.stream.id()
    }
}

impl Ssl for Replay {
    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.stream.get_ssl_digest()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.stream.selected_alpn_proto()
    }
}

impl GetTimingDigest for Replay {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.stream.get_timing_digest()
    }
}

impl GetProxyDigest for Replay {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.stream.get_proxy_digest()
    }
}

impl GetSocketDigest for Replay {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.stream.get_socket_digest()
    }
}

#[async_trait]
impl Peek for Replay {
    /// The first bytes as far as [`Replay::begin`] has read them, and zeros: enough to see whether they are the preface.
    async fn try_peek(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let rest = &self.read[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        buffer[count..].fill(0);
        Ok(true)
    }
}
