//! What is remembered of a body while its fields are checked?

use super::rule::Note;
use super::seen::Seen;
use crate::call::Details;

/// The details of the call so far, and what rules that join distant fields need.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) details: Details,
    /// The body is msgpack: bytes are binary, not base64.
    pub(crate) binary: bool,
    /// The model's dense width, where it is declared.
    pub(crate) dense_dim: Option<u64>,
    /// The model's own cap on output tokens, where it is declared.
    pub(crate) max_output_tokens: Option<u64>,
    /// The names of the declared tools.
    pub(crate) tools: Vec<String>,
    /// The tool that must be called.
    pub(crate) function: Option<String>,
    /// The response format is a JSON Schema.
    pub(crate) json_schema: bool,
    /// It is kept strictly.
    pub(crate) strict: bool,
    /// The response format's schema has a keyword that nobody can verify.
    pub(crate) unverifiable: bool,
    /// Generate: the least tokens that the caller's options ask for.
    pub(crate) least_tokens: Option<i64>,
    /// The text that was read last of those that are kept.
    pub(crate) kept: Option<String>,
    /// A field without whose right type nothing can be done.
    pub(crate) fatal: Option<&'static str>,
}

impl Notes {
    /// Remembers what was seen of a field.
    pub(crate) fn take(&mut self, note: Note, seen: Seen) {
        let kept = self.kept.take();
        match note {
            Note::Nothing => {}
            Note::Profile if matches!(seen, Seen::Text { .. }) => self.details.profile = kept,
            Note::Profile => self.must_be(seen, false, "options.profile"),
            Note::Function => self.function = kept,
            Note::Tool => self.tools.extend(kept),
            Note::Stream => {
                self.details.stream = seen == Seen::Flag(true);
                self.must_be(seen, matches!(seen, Seen::Flag(_)), "stream");
            }
            Note::LeastTokens => self.least_tokens = seen.whole(),
            Note::Strict => self.strict = seen == Seen::Flag(true),
            Note::JsonSchema => self.json_schema = matches!(seen, Seen::Text { word: Some(0), .. }),
            Note::Unverifiable => self.unverifiable = matches!(seen, Seen::Tree { unverifiable: true, .. }),
            _ => self.detail(note, seen),
        }
    }

    fn detail(&mut self, note: Note, seen: Seen) {
        let details = &mut self.details;
        match note {
            Note::Base64 => details.wants_base64 = matches!(seen, Seen::Text { word: Some(1), .. }),
            Note::Choices => details.choices = if seen == Seen::Null { Some(1) } else { count(seen) },
            Note::IncludeReasoning => details.include_reasoning = seen == Seen::Flag(true),
            Note::IncludeUsage => details.include_usage = seen == Seen::Flag(true),
            Note::Input => details.input_chars = chars(seen),
            Note::Logprobs => details.logprobs = matches!(seen, Seen::Flag(true) | Seen::Whole(_)),
            Note::OutputCap => {
                let cap = seen.whole().and_then(|cap| u64::try_from(cap).ok());
                details.output_cap = [details.output_cap, cap].into_iter().flatten().min();
            }
            Note::Prompts => details.prompts = prompts(seen),
            Note::TopN => details.top_n = count(seen),
            _ => {}
        }
    }

    const fn must_be(&mut self, seen: Seen, right: bool, field: &'static str) {
        if !right && seen.is_given() {
            self.fatal = Some(field);
        }
    }
}

fn count(seen: Seen) -> Option<usize> {
    seen.whole().and_then(|number| usize::try_from(number).ok())
}

/// One text or list of token ids is one prompt, and of either there may be several.
fn prompts(seen: Seen) -> Option<usize> {
    match seen {
        Seen::Text { .. } | Seen::List { tokens: true, texts: 0, .. } => Some(1),
        Seen::List { len: len @ 1.., texts, tokens: false, .. } if texts == 0 || texts == len => Some(len as usize),
        _ => None,
    }
}

/// The characters of a text, or of the texts of a list.
fn chars(seen: Seen) -> u64 {
    match seen {
        Seen::Text { count, .. } | Seen::List { count, .. } => count.into(),
        _ => 0,
    }
}
