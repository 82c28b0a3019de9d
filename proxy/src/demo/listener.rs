//! How do the demo's engine and upstream speak HTTP/1.1? One small server for both.

use spillway_filters::error_answer::reason;
use spillway_filters::names;
use spillway_filters::wire::chunk::Dechunk;
use spillway_filters::wire::request::{self, Method, RequestFraming, RequestHead, Verdict};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Most bytes of a body. Nobody sends the demo more.
const MOST_BODY_BYTES: usize = 1024 * 1024;
/// Between two events of a stream, as if a model had to think of the next word.
const PAUSE: Duration = Duration::from_millis(60);
/// After the system had no connection to give.
const BREATH: Duration = Duration::from_millis(50);

/// One request, read whole.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
    /// Whether an Authorization header stands on it.
    pub(super) has_key: bool,
}

/// One answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// The status line and the header lines, unterminated.
    pub(super) head: Vec<u8>,
    pub(super) body: Body,
}

pub(super) enum Body {
    /// Events that go out one after the other.
    Stream(Vec<String>),
    Whole(Vec<u8>),
}

/// One of the two scripted servers.
pub(super) trait Side: Send + Sync + 'static {
    fn answer(&self, call: &Call) -> Answer;
}

impl Answer {
    /// A body with its length. `lines` are whole header lines.
    pub(super) fn whole(status: u16, content_type: &str, lines: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let head = format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: {content_type}\r\n{lines}Content-Length: {}\r\n",
            reason(status),
            body.len()
        );
        Self { status, head: head.into_bytes(), body: Body::Whole(body) }
    }

    pub(super) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::whole(status, names::JSON, "", format!("{body}\n"))
    }

    pub(super) fn text(status: u16, text: impl Into<Vec<u8>>) -> Self {
        Self::whole(status, "text/plain; charset=utf-8", "", text)
    }

    /// Events, each the data of one server-sent event.
    pub(super) fn stream(events: Vec<String>) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n",
            names::EVENT_STREAM
        );
        Self { status: 200, head: head.into_bytes(), body: Body::Stream(events) }
    }
}

/// Serves every connection in a task of its own.
pub(super) async fn serve(listener: TcpListener, side: Arc<impl Side>) {
    loop {
        match listener.accept().await {
            // A connection that breaks concerns nobody but its caller, who sees it.
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, side.clone()))),
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

async fn connection(mut stream: TcpStream, side: Arc<impl Side>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut read = Vec::with_capacity(4096);
    loop {
        let mut head = Vec::new();
        let asked = match request::parse(&read, &mut head) {
            Verdict::NeedMore if more(&mut stream, &mut read).await? => continue,
            Verdict::NeedMore => return Ok(()),
            Verdict::Fast(asked) => asked,
            Verdict::Http10(_) | Verdict::Http2Preface | Verdict::Reject(_) | Verdict::Upgrade(_) => {
                let answer = Answer::text(400, "the demo's engine and upstream speak plain HTTP/1.1\n");
                return write(&mut stream, answer, Method::Get, false).await;
            }
        };
        let path = String::from_utf8_lossy(&read[asked.path.clone()]).into_owned();
        read.drain(..asked.len);
        let Some(body) = body(&mut stream, &mut read, &asked).await? else {
            let answer = Answer::text(413, "the body is broken, or larger than the demo takes\n");
            return write(&mut stream, answer, asked.method, false).await;
        };
        let has_key = has_key(&head);
        let answer = side.answer(&Call { method: asked.method, path, body, has_key });
        write(&mut stream, answer, asked.method, asked.keep_alive).await?;
        if !asked.keep_alive {
            return Ok(());
        }
    }
}

/// Reads on; false once the other side has closed.
async fn more(stream: &mut TcpStream, read: &mut Vec<u8>) -> io::Result<bool> {
    Ok(stream.read_buf(read).await? > 0)
}

/// Takes the body off the front of `read`; none: it breaks its framing or is too large.
async fn body(stream: &mut TcpStream, read: &mut Vec<u8>, head: &RequestHead) -> io::Result<Option<Vec<u8>>> {
    if head.expects_continue {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    match head.framing {
        RequestFraming::None => Ok(Some(Vec::new())),
        RequestFraming::Length(length) => {
            let Some(length) = usize::try_from(length).ok().filter(|length| *length <= MOST_BODY_BYTES) else {
                return Ok(None);
            };
            while read.len() < length {
                if !more(stream, read).await? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Ok(Some(read.drain(..length).collect()))
        }
        RequestFraming::Chunked => {
            let (mut framing, mut body) = (Dechunk::new(), Vec::new());
            loop {
                let Ok((taken, ended)) = framing.feed(read, &mut body, MOST_BODY_BYTES) else { return Ok(None) };
                read.drain(..taken);
                if ended {
                    return Ok(Some(body));
                }
                if !more(stream, read).await? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

fn has_key(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).lines().any(|line| line.to_ascii_lowercase().starts_with("authorization:"))
}

async fn write(stream: &mut TcpStream, answer: Answer, method: Method, keep_alive: bool) -> io::Result<()> {
    let mut bytes = answer.head;
    bytes.extend_from_slice(if keep_alive { b"\r\n".as_slice() } else { b"Connection: close\r\n\r\n" });
    match answer.body {
        _ if method == Method::Head => stream.write_all(&bytes).await,
        Body::Whole(body) => {
            bytes.extend_from_slice(&body);
            stream.write_all(&bytes).await
        }
        Body::Stream(events) => {
            stream.write_all(&bytes).await?;
            for (at, event) in events.iter().enumerate() {
                if at > 0 {
                    tokio::time::sleep(PAUSE).await;
                }
                let event = format!("data: {event}\n\n");
                stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
            }
            stream.write_all(b"0\r\n\r\n").await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::has_key;

    #[test]
    fn a_key_is_seen_in_any_case_and_nowhere_else() {
        assert!(has_key(b"GET / HTTP/1.1\r\nHost: x\r\nAUTHORIZATION: Bearer k\r\n"));
        assert!(!has_key(b"GET /authorization: HTTP/1.1\r\nX-Authorization: Bearer k\r\n"));
    }
}
