//! The demo's caller: what does it ask, and what does it see?

use super::chat;
use super::sidecar::MODEL;
use serde_json::{Value, json};
use spillway_filters::event_stream::EventStream;
use spillway_filters::names;
use spillway_filters::wire::chunk::{Dechunk, Framing};
use spillway_filters::wire::response::{self, ResponseVerdict};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// After this long the caller gives up.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of one event, and of a whole body.
const MOST_BYTES: usize = 1024 * 1024;
/// The caller's key for the engine. It must not get any further.
const KEY: &str = "the-callers-own-key";

/// A chat call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ask {
    /// Word by word.
    pub(super) stream: bool,
    /// Never to be served remotely.
    pub(super) forbid: bool,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) status: u16,
    /// Status line and header lines.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
    /// Words of a stream.
    pub(super) words: usize,
    /// Until the last byte.
    pub(super) took: Duration,
}

impl Seen {
    /// The value of a header that stands once.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// What the body says at a JSON pointer.
    pub(super) fn text(&self, pointer: &str) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        Some(body.pointer(pointer)?.as_str()?.to_owned())
    }
}

/// Asks once, on a connection of its own. `hears` gets the words of a stream as they come, with the time of the first.
pub(super) async fn ask(front: &str, ask: Ask, mut hears: impl FnMut(&str, Duration)) -> io::Result<Seen> {
    let call = async {
        let started = Instant::now();
        let mut stream = TcpStream::connect(front).await?;
        stream.write_all(&request(front, ask)).await?;
        let mut reading = Reading::new(started);
        loop {
            let mut piece = [0; 4096];
            let read = stream.read(&mut piece).await?;
            if read == 0 && !reading.ends_with_connection() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if reading.take(&piece[..read], &mut hears)? || read == 0 {
                return Ok(reading.finish());
            }
        }
    };
    tokio::time::timeout(PATIENCE, call).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
}

fn request(front: &str, ask: Ask) -> Vec<u8> {
    let mut body = json!({"model": MODEL, "messages": [{"role": "user", "content": "hello"}]});
    if ask.stream {
        body["stream"] = json!(true);
    }
    let body = body.to_string();
    let forbid = if ask.forbid { format!("{}: forbid\r\n", names::REMOTE) } else { String::new() };
    format!(
        "POST {} HTTP/1.1\r\nHost: {front}\r\nAuthorization: Bearer {KEY}\r\nContent-Type: {}\r\n{forbid}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        chat::PATH,
        names::JSON,
        body.len()
    )
    .into_bytes()
}

/// An answer on its way in.
struct Reading {
    started: Instant,
    /// What was read and belongs to nothing yet.
    read: Vec<u8>,
    head: Option<Head>,
    body: Vec<u8>,
    events: EventStream,
    first_word: Option<Duration>,
    words: usize,
}

struct Head {
    status: u16,
    text: String,
    framing: Framing,
    content: Dechunk,
    event_stream: bool,
}

impl Reading {
    fn new(started: Instant) -> Self {
        let (read, body, events) = (Vec::new(), Vec::new(), EventStream::new(MOST_BYTES));
        Self { started, read, head: None, body, events, first_word: None, words: 0 }
    }

    fn ends_with_connection(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.framing.until_close())
    }

    /// Takes the next bytes; true once the answer is whole.
    fn take(&mut self, bytes: &[u8], hears: &mut impl FnMut(&str, Duration)) -> io::Result<bool> {
        self.read.extend_from_slice(bytes);
        if self.head.is_none() {
            self.take_head()?;
        }
        let Some(head) = &mut self.head else { return Ok(false) };
        let before = self.body.len();
        let ended = match &mut head.framing {
            Framing::Chunked(_) => {
                let (taken, ended) = head.content.feed(&self.read, &mut self.body, MOST_BYTES).map_err(broken)?;
                self.read.drain(..taken);
                ended
            }
            framing => {
                let taken = framing.feed(&self.read).map_err(broken)?;
                self.body.extend(self.read.drain(..taken));
                framing.is_complete()
            }
        };
        if head.event_stream {
            self.events.feed(&self.body[before..]);
            while let Some(event) = self.events.next_event().map_err(broken)? {
                self.hear(&event.data, hears);
            }
        }
        Ok(ended)
    }

    fn take_head(&mut self) -> io::Result<()> {
        match response::parse(&self.read, false, &mut Vec::new()) {
            ResponseVerdict::Head(head) => {
                let text = String::from_utf8_lossy(&self.read[..head.len]).into_owned();
                self.read.drain(..head.len);
                let (status, framing, event_stream) = (head.status, head.framing, head.event_stream);
                self.head = Some(Head { status, text, framing, content: Dechunk::new(), event_stream });
                Ok(())
            }
            ResponseVerdict::Informational { .. } | ResponseVerdict::NeedMore => Ok(()),
            ResponseVerdict::Bad(fault) => Err(broken(fault)),
        }
    }

    fn hear(&mut self, event: &[u8], hears: &mut impl FnMut(&str, Duration)) {
        let event: Value = serde_json::from_slice(event).unwrap_or_default();
        let word = event.pointer("/choices/0/delta/content").and_then(Value::as_str).unwrap_or_default();
        if !word.is_empty() {
            let first = *self.first_word.get_or_insert_with(|| self.started.elapsed());
            self.words += 1;
            hears(word, first);
        }
    }

    fn finish(self) -> Seen {
        let (status, head) = self.head.map_or_else(Default::default, |head| (head.status, head.text));
        Seen { status, head, body: self.body, words: self.words, took: self.started.elapsed() }
    }
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
