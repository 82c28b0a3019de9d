//! What does one message head say, line by line, as it was written?

use super::pipe::Framing;

/// A request or response head: the bytes as they came, with the empty line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    raw: Vec<u8>,
}

impl Head {
    pub(crate) fn new(raw: Vec<u8>) -> Self {
        Self { raw }
    }

    /// The bytes, with the empty line at the end.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The request line or status line.
    pub fn start(&self) -> String {
        self.all_lines().next().unwrap_or_default()
    }

    /// The header lines in their order, each as written, without its line end. Bytes become characters one to one.
    pub fn lines(&self) -> Vec<String> {
        self.all_lines().skip(1).collect()
    }

    fn all_lines(&self) -> impl Iterator<Item = String> {
        let text = latin1(&self.raw);
        let lines: Vec<String> = text.trim_end_matches("\r\n").split("\r\n").map(str::to_owned).collect();
        lines.into_iter()
    }

    /// Name and value of every header line, in order.
    pub fn fields(&self) -> Vec<(String, String)> {
        let split = |line: String| {
            let (name, value) = line.split_once(':').unwrap_or((line.as_str(), ""));
            (name.to_owned(), value.trim_matches([' ', '\t']).to_owned())
        };
        self.lines().into_iter().map(split).collect()
    }

    /// The first value under this name, whatever its case.
    pub fn field(&self, name: &str) -> Option<String> {
        self.all(name).into_iter().next()
    }

    /// Every value under this name, whatever its case.
    pub fn all(&self, name: &str) -> Vec<String> {
        let same = |field: &(String, String)| field.0.eq_ignore_ascii_case(name);
        self.fields().into_iter().filter(same).map(|field| field.1).collect()
    }

    /// The status code of a response head, 0 when there is none.
    pub fn status(&self) -> u16 {
        let start = self.start();
        start.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
    }

    /// The method of a request head.
    pub fn method(&self) -> String {
        self.start().split(' ').next().unwrap_or_default().to_owned()
    }

    /// The target of a request head.
    pub fn target(&self) -> String {
        self.start().split(' ').nth(1).unwrap_or_default().to_owned()
    }

    /// How the body after a request head ends.
    pub fn request_framing(&self) -> Framing {
        self.stated_framing().unwrap_or(Framing::Empty)
    }

    /// How the body after a response head ends, when the request was not a HEAD.
    pub fn answer_framing(&self) -> Framing {
        match self.status() {
            100..=199 | 204 | 304 => Framing::Empty,
            _ => self.stated_framing().unwrap_or(Framing::Close),
        }
    }

    fn stated_framing(&self) -> Option<Framing> {
        let chunked = |value: &String| value.to_ascii_lowercase().ends_with("chunked");
        if self.field("transfer-encoding").as_ref().is_some_and(chunked) {
            return Some(Framing::Chunked);
        }
        let length = self.field("content-length")?.parse().ok()?;
        Some(if length == 0 { Framing::Empty } else { Framing::Length(length) })
    }
}

/// Bytes as characters, one to one.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// Characters as bytes, one to one; a character that is no byte becomes `?`.
pub(crate) fn from_latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}
