//! What goes over one connection? Raw HTTP/1.1 on any stream, for both ends of a test.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

/// How long anything may take before a test says that it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fails loudly when `step` hangs.
pub(crate) async fn within<T>(what: impl Debug, step: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, step).await.unwrap_or_else(|_| panic!("waited in vain for {what:?}"))
}

pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Where somebody listens.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Place {
    pub(crate) async fn connect(&self) -> io::Result<Box<dyn Wire>> {
        Ok(match self {
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Self::Unix(path) => Box::new(UnixStream::connect(path).await?),
        })
    }

    /// As an engine's `base_url` has it.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Tcp(address) => format!("http://{address}"),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }
}

/// The head of a request or an answer, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Head(pub(crate) String);

impl Head {
    pub(crate) fn start(&self) -> &str {
        self.0.lines().next().unwrap_or_default()
    }

    pub(crate) fn status(&self) -> u16 {
        self.start().split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{self:?}"))
    }

    pub(crate) fn path(&self) -> &str {
        self.start().split(' ').nth(1).unwrap_or_default()
    }

    /// Every value of a field.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.0.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }

    /// The only value of a field.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        let all = self.all(name);
        assert!(all.len() <= 1, "{name} stands more than once: {self:?}");
        all.first().copied()
    }

    pub(crate) fn is_chunked(&self) -> bool {
        self.one("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
    }
}

/// One connection, from either end.
pub(crate) struct Conn {
    pub(crate) wire: Box<dyn Wire>,
    pub(crate) unread: Vec<u8>,
}

impl Conn {
    pub(crate) fn new(wire: Box<dyn Wire>) -> Self {
        Self { wire, unread: Vec::new() }
    }

    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.wire.write_all(bytes).await?;
        self.wire.flush().await
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        within("bytes to be taken", self.try_send(bytes.as_ref())).await.expect("the other side takes bytes");
    }

    /// Reads once; false at the end, however it came.
    async fn fill(&mut self) -> bool {
        matches!(within("bytes", self.wire.read_buf(&mut self.unread)).await, Ok(count) if count > 0)
    }

    /// The next head; none when the connection ends before one began.
    pub(crate) async fn next_head(&mut self) -> Option<Head> {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                let head = self.unread.drain(..end + 4).collect();
                return Some(Head(String::from_utf8(head).expect("heads are text")));
            }
            if !self.fill().await {
                assert!(self.unread.is_empty(), "cut in a head: {:?}", String::from_utf8_lossy(&self.unread));
                return None;
            }
        }
    }

    pub(crate) async fn head(&mut self) -> Head {
        self.next_head().await.expect("a head, not the end of the connection")
    }

    /// Exactly so many bytes.
    pub(crate) async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(self.fill().await, "the connection ended after {} of {count} bytes", self.unread.len());
        }
        let rest = self.unread.split_off(count);
        std::mem::replace(&mut self.unread, rest)
    }

    /// Everything until the connection ends.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.fill().await {}
        std::mem::take(&mut self.unread)
    }

    /// Whether the other side closes without another byte.
    pub(crate) async fn ends(&mut self) -> bool {
        self.rest().await.is_empty()
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..end + 2).collect();
                return String::from_utf8_lossy(&line[..end]).into_owned();
            }
            assert!(self.fill().await, "cut in a line");
        }
    }

    /// One chunk; empty is the last.
    pub(crate) async fn chunk(&mut self) -> Vec<u8> {
        let size = self.line().await;
        let size = size.split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size, 16).unwrap_or_else(|_| panic!("a chunk size, not {size:?}"));
        let data = self.exactly(size).await;
        assert_eq!(self.line().await, "", "a chunk ends with a line end");
        data
    }

    /// The body that belongs to a head; an answer without framing ends with the connection.
    pub(crate) async fn body(&mut self, head: &Head) -> Vec<u8> {
        if head.is_chunked() {
            let mut body = Vec::new();
            loop {
                let chunk = self.chunk().await;
                if chunk.is_empty() {
                    return body;
                }
                body.extend(chunk);
            }
        }
        match head.one("content-length") {
            Some(length) => self.exactly(length.parse().expect("a length")).await,
            None if head.start().starts_with("HTTP/") => self.rest().await,
            None => Vec::new(),
        }
    }

    /// Sends a request and reads its whole answer.
    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> (Head, Vec<u8>) {
        self.send(request).await;
        let head = self.head().await;
        let body = self.body(&head).await;
        (head, body)
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A request without a body.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: front.test\r\n\r\n")
}

/// A request with a JSON body.
pub(crate) fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: front.test\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// The body of a chat call.
pub(crate) fn chat(model: &str) -> String {
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hello"}}]}}"#)
}

/// Bytes in which a lost, doubled or moved piece shows.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut bytes = Vec::with_capacity(length + 4);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
