//! What does the caller see: a raw HTTP/1.1 client that sends exact bytes and reads answers to the byte?

use super::head::{Head, from_latin1};
use super::patience::within;
use super::pipe::{Address, Framing, Pipe, Stream, find};
use crate::expect::{Finding, Verdict, holds};

/// A request to be written. Header lines go out in the order and case in which they are named.
#[derive(Clone, Debug)]
pub struct Request {
    start: String,
    lines: Vec<String>,
    body: Option<Vec<u8>>,
}

impl Request {
    /// A request with this method and target, and a Host.
    pub fn new(method: &str, target: &str) -> Self {
        Self { start: format!("{method} {target} HTTP/1.1"), lines: vec!["Host: front.test".to_owned()], body: None }
    }

    /// A GET.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A POST of JSON text.
    pub fn post(target: &str, json: &str) -> Self {
        Self::new("POST", target).field("Content-Type", "application/json").body(json)
    }

    /// In another version of the protocol than HTTP/1.1.
    pub fn version(mut self, version: &str) -> Self {
        self.start = self.start.replace("HTTP/1.1", version);
        self
    }

    /// Then this header line.
    pub fn field(self, name: &str, value: &str) -> Self {
        self.line(&format!("{name}: {value}"))
    }

    /// Then this header line, to the byte.
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// With this body, whose length is stated last.
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Some(body.as_ref().to_vec());
        self
    }

    /// With `to` wherever the body says `from`.
    pub(crate) fn with_text(mut self, from: &str, to: &str) -> Self {
        let latin = |body: Vec<u8>| from_latin1(&super::head::latin1(&body).replace(from, to));
        self.body = self.body.map(latin);
        self
    }

    /// The header lines, as they go out.
    pub fn lines(&self) -> Vec<String> {
        let length = self.body.as_ref().map(|body| format!("Content-Length: {}", body.len()));
        self.lines.iter().cloned().chain(length).collect()
    }

    /// The head alone.
    pub fn head(&self) -> Vec<u8> {
        let lines: String = self.lines().iter().map(|line| format!("{line}\r\n")).collect();
        from_latin1(&format!("{}\r\n{lines}\r\n", self.start))
    }

    /// The whole request.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// The whole request with its body in chunks of so many bytes.
    pub fn chunked(&self, size: usize) -> Vec<u8> {
        let bare = Self { body: None, ..self.clone() };
        let mut bytes = bare.field("Transfer-Encoding", "chunked").head();
        for part in self.body.as_deref().unwrap_or_default().chunks(size) {
            bytes.extend_from_slice(&super::script::chunk(part));
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }
}

/// One answer as the caller got it.
#[derive(Clone, Debug)]
pub struct Received {
    /// The heads with a status below 200 that came before.
    pub interim: Vec<Head>,
    /// The head.
    pub head: Head,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// Whether the body came to the end that its framing promises.
    pub whole: bool,
}

/// One connection of the caller's.
#[derive(Debug)]
pub struct Client {
    pipe: Pipe,
    framing: Framing,
    left: u64,
    text: Vec<u8>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// What the connect says.
    pub async fn connect(address: &Address) -> Verdict<Self> {
        let stream = within("a connection", Stream::connect(address)).await??;
        Ok(Self { pipe: Pipe::new(stream), framing: Framing::Empty, left: 0, text: Vec::new() })
    }

    /// Writes these bytes.
    ///
    /// # Errors
    /// What the write says.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> Verdict {
        Ok(within("the front to take bytes", self.pipe.send(bytes.as_ref())).await??)
    }

    /// Writes a request and reads its answer.
    ///
    /// # Errors
    /// A finding when no whole head comes back.
    pub async fn ask(&mut self, request: &Request) -> Verdict<Received> {
        self.send(request.bytes()).await?;
        self.answer().await
    }

    /// Says that nothing more will be written.
    ///
    /// # Errors
    /// What the shutdown says.
    pub async fn half_close(&mut self) -> Verdict {
        Ok(self.pipe.half_close().await?)
    }

    /// The next head, one below 200 too. After it `part`, `event` or `body` reads what belongs to it.
    ///
    /// # Errors
    /// A finding when the front closes instead.
    pub async fn head(&mut self) -> Verdict<Head> {
        let head = within("an answer", self.pipe.head()).await??;
        let head = head.ok_or_else(|| Finding::new("the front closed without an answer"))?;
        self.framing = head.answer_framing();
        self.left = if let Framing::Length(length) = self.framing { length } else { 0 };
        self.text.clear();
        Ok(head)
    }

    /// The next whole answer to a request that was not a HEAD.
    ///
    /// # Errors
    /// A finding when no whole head comes.
    pub async fn answer(&mut self) -> Verdict<Received> {
        self.answer_with(false).await
    }

    /// The next whole answer to a HEAD.
    ///
    /// # Errors
    /// A finding when no whole head comes.
    pub async fn answer_to_head(&mut self) -> Verdict<Received> {
        self.answer_with(true).await
    }

    async fn answer_with(&mut self, bodiless: bool) -> Verdict<Received> {
        let mut interim = Vec::new();
        let head = loop {
            let head = self.head().await?;
            if head.status() >= 200 || head.status() == 101 {
                break head;
            }
            interim.push(head);
        };
        let (body, whole) = if bodiless { (Vec::new(), true) } else { self.body().await? };
        Ok(Received { interim, head, body, whole })
    }

    /// The rest of the body, and whether it came to its proper end.
    ///
    /// # Errors
    /// A finding when neither an end nor a cut comes.
    pub async fn body(&mut self) -> Verdict<(Vec<u8>, bool)> {
        let mut body = std::mem::take(&mut self.text);
        loop {
            match self.part().await? {
                Ok(Some(part)) => body.extend_from_slice(&part),
                Ok(None) => return Ok((body, true)),
                Err(_) => return Ok((body, false)),
            }
        }
    }

    async fn part(&mut self) -> Verdict<std::io::Result<Option<Vec<u8>>>> {
        within("more of the body", self.pipe.part(self.framing, &mut self.left)).await
    }

    /// The next event of a stream, without the empty line; nothing at its end. A cut shows as an end too: ask `ended`.
    ///
    /// # Errors
    /// A finding when none comes.
    pub async fn event(&mut self) -> Verdict<Option<String>> {
        loop {
            if let Some(end) = find(&self.text, b"\n\n") {
                let event: Vec<u8> = self.text.drain(..end + 2).collect();
                return Ok(Some(String::from_utf8_lossy(&event[..end]).into_owned()));
            }
            match self.part().await? {
                Ok(Some(part)) => self.text.extend_from_slice(&part),
                Ok(None) | Err(_) => return Ok(None),
            }
        }
    }

    /// Every event that is left.
    ///
    /// # Errors
    /// A finding when the stream neither goes on nor ends.
    pub async fn events(&mut self) -> Verdict<Vec<String>> {
        let mut events = Vec::new();
        while let Some(event) = self.event().await? {
            events.push(event);
        }
        Ok(events)
    }

    /// Everything up to the end of the connection, a reset included.
    ///
    /// # Errors
    /// A finding when it stays open.
    pub async fn ended(&mut self) -> Verdict<Vec<u8>> {
        within("the front to close", async { while let Ok(true) = self.pipe.fill().await {} }).await?;
        Ok(self.pipe.take_unread())
    }

    /// Reads until so many bytes are there that no answer has taken, and takes them.
    ///
    /// # Errors
    /// A finding when the connection ends before.
    pub async fn raw(&mut self, count: usize) -> Verdict<Vec<u8>> {
        while self.pipe.unread().len() < count {
            let more = within("raw bytes", self.pipe.fill()).await??;
            holds(more, "the connection to stay open", &self.pipe.unread())?;
        }
        let mut bytes = self.pipe.take_unread();
        let rest = bytes.split_off(count);
        holds(rest.is_empty(), "no bytes beyond those", &rest)?;
        Ok(bytes)
    }

    /// Whether anything has come that no answer has taken, after giving the front `moment` to send it.
    pub(crate) async fn heard_within(&mut self, moment: std::time::Duration) -> bool {
        // A close counts as something heard.
        !self.pipe.unread().is_empty() || tokio::time::timeout(moment, self.pipe.fill()).await.is_ok()
    }
}
