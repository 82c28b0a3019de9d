//! Which tool calls stand in a model's raw text? An onboarded model writes them in its family's format; they are taken out here,
//! wherever the text is cut.
//!
//! Nothing is lost: what turns out not to be a call of one of the caller's tools is text, as the model wrote it. Every character is
//! read once, and at most [`LONGEST_CALL`] is held back.
//!
//! It is ours because the crate tool-parser reaches malachite, which is LGPL-3.0-only, through rustpython-parser; `deny.toml` forbids that.

mod json;

use json::{Scan, Step};

/// An id for the call at `place` of a choice, where the model gave none: nine letters and digits, because the templates of some families
/// refuse any other when the call comes back in a conversation.
pub(crate) fn call_id(answer: &str, choice: usize, place: usize) -> String {
    // FNV-1a: spread is all that is asked of it.
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = format!("{answer}/{choice}/{place}").bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let mut id = String::with_capacity(9);
    for _ in 0..9 {
        id.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[usize::try_from(hash % 36).unwrap_or(0)]));
        hash /= 36;
    }
    id
}

/// The most that is held back to be read as one piece of calls; beyond it, it is text.
pub const LONGEST_CALL: usize = 1 << 20;

/// White space that is held back to see whether a call follows.
const LONGEST_SPACE: usize = 64;

/// How a model family writes tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFormat {
    /// `<tool_call>{"name","arguments"}</tool_call>`, also of Qwen.
    Hermes,
    /// `{"name","parameters"}` at the beginning or after `<|python_tag|>`, several joined by `;`.
    Llama3Json,
    /// `[TOOL_CALLS] [{"name","arguments"}]`.
    Mistral,
}

impl ToolFormat {
    /// Every name that [`Self::from_name`] knows.
    pub const NAMES: [&'static str; 4] = ["hermes", "llama3_json", "mistral", "qwen"];

    /// The format of this name in a model file.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "hermes" | "qwen" => Some(Self::Hermes),
            "llama3_json" => Some(Self::Llama3Json),
            "mistral" => Some(Self::Mistral),
            _ => None,
        }
    }

    const fn marker(self) -> &'static str {
        match self {
            Self::Hermes => "<tool_call>",
            Self::Llama3Json => "<|python_tag|>",
            Self::Mistral => "[TOOL_CALLS]",
        }
    }

    const fn closing(self) -> &'static str {
        match self {
            Self::Hermes => "</tool_call>",
            Self::Llama3Json | Self::Mistral => "",
        }
    }

    /// What the JSON of this format begins with.
    const fn opening(self) -> char {
        match self {
            Self::Hermes | Self::Llama3Json => '{',
            Self::Mistral => '[',
        }
    }
}

/// What the model said, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Text for the caller.
    Text(String),
    /// One call.
    Call {
        /// Its place among the calls of this text, from 0.
        index: usize,
        /// The name of one of the caller's tools.
        name: String,
        /// A JSON object, as the model wrote it.
        arguments: String,
    },
}

/// Reads the text of one choice, fragment by fragment.
#[derive(Clone)]
pub struct ToolReader {
    format: ToolFormat,
    tools: Vec<String>,
    phase: Phase,
    /// What is not decided yet, all of it.
    held: String,
    /// Text that is decided and was not yet handed out.
    text: String,
    calls: usize,
}

#[derive(Clone)]
enum Phase {
    /// At the beginning or after a call: white space, which a call makes meaningless.
    Space,
    /// Text; a part of the marker may stand at `from` in what is held.
    Text { from: usize },
    /// After the marker.
    Marked,
    /// In the JSON that begins at `start`.
    Json { start: usize, scan: Scan },
    /// After the JSON; `matched` bytes of the closing marker were read.
    Closing { start: usize, end: usize, matched: usize },
}

impl ToolReader {
    /// A reader for the calls of these tools.
    #[must_use]
    pub fn new(format: ToolFormat, tools: Vec<String>) -> Self {
        Self { format, tools, phase: Phase::Space, held: String::new(), text: String::new(), calls: 0 }
    }

    /// What the next fragment decides.
    pub fn feed(&mut self, text: &str) -> Vec<Said> {
        let mut said = Vec::new();
        for next in text.chars() {
            self.step(next, &mut said);
        }
        self.hand_out(&mut said);
        said
    }

    /// The text has ended: a call that only lacks its closing marker is one, everything else that is held is text.
    pub fn finish(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        match self.phase {
            Phase::Closing { start, end, .. } => self.close(start, end, &mut said),
            Phase::Space if self.calls > 0 => self.held.clear(),
            Phase::Space | Phase::Text { .. } | Phase::Marked | Phase::Json { .. } => self.decline(),
        }
        self.hand_out(&mut said);
        said
    }

    fn step(&mut self, next: char, said: &mut Vec<Said>) {
        let read = match &mut self.phase {
            Phase::Space => self.space(next),
            Phase::Text { .. } => self.plain(next),
            Phase::Marked => self.marked(next),
            Phase::Json { scan, .. } => {
                let step = scan.step(next);
                self.json(next, step, said)
            }
            Phase::Closing { .. } => self.closing(next, said),
        };
        if !read {
            self.decline();
            self.plain(next);
        } else if self.held.len() > LONGEST_CALL {
            self.decline();
        }
    }

    // The phases: each says whether it could read the character. When it could not, all that is held is text.

    fn space(&mut self, next: char) -> bool {
        let joins = next == ';' && self.calls > 0 && self.format == ToolFormat::Llama3Json;
        if next.is_whitespace() || joins {
            self.held.push(next);
            return self.held.len() <= LONGEST_SPACE || {
                self.decline();
                true
            };
        }
        if self.format == ToolFormat::Llama3Json && next == self.format.opening() {
            return self.open(next);
        }
        self.phase = Phase::Text { from: self.held.len() };
        self.plain(next)
    }

    fn plain(&mut self, next: char) -> bool {
        let Phase::Text { from } = self.phase else { return false };
        let marker = self.format.marker();
        let part = &self.held[from..];
        if marker[part.len()..].starts_with(next) {
            self.held.push(next);
            if self.held.len() - from == marker.len() {
                self.phase = Phase::Marked;
            }
            return true;
        }
        // A marker begins with a character that is not in it again.
        self.decline();
        if marker.starts_with(next) {
            self.held.push(next);
        } else {
            self.text.push(next);
        }
        true
    }

    fn marked(&mut self, next: char) -> bool {
        if next.is_whitespace() {
            self.held.push(next);
            return true;
        }
        next == self.format.opening() && self.open(next)
    }

    fn open(&mut self, next: char) -> bool {
        let mut scan = Scan::default();
        let opened = matches!(scan.step(next), Step::More);
        self.phase = Phase::Json { start: self.held.len(), scan };
        self.held.push(next);
        opened
    }

    fn json(&mut self, next: char, step: Step, said: &mut Vec<Said>) -> bool {
        let Phase::Json { start, .. } = self.phase else { return false };
        if matches!(step, Step::Wrong) {
            return false;
        }
        self.held.push(next);
        if matches!(step, Step::End) {
            let end = self.held.len();
            if self.format.closing().is_empty() {
                self.close(start, end, said);
            } else {
                self.phase = Phase::Closing { start, end, matched: 0 };
            }
        }
        true
    }

    fn closing(&mut self, next: char, said: &mut Vec<Said>) -> bool {
        let Phase::Closing { start, end, matched } = self.phase else { return false };
        let closing = self.format.closing();
        let matched = if closing[matched..].starts_with(next) {
            matched + 1
        } else if matched == 0 && next.is_whitespace() {
            0
        } else {
            return false;
        };
        self.held.push(next);
        if matched == closing.len() {
            self.close(start, end, said);
        } else {
            self.phase = Phase::Closing { start, end, matched };
        }
        true
    }

    /// The JSON is whole: it is calls, or text with all that stands around it.
    fn close(&mut self, start: usize, end: usize, said: &mut Vec<Said>) {
        let written = &self.held[start..end];
        let Some(calls) = json::calls(written, |name| self.tools.iter().any(|tool| tool == name)) else {
            self.decline();
            return;
        };
        self.held.clear();
        self.phase = Phase::Space;
        for call in calls {
            match call {
                Ok((name, arguments)) => {
                    self.hand_out(said);
                    said.push(Said::Call { index: self.calls, name, arguments });
                    self.calls += 1;
                }
                Err(text) => self.text.push_str(&text),
            }
        }
    }

    /// What is held is text.
    fn decline(&mut self) {
        self.text.push_str(&self.held);
        self.held.clear();
        self.phase = Phase::Text { from: 0 };
    }

    fn hand_out(&mut self, said: &mut Vec<Said>) {
        if !self.text.is_empty() {
            said.push(Said::Text(std::mem::take(&mut self.text)));
        }
    }
}
