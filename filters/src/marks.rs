//! What of a model's text is text for the caller? Private reasoning is taken out, then the tool calls in what is left, each wherever the
//! text is cut; and what the caller reads is held against its strict schema when it has ended.

use crate::reasoning::Reasoning;
use crate::strict::{self, Strict};
use crate::tools::{Said, ToolReader};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// How the text of one choice is read. One that has read nothing is copied for every choice.
#[derive(Clone, Default)]
pub struct Marks {
    /// Finds private reasoning.
    pub reasoning: Option<Reasoning>,
    /// Finds tool calls.
    pub tools: Option<ToolReader>,
    /// Remembers what the caller reads, to be held against a schema.
    pub watch: Option<Watch>,
}

/// What the caller has read of one choice, and the schema that it must keep.
#[derive(Clone)]
pub struct Watch {
    strict: Arc<Strict>,
    most: usize,
    said: String,
}

impl Watch {
    /// A watch over one of `choices` texts, which share what may be remembered.
    #[must_use]
    pub fn new(strict: Arc<Strict>, choices: usize) -> Self {
        Self { strict, most: strict::LONGEST_OUTPUT / choices.max(1), said: String::new() }
    }

    /// One byte more than may be remembered is enough to know that it is too much.
    fn say(&mut self, text: &str) {
        if self.said.len() <= self.most {
            self.said.push_str(text);
        }
    }
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

    /// Whether the caller's schema, if it has one, accepts what it read.
    #[must_use]
    pub fn keep_schema(&self) -> bool {
        let watch = self.watch.as_ref();
        watch.is_none_or(|watch| watch.said.len() <= watch.most && watch.strict.is_met_by(&watch.said))
    }

    /// Reads the next piece.
    pub(crate) fn feed<'a>(&mut self, piece: &'a str) -> Heard<'a> {
        let heard = self.hear(piece);
        self.remember(&heard);
        heard
    }

    fn remember(&mut self, heard: &Heard<'_>) {
        if let Some(watch) = &mut self.watch {
            watch.say(&heard.text);
        }
    }

    fn hear<'a>(&mut self, piece: &'a str) -> Heard<'a> {
        if self.are_none() {
            return Heard { text: piece.into(), is_plain: true, ..Heard::default() };
        }
        let (shown, hidden) = match &mut self.reasoning {
            Some(reasoning) => {
                let split = reasoning.feed(piece);
                (Cow::Owned(split.shown), split.hidden)
            }
            None => (Cow::Borrowed(piece), String::new()),
        };
        let mut heard = self.listen(shown, hidden);
        heard.is_plain = heard.text == piece;
        heard
    }

    /// The text has ended: what was held back.
    pub(crate) fn finish(&mut self) -> Heard<'static> {
        let last = self.reasoning.as_mut().map(Reasoning::finish).unwrap_or_default();
        let mut heard = self.listen(Cow::Owned(last.shown), last.hidden);
        if let Some(tools) = &mut self.tools {
            take(tools.finish(), &mut heard);
        }
        self.remember(&heard);
        heard.is_plain = heard.text.is_empty() && heard.hidden.is_empty() && heard.calls.is_empty();
        heard
    }

    /// A whole text.
    pub(crate) fn read(mut self, text: &str) -> Heard<'_> {
        let mut heard = self.feed(text);
        heard.append(self.finish());
        heard
    }

    fn listen<'a>(&mut self, shown: Cow<'a, str>, hidden: String) -> Heard<'a> {
        let Some(tools) = &mut self.tools else { return Heard { text: shown, hidden, ..Heard::default() } };
        let mut heard = Heard { hidden, ..Heard::default() };
        take(tools.feed(&shown), &mut heard);
        heard
    }
}

fn take(said: Vec<Said>, heard: &mut Heard<'_>) {
    for said in said {
        match said {
            Said::Call { name, arguments, .. } => heard.calls.push((name, arguments)),
            Said::Text(text) if heard.text.is_empty() => heard.text = Cow::Owned(text),
            Said::Text(text) => heard.text.to_mut().push_str(&text),
        }
    }
}

impl Heard<'_> {
    /// The same without what was read.
    pub(crate) fn into_owned(self) -> Heard<'static> {
        Heard {
            text: Cow::Owned(self.text.into_owned()),
            hidden: self.hidden,
            calls: self.calls,
            is_plain: self.is_plain,
        }
    }

    /// Adds what was heard after it.
    pub(crate) fn append(&mut self, later: Heard<'_>) {
        if !later.text.is_empty() {
            self.text.to_mut().push_str(&later.text);
        }
        self.hidden.push_str(&later.hidden);
        self.calls.extend(later.calls);
        self.is_plain &= later.is_plain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::ToolFormat;

    fn marks() -> Marks {
        let tools = ToolReader::new(ToolFormat::Hermes, vec!["f".into()]);
        Marks { reasoning: Reasoning::new("qwen3"), tools: Some(tools), watch: None }
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
    fn what_was_read_is_held_against_the_schema() {
        let strict = Arc::new(Strict::compile(br#"{"type":"integer"}"#).expect("a schema"));
        let met = |marks: &Marks, pieces: &[&str]| {
            let mut marks = marks.clone();
            pieces.iter().for_each(|piece| drop(marks.feed(piece)));
            drop(marks.finish());
            marks.keep_schema()
        };
        let watching = Marks { watch: Some(Watch::new(strict.clone(), 1)), ..Marks::default() };
        assert!(met(&watching, &["1", "2"]) && !met(&watching, &["1", "x"]) && !met(&watching, &[]));
        let hiding = Marks { watch: Some(Watch::new(strict.clone(), 1)), ..marks() };
        assert!(met(&hiding, &["<thi", "nk>a</think>1"]));
        let short = Marks { watch: Some(Watch::new(strict, usize::MAX)), ..Marks::default() };
        assert!(!met(&short, &["1"]) && met(&Marks::default(), &["x"]));
    }

    #[test]
    fn plain_text_stays_what_it_was() {
        assert!(Marks::default().are_none());
        let heard = Marks::default().read("<think>a</think>");
        assert_eq!(heard, Heard { text: "<think>a</think>".into(), is_plain: true, ..Heard::default() });
        assert!(marks().read("a").is_plain);
    }
}
