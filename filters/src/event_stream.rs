//! Where does one server-sent event end and the next begin?
//!
//! Incremental: bytes go in as they come, events come out as soon as their blank line is there. Line ends are LF, CR or CRLF; a byte
//! order mark at the start, comments, `id` and `retry` are dropped, and so are blocks without data (engines section 4).

use std::borrow::Cow;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its `event` field, when it has one that is not empty.
    pub name: Option<Vec<u8>>,
    /// Its data; the lines of several `data` fields are joined by LF.
    pub data: Vec<u8>,
}

/// An event is larger than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {limit} bytes")]
pub struct EventTooLarge {
    /// The most bytes one event may have.
    pub limit: usize,
}

/// Reads the events of one stream. Every byte is looked at once, and no more than one event and what was fed last are held.
#[derive(Clone, Debug)]
pub struct EventStream {
    limit: usize,
    /// What was fed and is not yet read.
    fed: Vec<u8>,
    /// Where in `fed` the current line starts.
    line: usize,
    /// How far the current line is known to hold no line end.
    seen: usize,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    /// No line was read yet.
    first: bool,
    event: Event,
    has_data: bool,
    failed: bool,
}

impl EventStream {
    /// A reader that refuses events of more than `max_event_bytes`.
    #[must_use]
    pub const fn new(max_event_bytes: usize) -> Self {
        Self {
            limit: max_event_bytes,
            fed: Vec::new(),
            line: 0,
            seen: 0,
            after_cr: false,
            first: true,
            event: Event { name: None, data: Vec::new() },
            has_data: false,
            failed: false,
        }
    }

    /// Takes the next bytes of the stream. Ask for every event before more is fed.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed {
            return;
        }
        self.fed.drain(..self.line);
        self.seen -= self.line;
        self.line = 0;
        self.fed.extend_from_slice(bytes);
    }

    /// The next whole event; none: more bytes are needed.
    ///
    /// # Errors
    /// An event is too large. The stream cannot be read any further.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventTooLarge> {
        while let Some(end) = self.line_end() {
            let ended = self.take_line(end)?;
            if ended {
                return Ok(self.take_event());
            }
        }
        self.check(self.fed.len() - self.line)?;
        Ok(None)
    }

    /// The rest at the end of the stream: an event counts although its blank line is missing. Ask until there is none.
    pub fn finish(&mut self) -> Option<Event> {
        if let Some(event) = self.next_event().ok()? {
            return Some(event);
        }
        let end = self.fed.len();
        if end > self.line {
            self.take_line(end).ok()?;
            self.line = end;
            self.seen = end;
        }
        self.take_event()
    }

    /// Where the current line ends, if its end is there.
    fn line_end(&mut self) -> Option<usize> {
        if self.after_cr && self.line < self.fed.len() {
            self.after_cr = false;
            if self.fed[self.line] == b'\n' {
                self.line += 1;
                self.seen = self.line;
            }
        }
        let found = memchr::memchr2(b'\n', b'\r', &self.fed[self.seen..]);
        let end = found.map(|at| self.seen + at);
        self.seen = end.unwrap_or(self.fed.len());
        end
    }

    /// Reads the line that ends at `end` and steps behind it. True: it is blank, and the block before it has data.
    fn take_line(&mut self, end: usize) -> Result<bool, EventTooLarge> {
        self.check(end - self.line)?;
        let mut line = self.line..end;
        self.after_cr = self.fed.get(end) == Some(&b'\r');
        self.line = (end + 1).min(self.fed.len());
        self.seen = self.line;
        if std::mem::take(&mut self.first) && self.fed[line.clone()].starts_with(b"\xef\xbb\xbf") {
            line.start += 3;
        }
        if line.is_empty() {
            if !self.has_data {
                self.event = Event::default();
            }
            return Ok(self.has_data);
        }
        self.take_field(line);
        Ok(false)
    }

    fn take_field(&mut self, line: std::ops::Range<usize>) {
        let line = &self.fed[line];
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.has_data = true;
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = Some(value.to_vec()),
            _ => {}
        }
    }

    fn take_event(&mut self) -> Option<Event> {
        let mut event = std::mem::take(&mut self.event);
        event.name = event.name.filter(|name| !name.is_empty());
        std::mem::take(&mut self.has_data).then_some(event)
    }

    fn check(&mut self, line: usize) -> Result<(), EventTooLarge> {
        let size = line + self.event.data.len() + self.event.name.as_ref().map_or(0, Vec::len);
        self.failed |= size > self.limit;
        if self.failed { Err(EventTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}

/// Appends an event as it goes on the wire: LF line ends, one `data` field per line of data.
pub fn write_event(data: &[u8], out: &mut Vec<u8>) {
    for line in data.split(|byte| *byte == b'\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&without_line_ends(line));
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// A lone CR would end the line for a reader.
fn without_line_ends(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\r', b'\n', line).is_none() {
        return Cow::Borrowed(line);
    }
    line.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect::<Vec<_>>().into()
}
