//! What of a choice's text is text for the caller?
//!
//! The one place where marks in a model's text are read: private reasoning, and tool calls in what is left, each wherever the text is
//! cut.

use crate::reasoning::{Reasoning, Split};
use crate::tools::{Said, ToolReader};
use std::borrow::Cow;
use std::fmt;

/// How the text of each choice is read; without a reader it is text and nothing else. A stream is given readers that have read nothing,
/// and every choice gets copies of its own.
#[derive(Clone, Default)]
pub struct Marks {
    /// Takes private reasoning out.
    pub reasoning: Option<Reasoning>,
    /// Takes tool calls out.
    pub tools: Option<ToolReader>,
}

impl fmt::Debug for Marks {
    /// Without the text that is held back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marks").finish_non_exhaustive()
    }
}

/// What a piece of text turned out to be. What is not decided yet is in a later piece.
#[derive(Default)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(crate) struct Heard<'a> {
    /// Text for the caller.
    pub(crate) text: Cow<'a, str>,
    /// Private reasoning.
    pub(crate) hidden: String,
    /// Whole tool calls in their order: name and arguments.
    pub(crate) calls: Vec<(String, String)>,
    /// The piece was text and nothing else, so its log-probabilities are those of `text`.
    pub(crate) is_plain: bool,
}

impl Marks {
    /// Whether all text is text for the caller.
    #[must_use]
    pub const fn are_none(&self) -> bool {
        self.reasoning.is_none() && self.tools.is_none()
    }

    /// Reads a whole text.
    pub(crate) fn read(mut self, text: &str) -> Heard<'_> {
        let mut heard = self.feed(text);
        heard.append(self.finish());
        heard
    }

    /// Reads the next piece.
    pub(crate) fn feed<'a>(&mut self, piece: &'a str) -> Heard<'a> {
        if self.are_none() {
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
    pub(crate) fn finish(&mut self) -> Heard<'static> {
        let split = self.reasoning.as_mut().map(Reasoning::finish).unwrap_or_default();
        let mut heard = self.listen(split);
        heard.add(self.tools.as_mut().map(ToolReader::finish).unwrap_or_default());
        heard.is_plain = heard.text.is_empty() && heard.hidden.is_empty() && heard.calls.is_empty();
        heard
    }

    /// The upstream gives reasoning in members of its own, so the text that is to come begins outside of it.
    pub(crate) const fn thinks_apart(&mut self) {
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
    /// The same without what was read.
    pub(crate) fn into_owned(self) -> Heard<'static> {
        let Self { text, hidden, calls, is_plain } = self;
        Heard { text: Cow::Owned(text.into_owned()), hidden, calls, is_plain }
    }

    /// Adds what was heard after it.
    pub(crate) fn append(&mut self, later: Heard<'_>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::ToolFormat;

    fn marks() -> Marks {
        let tools = ToolReader::new(ToolFormat::Hermes, vec!["f".into()]);
        Marks { reasoning: Reasoning::new("qwen3"), tools: Some(tools) }
    }

    #[test]
    fn reasoning_goes_first_and_calls_are_read_in_what_is_left() {
        let text = "<think>a <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call></think>b\
            <tool_call>{\"name\":\"f\",\"arguments\":{\"x\":1}}</tool_call>";
        let whole = marks().read(text);
        assert_eq!((whole.text.as_ref(), whole.calls.as_slice()), ("b", &[("f".into(), "{\"x\":1}".into())][..]));
        assert!(whole.hidden.starts_with("a ") && !whole.is_plain);
        let mut cut = marks();
        let mut heard = Heard::default();
        text.chars().for_each(|next| heard.append(cut.feed(next.encode_utf8(&mut [0; 4]))));
        heard.append(cut.finish());
        assert_eq!((heard.text, heard.hidden, heard.calls), (whole.text, whole.hidden, whole.calls));
    }

    #[test]
    fn plain_text_stays_what_it_was() {
        assert!(Marks::default().are_none());
        let heard = Marks::default().read("<think>a</think>");
        assert_eq!(heard, Heard { text: "<think>a</think>".into(), is_plain: true, ..Heard::default() });
        assert!(marks().read("a").is_plain);
    }
}
