//! What does a scripted side do with a request: the small language in which a case says so?

use super::gate::Gate;

/// One step of a play.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Write these bytes.
    Send(Vec<u8>),
    /// Write these bytes so many times.
    Repeat(Vec<u8>, usize),
    /// Wait until the test opens the gate, or the peer leaves.
    Await(Gate),
    /// Read so many bytes of the body that an early play left unread.
    Take(usize),
    /// Do nothing more, not even read, as long as the side lives.
    Ignore,
    /// Wait until the peer leaves.
    Stall,
    /// Close with a reset.
    Cut,
    /// Close.
    Close,
    /// Send back everything that comes, until the peer leaves.
    Echo,
}

/// What is done after one request was read, step by step. A play that does not close keeps the connection for the next one.
#[derive(Clone, Debug, Default)]
pub struct Play {
    pub(crate) steps: Vec<Step>,
}

impl Play {
    /// These bytes, as they are.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::default().send(bytes)
    }

    /// No answer: waits until the peer leaves.
    pub fn hang() -> Self {
        Self::default().stall()
    }

    /// A reset after the request was read.
    pub fn reset() -> Self {
        Self::default().cut()
    }

    /// The start of a stream of server-sent events, in chunks.
    pub fn stream() -> Self {
        let head = Answer::new(200).field("Content-Type", "text/event-stream").field("Cache-Control", "no-cache");
        Self::raw(head.field("Transfer-Encoding", "chunked").head())
    }

    /// A whole stream: every event, then its end.
    pub fn events<T: AsRef<str>>(events: &[T]) -> Self {
        events.iter().fold(Self::stream(), |play, event| play.event(event.as_ref())).end()
    }

    /// A redirect to `location`.
    pub fn redirect(status: u16, location: &str) -> Self {
        Answer::new(status).field("Location", location).into()
    }

    /// `101` to an upgrade, then an echo.
    pub fn upgrade_echo(protocol: &str) -> Self {
        let head = format!("HTTP/1.1 101 Switching Protocols\r\nUpgrade: {protocol}\r\nConnection: Upgrade\r\n\r\n");
        let mut play = Self::raw(head);
        play.steps.push(Step::Echo);
        play
    }

    /// Then these bytes, as they are, in one write with what stands before them.
    pub fn send(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        match self.steps.last_mut() {
            Some(Step::Send(before)) => before.extend(bytes),
            _ => self.steps.push(Step::Send(bytes)),
        }
        self
    }

    /// Then these bytes, as they are, so many times: for volumes that nobody wants to hold.
    pub fn repeat(mut self, bytes: impl Into<Vec<u8>>, count: usize) -> Self {
        self.steps.push(Step::Repeat(bytes.into(), count));
        self
    }

    /// Then this event (or any other text) as one chunk.
    pub fn event(self, text: &str) -> Self {
        self.send(chunk(text.as_bytes()))
    }

    /// Then the last chunk.
    pub fn end(self) -> Self {
        self.send("0\r\n\r\n")
    }

    /// Then read so many bytes of the body that an early play left unread.
    pub fn take(mut self, count: usize) -> Self {
        self.steps.push(Step::Take(count));
        self
    }

    /// Then wait at this gate.
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Await(gate.clone()));
        self
    }

    /// Then nothing more until the peer leaves.
    pub fn stall(mut self) -> Self {
        self.steps.push(Step::Stall);
        self
    }

    /// Then nothing more, not even reading: what the peer still writes fills the socket.
    pub fn ignore(mut self) -> Self {
        self.steps.push(Step::Ignore);
        self
    }

    /// Then a reset.
    pub fn cut(mut self) -> Self {
        self.steps.push(Step::Cut);
        self
    }

    /// Then close.
    pub fn close(mut self) -> Self {
        self.steps.push(Step::Close);
        self
    }

    /// Whether it ends by waiting for the peer to leave.
    pub fn stalls(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Stall))
    }

    /// Then everything that `next` does.
    pub fn then(mut self, next: impl Into<Self>) -> Self {
        self.steps.extend(next.into().steps);
        self
    }
}

/// One chunk of a chunked body.
pub(crate) fn chunk(data: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// A whole answer. Header lines go out in the order and case in which they are named.
#[derive(Clone, Debug)]
pub struct Answer {
    start: String,
    lines: Vec<String>,
    body: Vec<u8>,
    framed: bool,
}

impl Answer {
    /// An empty answer with this status.
    pub fn new(status: u16) -> Self {
        let phrase = match status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            429 => "Too Many Requests",
            500 => "Internal Server Error",
            503 => "Service Unavailable",
            _ => "Status",
        };
        Self::with_start(&format!("HTTP/1.1 {status} {phrase}"))
    }

    /// An answer with this status line.
    pub fn with_start(start: &str) -> Self {
        Self { start: start.to_owned(), lines: Vec::new(), body: Vec::new(), framed: false }
    }

    /// JSON text with its content type.
    pub fn json(status: u16, body: &str) -> Self {
        Self::new(status).field("Content-Type", "application/json").body(body)
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

    /// With this body.
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// Then the Content-Length line, here rather than last.
    pub fn length(self) -> Self {
        let line = format!("Content-Length: {}", self.body.len());
        Self { framed: true, ..self }.line(&line)
    }

    /// The answer with its body in chunks of so many bytes.
    pub fn chunked(self, size: usize) -> Play {
        let body = self.body.clone();
        let head = self.field("Transfer-Encoding", "chunked").head();
        body.chunks(size).fold(Play::raw(head), |play, part| play.send(chunk(part))).end()
    }

    /// The answer without any length: the close ends its body.
    pub fn until_close(self) -> Play {
        let body = self.body.clone();
        Play::raw(self.head()).send(body).close()
    }

    /// The body alone.
    pub fn content(&self) -> &[u8] {
        &self.body
    }

    /// The head alone.
    pub fn head(&self) -> Vec<u8> {
        let lines: String = self.lines.iter().map(|line| format!("{line}\r\n")).collect();
        super::head::from_latin1(&format!("{}\r\n{lines}\r\n", self.start))
    }

    /// The whole answer as bytes.
    pub fn bytes(self) -> Vec<u8> {
        let framed = if self.framed { self } else { self.length() };
        let mut bytes = framed.head();
        bytes.extend_from_slice(&framed.body);
        bytes
    }
}

impl From<Answer> for Play {
    fn from(answer: Answer) -> Self {
        Self::raw(answer.bytes())
    }
}
