//! Which fields of an object have been read, and which violation comes first?

use super::notes::Notes;
use super::rule::{Need, Note, Table, Unknown};
use super::seen::{Disagreement, Facts, Outcome, Rank, Seen, Wrong};
use serde::de::{DeserializeSeed, Deserializer, Visitor};
use std::borrow::Cow;
use std::fmt;

/// More fields than any table has.
pub(super) const MOST_FIELDS: usize = 48;

/// The fields of one object so far.
pub(super) struct Fields {
    table: &'static Table,
    seen: [Seen; MOST_FIELDS],
    /// The violation that the reference would come to first, and its place in that order.
    first: Option<(usize, Wrong)>,
    /// The unknown field that sorts first.
    unknown: Option<String>,
}

impl Fields {
    pub(super) const fn new(table: &'static Table) -> Self {
        Self { table, seen: [Seen::Absent; MOST_FIELDS], first: None, unknown: None }
    }

    /// Whether a field was read already.
    pub(super) fn has(&self, at: usize) -> bool {
        self.seen[at] != Seen::Absent
    }

    /// Whether a field was read already whose value is remembered: which of the two holds is not ours to say.
    pub(super) fn is_ambiguous(&self, at: usize) -> bool {
        self.has(at) && self.table.fields[at].note != Note::Nothing
    }

    /// Reads the next name: its place in the table, or none and it is remembered as unknown.
    pub(super) const fn key(&mut self) -> Key<'_> {
        Key { fields: self }
    }

    /// Remembers an unknown field when it is the first by sort order.
    pub(super) fn unknown(&mut self, name: &str) {
        if !matches!(self.table.unknown, Unknown::Ignored) && self.unknown.as_deref().is_none_or(|first| name < first) {
            self.unknown = Some(name.to_owned());
        }
    }

    /// Takes what became of one field.
    pub(super) fn put(&mut self, at: usize, outcome: Outcome, notes: &mut Notes) {
        let field = &self.table.fields[at];
        let seen = match outcome {
            Ok(Seen::Null) if field.need == Need::NotNull => {
                self.wrong(at, Wrong::PLAIN);
                Seen::Null
            }
            Ok(seen) => seen,
            Err(wrong) => {
                self.wrong(at, *wrong);
                Seen::Other
            }
        };
        self.seen[at] = seen;
        notes.take(field.note, seen);
    }

    /// Remembers a field whose value nobody judges.
    pub(super) fn put_accepted(&mut self, at: usize, outcome: Outcome, notes: &mut Notes) {
        self.seen[at] = Seen::Other;
        notes.take(self.table.fields[at].note, outcome.unwrap_or(Seen::Other));
    }

    fn wrong(&mut self, at: usize, wrong: Wrong) {
        let wrong = self.named(at, wrong);
        self.keep(2 * at + 2, wrong);
    }

    fn named(&self, at: usize, mut wrong: Wrong) -> Wrong {
        let field = &self.table.fields[at];
        wrong.message = wrong.message.or(Some(field.mend));
        wrong.code = wrong.code.or(field.code);
        wrong.path.insert_str(0, field.name);
        wrong.path.insert(0, '.');
        wrong
    }

    /// A name that is no text: no field has one.
    pub(super) fn nameless(&mut self) {
        self.keep(0, Wrong::saying("names of fields must be texts"));
    }

    fn keep(&mut self, rank: usize, wrong: Wrong) {
        if self.first.as_ref().is_none_or(|(first, _)| rank < *first) {
            self.first = Some((rank, wrong));
        }
    }

    /// The first violation, when the whole object was read.
    pub(super) fn finish(&mut self, notes: &Notes) -> Result<(), Wrong> {
        let table = self.table;
        let missing = |(at, field): (usize, &super::rule::Field)| {
            (field.need == Need::Required && !self.seen[at].is_given()).then_some(at)
        };
        if let Some(at) = table.fields.iter().enumerate().find_map(missing) {
            let missing = self.seen[at] == Seen::Absent;
            self.wrong(at, Wrong { missing, ..Wrong::PLAIN });
        }
        if let Some(name) = self.unknown.take() {
            self.reject_unknown(&name);
        }
        if let Some(disagreement) = (table.agree)(&Facts { table, seen: &self.seen }, notes) {
            self.disagree(disagreement);
        }
        match self.first.take() {
            None => Ok(()),
            Some((_, mut wrong)) => {
                if table.whole {
                    wrong.path.clear();
                }
                Err(wrong)
            }
        }
    }

    fn disagree(&mut self, Disagreement { field, rank, wrong }: Disagreement) {
        let at = field.and_then(|field| self.table.fields.iter().position(|known| known.name == field));
        let rank = match (rank, at) {
            (Rank::First, _) => 1,
            (Rank::Field, Some(at)) => 2 * at + 2,
            _ => usize::MAX,
        };
        let wrong = match at {
            Some(at) => self.named(at, wrong),
            None => wrong,
        };
        // Its own violation, of the same rank, comes after it.
        if self.first.as_ref().is_none_or(|(first, _)| rank <= *first) {
            self.first = Some((rank, wrong));
        }
    }

    fn reject_unknown(&mut self, name: &str) {
        let (rank, code) = match self.table.unknown {
            Unknown::Ignored => return,
            Unknown::First { code } => (0, code),
            Unknown::After { field, code } => {
                let at = self.table.fields.iter().position(|known| known.name == field);
                (2 * at.unwrap_or(0) + 3, code)
            }
        };
        let message = "this field is not accepted here: leave it out";
        let mut wrong = Wrong { code, ..Wrong::saying(message) };
        wrong.path = format!(".{name}");
        self.keep(rank, wrong);
    }
}

/// Reads one name of an object, and keeps none but an unknown one that sorts first.
pub(super) struct Key<'f> {
    fields: &'f mut Fields,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        let at = self.fields.table.fields.iter().position(|field| field.name == name);
        if at.is_none() {
            self.fields.unknown(name);
        }
        Ok(at)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Option<usize>, E> {
        self.fields.nameless();
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Option<usize>, E> {
        self.fields.nameless();
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<usize>, E> {
        self.fields.nameless();
        Ok(None)
    }
}

/// Reads a name as text, borrowed where it can be; a name of another kind is nobody's.
pub(super) struct KeyText;

impl<'de> DeserializeSeed<'de> for KeyText {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeyText {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(name.to_owned())))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_fits() {
        for table in crate::validate::tables() {
            assert!(table.fields.len() <= MOST_FIELDS);
        }
    }
}
