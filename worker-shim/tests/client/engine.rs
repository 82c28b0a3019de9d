//! An engine of a few lines: it answers each path with the bytes of its script.

use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// A net: nothing here takes that long.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// What is done with one request.
#[derive(Clone, Copy)]
pub(crate) enum Reply {
    /// These bytes, and the connection is closed.
    Close(&'static str),
    /// These bytes, and the connection stays open until the client leaves.
    Keep(&'static str),
    /// As many bytes of body, in chunks, and the connection is closed.
    Chunked(usize),
}

pub(crate) type Script = fn(&str) -> Reply;

/// What the engine saw.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A connection.
    Opened,
    /// A whole request.
    Asked(String),
    /// A connection whose client has left.
    Ended,
}

/// A running engine. It ends with the test's runtime.
pub(crate) struct Engine {
    pub(crate) authority: String,
    seen: UnboundedReceiver<Seen>,
}

impl Engine {
    pub(crate) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let authority = listener.local_addr().expect("it is bound").to_string();
        let (told, seen) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // The test may have ended.
                let _ = told.send(Seen::Opened);
                tokio::spawn(serve(stream, script, told.clone()));
            }
        });
        Self { authority, seen }
    }

    pub(crate) fn start_unix(listener: UnixListener, script: Script) -> Self {
        let (told, seen) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // The test may have ended.
                let _ = told.send(Seen::Opened);
                tokio::spawn(serve(stream, script, told.clone()));
            }
        });
        Self { authority: "localhost".to_owned(), seen }
    }

    /// The next thing that it saw.
    pub(crate) async fn next(&mut self) -> Seen {
        timeout(LONG, self.seen.recv()).await.expect("something happens").expect("the engine runs")
    }

    /// The next request that it saw.
    pub(crate) async fn asked(&mut self) -> String {
        loop {
            if let Seen::Asked(request) = self.next().await {
                return request;
            }
        }
    }

    /// Waits until as many connections have ended.
    pub(crate) async fn ended(&mut self, connections: usize) {
        let mut left = connections;
        while left > 0 {
            left -= usize::from(self.next().await == Seen::Ended);
        }
    }

    /// The paths that it was asked for since the last time.
    pub(crate) fn paths(&mut self) -> Vec<String> {
        let mut paths = Vec::new();
        while let Ok(seen) = self.seen.try_recv() {
            if let Seen::Asked(request) = seen {
                paths.push(path(&request).to_owned());
            }
        }
        paths.sort();
        paths
    }
}

fn path(request: &str) -> &str {
    request.split(' ').nth(1).expect("a request line")
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: Script, told: UnboundedSender<Seen>) {
    if let Some(request) = request(&mut stream).await {
        let reply = script(path(&request));
        // And the client may have left.
        let _ = told.send(Seen::Asked(request));
        let _ = answer(&mut stream, reply).await;
    }
    let _ = told.send(Seen::Ended);
}

async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), reply: Reply) -> std::io::Result<()> {
    match reply {
        Reply::Close(bytes) => stream.write_all(bytes.as_bytes()).await,
        Reply::Keep(bytes) => {
            stream.write_all(bytes.as_bytes()).await?;
            stream.read_to_end(&mut Vec::new()).await.map(drop)
        }
        Reply::Chunked(total) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
            for start in (0..total).step_by(0x1000) {
                let size = (total - start).min(0x1000);
                stream.write_all(format!("{size:x}\r\n{}\r\n", "x".repeat(size)).as_bytes()).await?;
            }
            stream.write_all(b"0\r\n\r\n").await
        }
    }
}

async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_none_or(|length| length.parse() == Ok(body.len())) {
                return Some(text.into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
