//! How is a rule about a field written down? As data: a table per object, read by one reader for JSON and msgpack alike.

use super::notes::Notes;
use super::seen::{Disagreement, Facts};
use super::tree::Tree;

/// The fields of one object and what is done about others.
pub(crate) struct Table {
    /// In the order in which the reference checks them: the first that is violated is reported.
    pub(crate) fields: &'static [Field],
    /// What a field that is not listed is.
    pub(crate) unknown: Unknown,
    /// Violations inside are said of the whole value, not of the member.
    pub(crate) whole: bool,
    /// What the fields must say together.
    pub(crate) agree: fn(&Facts<'_>, &Notes) -> Option<Disagreement>,
}

impl Table {
    /// A table that minds its own fields only.
    pub(crate) const fn of(fields: &'static [Field]) -> Self {
        Self { fields, unknown: Unknown::Ignored, whole: false, agree: |_, _| None }
    }

    /// Others are rejected, at this place in the order.
    pub(crate) const fn closed(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// Violations are said of the whole value.
    pub(crate) const fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Adds what the fields must say together.
    pub(crate) const fn agreeing(mut self, agree: fn(&Facts<'_>, &Notes) -> Option<Disagreement>) -> Self {
        self.agree = agree;
        self
    }
}

/// What a field that no table lists is; the first by sort order is the one that is reported.
#[derive(Clone, Copy)]
pub(crate) enum Unknown {
    /// Nobody's business.
    Ignored,
    /// Not accepted, and checked before every field.
    First { code: Option<&'static str> },
    /// Not accepted, and checked after the field of this name.
    After { field: &'static str, code: Option<&'static str> },
}

/// One field.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) rule: Rule,
    pub(crate) need: Need,
    /// One sentence that says how to mend it.
    pub(crate) mend: &'static str,
    /// The code of its violation, where it is not the surface's own.
    pub(crate) code: Option<&'static str>,
    /// What is remembered of it.
    pub(crate) note: Note,
}

/// A field by name, rule and what it must be.
macro_rules! field {
    ($name:literal, $rule:expr, $must:literal) => {
        $crate::validate::rule::Field::new($name, $rule, concat!("`", $name, "` must be ", $must))
    };
}
pub(crate) use field;

impl Field {
    pub(crate) const fn new(name: &'static str, rule: Rule, mend: &'static str) -> Self {
        Self { name, rule, need: Need::Optional, mend, code: None, note: Note::Nothing }
    }

    /// It must be there.
    pub(crate) const fn required(mut self) -> Self {
        self.need = Need::Required;
        self
    }

    /// It may be left out, but null is no value.
    pub(crate) const fn not_null(mut self) -> Self {
        self.need = Need::NotNull;
        self
    }

    pub(crate) const fn noted(mut self, note: Note) -> Self {
        self.note = note;
        self
    }

    pub(crate) const fn coded(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }
}

/// Whether a field must be there; null counts as left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    NotNull,
    Optional,
    Required,
}

/// What is remembered of a field's value; [`Notes::take`] says how.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    Nothing,
    Base64,
    Choices,
    Function,
    IncludeReasoning,
    IncludeUsage,
    Input,
    JsonSchema,
    LeastTokens,
    Logprobs,
    OutputCap,
    Profile,
    Prompts,
    Stream,
    Strict,
    Tool,
    TopN,
    Unverifiable,
}

/// What a value must be.
pub(crate) enum Rule {
    /// Anything.
    Any,
    /// Bytes: base64 in JSON, binary in msgpack.
    Bytes(Base64),
    /// True or false.
    Flag,
    /// An array.
    List(&'static List),
    /// An object of values of one kind.
    Map(&'static Map),
    /// A number, not only a whole one.
    Number(Range),
    /// An object with fields of its own.
    Object(&'static Table),
    /// One of several kinds of value, each kind once; [`Self::Any`] stands for all others.
    OneOf(&'static [Self]),
    /// A text.
    Text(Text),
    /// An object of any content, measured.
    Tree(&'static Tree),
    /// A whole number.
    Whole(i64, i64),
}

impl Rule {
    pub(crate) const TEXT: Self = Self::Text(Text::ANY);
    pub(crate) const FILLED: Self = Self::Text(Text::FILLED);
    /// A count as the reference takes them: 1 to 2^32 - 1.
    pub(crate) const COUNT: Self = Self::Whole(1, u32::MAX as i64);
    pub(crate) const SEED: Self = Self::Whole(i64::MIN, i64::MAX);
    pub(crate) const PENALTY: Self = Self::Number(Range::between(-2.0, 2.0));
    pub(crate) const OBJECT: Self = Self::Object(&Table::of(&[]));
    pub(crate) const LIST: Self = Self::List(&List::of(Self::Any));

    /// The rule for a value of this kind.
    pub(crate) fn for_kind(&'static self, kind: Kind) -> &'static Self {
        match self {
            Self::OneOf(rules) => {
                let any = || rules.iter().find(|rule| matches!(rule, Self::Any));
                rules.iter().find(|rule| rule.kind() == Some(kind)).or_else(any).unwrap_or(self)
            }
            _ => self,
        }
    }

    const fn kind(&self) -> Option<Kind> {
        match self {
            Self::Any | Self::OneOf(_) => None,
            Self::Bytes(_) | Self::Text(_) => Some(Kind::Text),
            Self::Flag => Some(Kind::Flag),
            Self::List(_) => Some(Kind::List),
            Self::Map(_) | Self::Object(_) | Self::Tree(_) => Some(Kind::Object),
            Self::Number(_) | Self::Whole(..) => Some(Kind::Number),
        }
    }
}

/// The kinds of value that JSON and msgpack share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Flag,
    List,
    Number,
    Object,
    Text,
}

/// A text and its bounds.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    /// Not the empty text.
    pub(crate) filled: bool,
    /// Not only white space.
    pub(crate) visible: bool,
    pub(crate) most_bytes: usize,
    pub(crate) most_chars: usize,
    /// What more than that is.
    pub(crate) over: Over,
    /// The words that are remembered by their place, and whether they are the only ones.
    pub(crate) words: &'static [&'static str],
    pub(crate) only: bool,
    /// The code of another word than these.
    pub(crate) word_code: Option<&'static str>,
    /// The characters it may be of.
    pub(crate) of: Option<fn(char) -> bool>,
    pub(crate) count: Count,
    /// It is kept for [`Notes::take`].
    pub(crate) kept: bool,
}

impl Text {
    pub(crate) const ANY: Self = Self {
        filled: false,
        visible: false,
        most_bytes: usize::MAX,
        most_chars: usize::MAX,
        over: Over { status: 400, code: None, message: None },
        words: &[],
        only: false,
        word_code: None,
        of: None,
        count: Count::Nothing,
        kept: false,
    };
    pub(crate) const FILLED: Self = Self { filled: true, ..Self::ANY };

    /// One of these words.
    pub(crate) const fn word(words: &'static [&'static str]) -> Self {
        Self { words, only: true, ..Self::ANY }
    }
}

/// What is counted of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// Characters.
    Chars,
    /// Bytes as JSON in ASCII.
    Json,
    Nothing,
}

/// How a value over its bound is rejected.
#[derive(Clone, Copy)]
pub(crate) struct Over {
    pub(crate) status: u16,
    pub(crate) code: Option<&'static str>,
    pub(crate) message: Option<&'static str>,
}

/// Numbers from `low` to `high`.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    low: f64,
    high: f64,
    /// `low` itself is outside.
    above: bool,
}

impl Range {
    pub(crate) const fn between(low: f64, high: f64) -> Self {
        Self { low, high, above: false }
    }

    pub(crate) const fn above(low: f64, high: f64) -> Self {
        Self { low, high, above: true }
    }

    pub(crate) fn holds(&self, number: f64) -> bool {
        number.is_finite() && number <= self.high && if self.above { number > self.low } else { number >= self.low }
    }
}

/// An array and its bounds.
pub(crate) struct List {
    pub(crate) of: Rule,
    pub(crate) least: usize,
    pub(crate) most: usize,
    /// The code of a wrong count.
    pub(crate) count_code: Option<&'static str>,
    /// Violations inside are said of the whole array.
    pub(crate) whole: bool,
}

impl List {
    pub(crate) const fn of(of: Rule) -> Self {
        Self { of, least: 0, most: usize::MAX, count_code: None, whole: false }
    }

    pub(crate) const fn counting(mut self, least: usize, most: usize) -> Self {
        self.least = least;
        self.most = most;
        self
    }

    pub(crate) const fn whole(mut self) -> Self {
        self.whole = true;
        self
    }
}

/// An object of values of one kind; violations are said of the whole.
pub(crate) struct Map {
    pub(crate) key: fn(&str) -> bool,
    pub(crate) of: Rule,
    pub(crate) most: usize,
}

/// Bytes and their bounds.
#[derive(Clone, Copy)]
pub(crate) struct Base64 {
    /// There is one way to write them, and it is the one.
    pub(crate) canonical: bool,
    pub(crate) least: usize,
    pub(crate) most: usize,
}

/// Code of a field or value that the surface does not take.
pub(crate) const UNSUPPORTED: &str = "unsupported_field";
