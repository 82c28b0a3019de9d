//! How do both sides of the stage move bytes: one socket of either kind, its unread bytes, and HTTP/1.1 framing read leniently?

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd as _};
use std::path::PathBuf;

use nix::sys::socket::{Shutdown, getsockopt, shutdown, sockopt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::head::Head;

/// Where somebody listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket's path.
    Unix(PathBuf),
}

impl Address {
    /// The address as a `base_url` of the configuration writes it.
    pub fn url(&self) -> String {
        match self {
            Self::Tcp(address) => format!("http://{address}"),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// The address as a `listen` key of the configuration writes it.
    pub fn listen(&self) -> String {
        match self {
            Self::Tcp(address) => address.to_string(),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.listen())
    }
}

/// A connected socket of either kind.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) async fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Ok(Self::Tcp(stream))
            }
            Address::Unix(path) => UnixStream::connect(path).await.map(Self::Unix),
        }
    }

    async fn read_buf(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read_buf(buf).await,
            Self::Unix(stream) => stream.read_buf(buf).await,
        }
    }

    async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes).await,
            Self::Unix(stream) => stream.write_all(bytes).await,
        }
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown().await,
            Self::Unix(stream) => stream.shutdown().await,
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        match self {
            Self::Tcp(stream) => hang_up(stream),
            Self::Unix(stream) => hang_up(stream),
        }
    }
}

/// Ends what a socket is for, just before it is closed. A process that another thread is starting has a copy of it until its program runs,
/// and until then a close alone would not be seen by the peer.
pub(super) fn hang_up(socket: &impl AsFd) {
    let socket = socket.as_fd();
    // A reset comes from the close alone.
    let resets = getsockopt(&socket, sockopt::Linger).is_ok_and(|linger| linger.l_onoff != 0);
    if !resets {
        // A peer that has gone first is no fault.
        shutdown(socket.as_raw_fd(), Shutdown::Both).ok();
    }
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    Empty,
    /// After so many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// When the connection closes.
    Close,
}

/// One connection and what was read from it but not used yet.
#[derive(Debug)]
pub(crate) struct Pipe {
    stream: Stream,
    unread: Vec<u8>,
}

impl Pipe {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, unread: Vec::new() }
    }

    /// Reads some more bytes; `false` when the peer has finished writing. Cancelling it loses nothing.
    pub(crate) async fn fill(&mut self) -> io::Result<bool> {
        self.unread.reserve(16 * 1024);
        Ok(self.stream.read_buf(&mut self.unread).await? > 0)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    pub(crate) async fn half_close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }

    /// Closes so that the peer sees a reset (TCP) or an end (Unix).
    pub(crate) fn reset(self) {
        if let Stream::Tcp(stream) = &self.stream {
            // A socket that refuses the option is closed in the ordinary way.
            stream.set_zero_linger().ok();
        }
    }

    pub(crate) fn unread(&self) -> &[u8] {
        &self.unread
    }

    pub(crate) fn take_unread(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unread)
    }

    /// The next head; `None` when the peer closed before its first byte.
    pub(crate) async fn head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                let rest = self.unread.split_off(end + 4);
                return Ok(Some(Head::new(std::mem::replace(&mut self.unread, rest))));
            }
            if !self.fill().await? {
                return if self.unread.is_empty() { Ok(None) } else { Err(cut("the head ended in the middle")) };
            }
        }
    }

    /// The next part of a body; `None` at its end. `left` counts down a length.
    pub(crate) async fn part(&mut self, framing: Framing, left: &mut u64) -> io::Result<Option<Vec<u8>>> {
        match framing {
            Framing::Empty => Ok(None),
            Framing::Length(_) if *left == 0 => Ok(None),
            Framing::Length(_) => {
                if self.unread.is_empty() && !self.fill().await? {
                    return Err(cut("the body ended in the middle"));
                }
                let have = usize::try_from(*left).map_or(self.unread.len(), |left| left.min(self.unread.len()));
                *left -= have as u64;
                Ok(Some(self.unread.drain(..have).collect()))
            }
            Framing::Chunked => self.chunk().await,
            Framing::Close => {
                if self.unread.is_empty() && !self.fill().await? {
                    return Ok(None);
                }
                Ok(Some(self.take_unread()))
            }
        }
    }

    async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = self.line().await?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad("a chunk size is no number"))?;
        if size == 0 {
            while !self.line().await?.is_empty() {}
            return Ok(None);
        }
        while self.unread.len() < size + 2 {
            if !self.fill().await? {
                return Err(cut("a chunk ended in the middle"));
            }
        }
        let data: Vec<u8> = self.unread.drain(..size).collect();
        if !self.unread.starts_with(b"\r\n") {
            return Err(bad("no CRLF after a chunk"));
        }
        self.unread.drain(..2);
        Ok(Some(data))
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..end + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if !self.fill().await? {
                return Err(cut("the chunked body ended in the middle"));
            }
        }
    }
}

/// Where `needle` first stands in `hay`.
pub(crate) fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|window| window == needle)
}

fn cut(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, what)
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
