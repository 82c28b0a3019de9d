//! How is a row of a preset known?

/// Where a row comes from, so that nobody has to take it on trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// How it was learned.
    pub how: How,
    /// From what: an engine with its version and file, a page, an issue.
    pub what: &'static str,
}

/// How a row was learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A real engine did it in front of us: a test of this project, or a recorded run.
    Seen,
    /// It stands in the engine's source.
    Read,
    /// The vendor's documentation says it.
    Documented,
    /// It follows from something else, or is common knowledge.
    Inferred,
    /// The operator wrote it.
    Configured,
}

impl Origin {
    /// What a real engine did.
    #[must_use]
    pub const fn seen(what: &'static str) -> Self {
        Self { how: How::Seen, what }
    }

    /// What stands in the engine's source.
    #[must_use]
    pub const fn read(what: &'static str) -> Self {
        Self { how: How::Read, what }
    }

    /// What the vendor documents.
    #[must_use]
    pub const fn documented(what: &'static str) -> Self {
        Self { how: How::Documented, what }
    }

    /// What is only likely.
    #[must_use]
    pub const fn inferred(what: &'static str) -> Self {
        Self { how: How::Inferred, what }
    }

    /// What the operator wrote.
    pub const CONFIGURED: Self = Self { how: How::Configured, what: "the configuration" };

    /// Whether somebody has seen it happen.
    #[must_use]
    pub const fn is_seen(self) -> bool {
        matches!(self.how, How::Seen | How::Configured)
    }
}
