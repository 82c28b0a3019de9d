//! What of a choice's text is text for the caller?
//!
//! The one place where marks in a model's text are read: private reasoning, and tool calls in what is left, each across the cuts of the
//! stream.

use crate::reasoning::{Reasoning, Split};
use crate::tools::{Said, ToolReader};
use std::borrow::Cow;

/// How the text of each choice is read; without a reader it is text and nothing else. A stream is given readers that have read nothing,
/// and every choice gets copies of its own.
#[derive(Clone, Default)]
pub struct Marks {
    /// Takes private reasoning out.
    pub reasoning: Option<Reasoning>,
    /// Takes tool calls out.
    pub tools: Option<ToolReader>,
}

/// What a piece of text turned out to be. What is not decided yet is in a later piece.
#[derive(Default)]
pub(super) struct Heard<'a> {
    /// Text for the caller.
    pub(super) text: Cow<'a, str>,
    /// Private reasoning.
    pub(super) hidden: String,
    /// Whole tool calls in their order: name and arguments.
    pub(super) calls: Vec<(String, String)>,
    /// The piece was text and nothing else, so its log-probabilities are those of `text`.
    pub(super) is_plain: bool,
}

impl Marks {
    /// Reads the next piece.
    pub(super) fn feed<'a>(&mut self, piece: &'a str) -> Heard<'a> {
        if self.reasoning.is_none() && self.tools.is_none() {
            return Heard { text: piece.into(), is_plain: true, ..Heard::default() };
        }
        let split = match &mut self.reasoning {
            Some(reasoning) => reasoning.feed(piece),
            None => Split { shown: piece.to_owned(), ..Split::default() },
        };
        let mut heard = self.listen(split);
        // An empty piece may be a token whose bytes are not a text yet, and no one knows of what.
        heard.is_plain = !piece.is_empty() && heard.text == piece && heard.calls.is_empty();
        heard
    }

    /// The text has ended: what was held back.
    pub(super) fn finish(&mut self) -> Heard<'static> {
        let split = self.reasoning.as_mut().map(Reasoning::finish).unwrap_or_default();
        let mut heard = self.listen(split);
        heard.add(self.tools.as_mut().map(ToolReader::finish).unwrap_or_default());
        heard.is_plain = heard.text.is_empty() && heard.hidden.is_empty() && heard.calls.is_empty();
        heard
    }

    /// The upstream gives reasoning in members of its own, so the text that is to come begins outside of it.
    pub(super) const fn thinks_apart(&mut self) {
        if let Some(reasoning) = &mut self.reasoning {
            reasoning.begin_shown();
        }
    }

    fn listen(&mut self, split: Split) -> Heard<'static> {
        let mut heard = Heard { hidden: split.hidden, ..Heard::default() };
        match &mut self.tools {
            Some(tools) => heard.add(tools.feed(&split.shown)),
            None => heard.text = split.shown.into(),
        }
        heard
    }
}

impl Heard<'_> {
    /// Adds what was heard after it.
    pub(super) fn append(&mut self, later: Heard<'_>) {
        self.say(&later.text);
        self.hidden.push_str(&later.hidden);
        self.calls.extend(later.calls);
        self.is_plain &= later.is_plain;
    }

    fn add(&mut self, said: Vec<Said>) {
        for said in said {
            match said {
                Said::Text(text) => self.say(&text),
                Said::Call { name, arguments, .. } => self.calls.push((name, arguments)),
            }
        }
    }

    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.to_mut().push_str(text);
        }
    }
}
