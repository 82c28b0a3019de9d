//! Does a value keep its rule? One reader for JSON and msgpack: values are looked at as they pass and never built.

use super::base64;
use super::fields::Fields;
use super::notes::Notes;
use super::rule::{Base64, Count, Kind, List, Map, Over, Rule, Table, Text};
use super::seen::{Outcome, Seen, Wrong};
use super::tree::{self, Tree};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Reads one value against one rule.
pub(super) struct Reader<'n> {
    pub(super) rule: &'static Rule,
    pub(super) notes: &'n mut Notes,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Outcome;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Outcome, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Outcome;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Outcome, E> {
        Ok(Ok(Seen::Null))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Outcome, E> {
        Ok(match self.rule.for_kind(Kind::Flag) {
            Rule::Flag | Rule::Any => Ok(Seen::Flag(flag)),
            _ => plain(),
        })
    }

    fn visit_i64<E>(self, number: i64) -> Result<Outcome, E> {
        Ok(self.whole(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Outcome, E> {
        Ok(self.whole(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Outcome, E> {
        Ok(match self.rule.for_kind(Kind::Number) {
            Rule::Any => Ok(Seen::Number(number)),
            Rule::Number(range) if range.holds(number) => Ok(Seen::Number(number)),
            _ => plain(),
        })
    }

    fn visit_str<E>(self, text: &str) -> Result<Outcome, E> {
        Ok(match self.rule.for_kind(Kind::Text) {
            Rule::Any => Ok(Seen::Text { bytes: small(text.len()), count: 0, word: None }),
            Rule::Text(rule) => read_text(rule, text, self.notes),
            Rule::Bytes(rule) if !self.notes.binary => read_base64(rule, text),
            _ => plain(),
        })
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Outcome, E> {
        Ok(match self.rule.for_kind(Kind::Text) {
            Rule::Any => Ok(Seen::Other),
            Rule::Bytes(rule) if (rule.least..=rule.most).contains(&bytes.len()) => Ok(Seen::Other),
            _ => plain(),
        })
    }

    // An extension of msgpack: no rule takes one.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Outcome, D::Error> {
        deserializer.deserialize_any(IgnoredAny)?;
        Ok(if matches!(self.rule, Rule::Any) { Ok(Seen::Other) } else { plain() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Outcome, A::Error> {
        match self.rule.for_kind(Kind::List) {
            // Nobody looks into it, so nothing recurses.
            Rule::Any => IgnoredAny.visit_seq(elements).map(|_| Ok(Seen::Other)),
            Rule::List(list) => read_list(list, elements, self.notes),
            _ => IgnoredAny.visit_seq(elements).map(|_| plain()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Outcome, A::Error> {
        match self.rule.for_kind(Kind::Object) {
            Rule::Any => IgnoredAny.visit_map(members).map(|_| Ok(Seen::Object)),
            Rule::Object(table) => read_object(table, members, self.notes),
            Rule::Map(map) => read_map(map, members, self.notes),
            Rule::Tree(rule) => read_tree(rule, members),
            _ => IgnoredAny.visit_map(members).map(|_| plain()),
        }
    }
}

impl Reader<'_> {
    #[expect(clippy::cast_precision_loss, reason = "ranges are far coarser than the digits that are lost")]
    fn whole(&self, number: i128) -> Outcome {
        let fits = i64::try_from(number);
        let seen = Seen::Whole(fits.unwrap_or(i64::MAX));
        match self.rule.for_kind(Kind::Number) {
            Rule::Any => Ok(seen),
            Rule::Whole(low, high) if fits.is_ok_and(|number| (*low..=*high).contains(&number)) => Ok(seen),
            Rule::Number(range) if range.holds(number as f64) => Ok(seen),
            _ => plain(),
        }
    }
}

/// Two readers might each take another one of the two.
pub(super) const TWICE: &str = "a field stands twice";

fn plain() -> Outcome {
    Err(Box::new(Wrong::PLAIN))
}

/// A length as it is remembered; nothing that is asked about it reaches so far.
pub(super) fn small(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn read_text(rule: &Text, text: &str, notes: &mut Notes) -> Outcome {
    let word = rule.words.iter().position(|word| *word == text);
    let blank = rule.visible && text.trim().is_empty();
    if (rule.filled && text.is_empty()) || blank || rule.of.is_some_and(|of| !text.chars().all(of)) {
        return plain();
    }
    if rule.only && word.is_none() {
        return Err(Box::new(Wrong { code: rule.word_code, ..Wrong::PLAIN }));
    }
    if text.len() > rule.most_bytes || (text.len() > rule.most_chars && text.chars().count() > rule.most_chars) {
        return Err(Box::new(Wrong::over(rule.over)));
    }
    if rule.kept {
        notes.kept = Some(text.to_owned());
    }
    let count = match rule.count {
        Count::Chars => text.chars().count(),
        Count::Json => tree::ascii_len(text),
        Count::Nothing => 0,
    };
    Ok(Seen::Text { bytes: small(text.len()), count: small(count), word: word.and_then(|at| u8::try_from(at).ok()) })
}

fn read_base64(rule: &Base64, text: &str) -> Outcome {
    match base64::len(text.as_bytes(), rule.canonical) {
        Some(len) if (rule.least..=rule.most).contains(&len) => Ok(Seen::Other),
        _ => plain(),
    }
}

fn read_list<'de, A: SeqAccess<'de>>(
    list: &'static List,
    mut elements: A,
    notes: &mut Notes,
) -> Result<Outcome, A::Error> {
    let (mut len, mut texts, mut count, mut tokens) = (0_usize, 0_u32, 0_u32, false);
    let mut first: Option<Box<Wrong>> = None;
    loop {
        if first.is_some() || len > list.most {
            // What follows cannot change the verdict.
            while elements.next_element::<IgnoredAny>()?.is_some() {
                len += 1;
            }
            break;
        }
        match elements.next_element_seed(Reader { rule: &list.of, notes })? {
            None => break,
            Some(Ok(Seen::Null)) if !matches!(list.of, Rule::Any) => first = Some(element(list, len, Wrong::PLAIN)),
            Some(Ok(Seen::Text { count: more, .. })) => {
                texts += 1;
                count = count.saturating_add(more);
            }
            Some(Ok(seen)) => tokens |= len == 0 && matches!(seen, Seen::Whole(_) | Seen::Number(_)),
            Some(Err(wrong)) => first = Some(element(list, len, *wrong)),
        }
        len += 1;
    }
    if !(list.least..=list.most).contains(&len) {
        let over = Over { status: 400, code: list.count_code, message: None };
        let wrong = if list.count_code.is_some() { Wrong::over(over) } else { Wrong::PLAIN };
        return Ok(Err(Box::new(wrong)));
    }
    Ok(first.map_or_else(|| Ok(Seen::List { len: small(len), texts, count, tokens }), Err))
}

fn element(list: &List, at: usize, mut wrong: Wrong) -> Box<Wrong> {
    if list.whole {
        wrong.path.clear();
    } else {
        wrong.path.insert_str(0, &format!("[{at}]"));
    }
    Box::new(wrong)
}

fn read_object<'de, A: MapAccess<'de>>(
    table: &'static Table,
    mut members: A,
    notes: &mut Notes,
) -> Result<Outcome, A::Error> {
    let mut fields = Fields::new(table);
    while let Some(at) = members.next_key_seed(fields.key())? {
        match at {
            Some(at) if fields.is_ambiguous(at) => return Err(A::Error::custom(TWICE)),
            Some(at) => {
                let outcome = members.next_value_seed(Reader { rule: &table.fields[at].rule, notes })?;
                fields.put(at, outcome, notes);
            }
            None => drop(members.next_value::<IgnoredAny>()?),
        }
    }
    Ok(fields.finish(notes).map(|()| Seen::Object).map_err(Box::new))
}

fn read_map<'de, A: MapAccess<'de>>(map: &'static Map, mut members: A, notes: &mut Notes) -> Result<Outcome, A::Error> {
    let (mut len, mut right) = (0_usize, true);
    while let Some(key) = members.next_key_seed(super::fields::KeyText)? {
        right &= key.is_some_and(|key| (map.key)(&key));
        if right && len < map.most {
            right = !matches!(members.next_value_seed(Reader { rule: &map.of, notes })?, Err(_) | Ok(Seen::Null));
        } else {
            members.next_value::<IgnoredAny>()?;
        }
        len += 1;
    }
    Ok(if right && len <= map.most { Ok(Seen::Object) } else { plain() })
}

fn read_tree<'de, A: MapAccess<'de>>(rule: &'static Tree, members: A) -> Result<Outcome, A::Error> {
    let mut tally = tree::Tally::default();
    tree::Walk::root(rule, &mut tally).visit_map(members)?;
    Ok(match tally.wrong {
        Some(wrong) => Err(wrong),
        None => Ok(Seen::Tree { bytes: small(tally.bytes), unverifiable: tally.unverifiable }),
    })
}
