//! What does a whole body say, and what is its first violation? The top-level object, read once.

use super::fields::{Fields, KeyText};
use super::notes::Notes;
use super::read::{Reader, TWICE};
use super::rule::{Field, Note, Rule, Table, Text, field};
use super::{Rules, Sheet};
use crate::call::Format;
use crate::error_answer::ErrorAnswer;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use spillway_policies::Surface;
use std::fmt;

/// Reads a body against the sheet of its surface.
pub(crate) struct Body<'b> {
    pub(crate) surface: Surface,
    pub(crate) format: Format,
    pub(crate) sheet: &'static Sheet,
    pub(crate) rules: &'b Rules<'b>,
    pub(crate) notes: &'b mut Notes,
}

/// The first violation, or none.
pub(crate) type Verdict = Option<Box<ErrorAnswer>>;

impl<'de> DeserializeSeed<'de> for &mut Body<'_> {
    type Value = Verdict;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Verdict, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Body<'_> {
    type Value = Verdict;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Verdict, A::Error> {
        let Body { sheet, rules, ref mut notes, .. } = *self;
        **notes = begin(self.surface, self.format, rules);
        let table = sheet.table;
        let hints = elsewhere(self.surface);
        let (mut fields, mut elsewhere) = (Fields::new(table), Fields::new(hints));
        while let Some(name) = members.next_key_seed(KeyText)? {
            let Some(name) = name else {
                fields.nameless();
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let accepted = rules.accept.iter().any(|accepted| *accepted == name);
            match find(table.fields, &name) {
                Some(at) if fields.has(at) => return Err(A::Error::custom(TWICE)),
                Some(at) => {
                    let outcome = members.next_value_seed(Reader { rule: &table.fields[at].rule, notes })?;
                    if accepted { fields.put_accepted(at, outcome, notes) } else { fields.put(at, outcome, notes) }
                }
                None => {
                    if !accepted {
                        fields.unknown(&name);
                    }
                    match find(hints.fields, &name) {
                        Some(at) if elsewhere.has(at) => return Err(A::Error::custom(TWICE)),
                        Some(at) => {
                            let outcome = members.next_value_seed(Reader { rule: &hints.fields[at].rule, notes })?;
                            elsewhere.put_accepted(at, outcome, notes);
                        }
                        None => drop(members.next_value::<IgnoredAny>()?),
                    }
                }
            }
        }
        Ok(fields.finish(notes).err().map(|wrong| Box::new(sheet.answer(&wrong))))
    }
}

/// What is known before the first field.
fn begin(surface: Surface, format: Format, rules: &Rules<'_>) -> Notes {
    let mut notes = Notes {
        binary: format == Format::Msgpack,
        dense_dim: rules.dense_dim,
        max_output_tokens: rules.max_output_tokens,
        ..Notes::default()
    };
    if matches!(surface, Surface::Chat | Surface::Completions) {
        notes.details.choices = Some(1);
    }
    notes
}

fn find(fields: &[Field], name: &str) -> Option<usize> {
    fields.iter().position(|field| field.name == name)
}

/// Fields that say something also where a surface does not list them: an operator may accept them, and a profile is honoured
/// wherever it is named (product section 3). Encode and extract have their options in `params` and nowhere else (contract section 1.3).
const fn elsewhere(surface: Surface) -> &'static Table {
    if matches!(surface, Surface::Encode | Surface::Extract) { &NOTHING } else { &HINTS }
}

static NOTHING: Table = Table::of(&[]);

static HINTS: Table = Table::of(&[
    field!("include_reasoning", Rule::Flag, "true or false").noted(Note::IncludeReasoning),
    field!("options", Rule::OneOf(&[Rule::Object(&OPTIONS)]), "an object"),
]);

/// A profile's name, kept.
pub(super) const PROFILE: Field =
    field!("profile", Rule::Text(Text { kept: true, visible: true, ..Text::ANY }), "the name of a profile")
        .noted(Note::Profile);

static OPTIONS: Table = Table::of(&[PROFILE]);
