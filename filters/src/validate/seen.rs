//! What was seen of a value as it passed, and what is wrong with it?

use super::rule::{Over, Table};

/// What was seen of a value: enough for rules that join fields, and for the details of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Seen {
    /// Nothing.
    #[default]
    Absent,
    Flag(bool),
    List {
        len: u32,
        texts: u32,
        /// What the rule of its texts counts, together.
        count: u32,
        /// It begins with a number: token ids.
        tokens: bool,
    },
    Null,
    Number(f64),
    Object,
    /// Something that breaks the rule, or that nobody asks about.
    Other,
    Text {
        bytes: u32,
        /// What the rule counts.
        count: u32,
        word: Option<u8>,
    },
    Tree {
        bytes: u32,
        /// A keyword stands in it that cannot be verified.
        unverifiable: bool,
    },
    Whole(i64),
}

impl Seen {
    /// Neither left out nor null.
    pub(crate) const fn is_given(self) -> bool {
        !matches!(self, Self::Absent | Self::Null)
    }

    /// A text of at least one byte.
    pub(crate) const fn is_filled(self) -> bool {
        matches!(self, Self::Text { bytes: 1.., .. })
    }

    /// The whole number that was seen.
    pub(crate) const fn whole(self) -> Option<i64> {
        if let Self::Whole(number) = self { Some(number) } else { None }
    }
}

/// What was seen of the fields of one object.
pub(crate) struct Facts<'f> {
    pub(crate) table: &'static Table,
    pub(crate) seen: &'f [Seen],
}

impl Facts<'_> {
    /// What was seen of one field.
    pub(crate) fn of(&self, name: &str) -> Seen {
        self.table.fields.iter().position(|field| field.name == name).map_or(Seen::Absent, |at| self.seen[at])
    }
}

/// Fields that are fine alone and not together.
pub(crate) struct Disagreement {
    /// The field that is reported; none for the whole object.
    pub(crate) field: Option<&'static str>,
    /// When it is checked.
    pub(crate) rank: Rank,
    pub(crate) wrong: Wrong,
}

/// When a disagreement is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Before all fields.
    First,
    /// With its field, and before the field alone.
    Field,
    /// After all fields.
    Last,
}

impl Disagreement {
    pub(crate) const fn at(field: &'static str, wrong: Wrong) -> Self {
        Self { field: Some(field), rank: Rank::Field, wrong }
    }

    pub(crate) const fn last(field: &'static str, wrong: Wrong) -> Self {
        Self { field: Some(field), rank: Rank::Last, wrong }
    }

    /// A disagreement of the whole object.
    pub(crate) const fn whole(rank: Rank, message: &'static str) -> Self {
        Self { field: None, rank, wrong: Wrong::saying(message) }
    }
}

/// One violation. What is not said is filled in by the field it happened in, then by the surface.
pub(crate) struct Wrong {
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<&'static str>,
    pub(crate) message: Option<&'static str>,
    /// It is not there at all.
    pub(crate) missing: bool,
    /// Where, below the value that was read: `.name` and `[index]` steps.
    pub(crate) path: String,
}

impl Wrong {
    /// The value is not what its field's sentence says.
    pub(crate) const PLAIN: Self =
        Self { status: None, code: None, message: None, missing: false, path: String::new() };

    pub(crate) const fn saying(message: &'static str) -> Self {
        Self { status: None, code: None, message: Some(message), missing: false, path: String::new() }
    }

    pub(crate) const fn coded(code: &'static str, message: &'static str) -> Self {
        Self { status: None, code: Some(code), message: Some(message), missing: false, path: String::new() }
    }

    pub(crate) const fn over(over: Over) -> Self {
        Self { status: Some(over.status), code: over.code, message: over.message, missing: false, path: String::new() }
    }
}

/// What a value was, or why it may not be so.
pub(crate) type Outcome = Result<Seen, Box<Wrong>>;
