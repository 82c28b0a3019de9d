//! What is a choice of a whole answer?

/// Most choices of one answer or chunk.
pub(crate) const MAX_CHOICES: usize = 128;

/// What a choice holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Chat: `message`.
    Message,
    /// Completions: `text`.
    Text,
}

impl Kind {
    pub(super) const fn inner(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Text => "text",
        }
    }
}
