//! Reading one value: what it must be, and a note when it is something else.

use super::{Place, Table, did_you_mean};
use crate::config::suggest::quoted;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::DeValue;

/// One value and the key it stands under.
pub(in crate::config) struct Node<'t> {
    /// The key.
    pub(in crate::config) name: Place<'t>,
    /// The value.
    pub(in crate::config) place: Place<'t>,
    pub(super) value: &'t DeValue<'t>,
}

impl<'t> Node<'t> {
    /// A string.
    pub(in crate::config) fn text(&self) -> Option<&'t str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => self.unfit("a string"),
        }
    }

    /// True or false.
    pub(in crate::config) fn flag(&self) -> Option<bool> {
        self.value.as_bool().or_else(|| self.unfit("true or false"))
    }

    /// A whole number within bounds. `true`, `"3"` and `3.0` are not whole numbers here.
    pub(in crate::config) fn whole(&self, bounds: RangeInclusive<u64>) -> Option<u64> {
        let DeValue::Integer(digits) = self.value else { return self.unfit("a whole number") };
        let number = u64::from_str_radix(digits.as_str(), digits.radix()).ok();
        let within = number.filter(|number| bounds.contains(number));
        if within.is_none() {
            self.place.wrong(format!("must be a whole number from {} to {}", bounds.start(), bounds.end()), "");
        }
        within
    }

    /// [`Node::whole`] for the 32-bit sizes of policies.
    pub(in crate::config) fn count(&self, bounds: RangeInclusive<u32>) -> Option<u32> {
        let number = self.whole(u64::from(*bounds.start())..=u64::from(*bounds.end()))?;
        Some(u32::try_from(number).expect("the bounds are 32-bit numbers"))
    }

    /// A finite number above zero, whole or not.
    pub(in crate::config) fn positive(&self) -> Option<f64> {
        let number = self.number()?;
        if number > 0.0 && number.is_finite() {
            return Some(number);
        }
        self.place.wrong("must be a number above 0", "");
        None
    }

    /// A time in seconds, whole or not, as milliseconds within bounds.
    pub(in crate::config) fn seconds(&self, bounds_ms: RangeInclusive<u64>) -> Option<u64> {
        let millis = self.number()? * 1000.0;
        let (least, most) = (*bounds_ms.start(), *bounds_ms.end());
        // The bounds are far below 2^53, so the comparison and the cast are exact.
        if millis >= least as f64 && millis <= most as f64 {
            return Some(millis.round() as u64);
        }
        let from = if least == 0 { "from 0".into() } else { format!("from {}", least as f64 / 1000.0) };
        self.place.wrong(format!("must be a number of seconds {from} to {}", most as f64 / 1000.0), "");
        None
    }

    fn number(&self) -> Option<f64> {
        match self.value {
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
                .map_or(Some(f64::INFINITY), |whole| Some(whole as f64)),
            DeValue::Float(digits) => Some(digits.as_str().parse().unwrap_or(f64::NAN)),
            _ => self.unfit("a number"),
        }
    }

    /// One of a few words.
    pub(in crate::config) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let written = self.text()?;
        let chosen = choices.iter().find(|(word, _)| *word == written).map(|(_, meaning)| *meaning);
        if chosen.is_none() {
            let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
            self.place.wrong(format!("must be {}", quoted(&words, "or")), did_you_mean(written, words));
        }
        chosen
    }

    /// A table.
    pub(in crate::config) fn table(&self) -> Option<Table<'t>> {
        match self.value {
            DeValue::Table(entries) => Some(Table::new(self.place.clone(), entries)),
            _ => self.unfit("a table"),
        }
    }

    /// A list, empty or not.
    pub(in crate::config) fn list(&self) -> Option<Vec<Self>> {
        let DeValue::Array(items) = self.value else { return self.unfit("a list") };
        Some(items.iter().enumerate().map(|(index, item)| self.item(index, item)).collect())
    }

    /// A list of strings; what is not a string is noted and left out.
    pub(in crate::config) fn texts(&self) -> Option<Vec<(&'t str, Place<'t>)>> {
        Some(self.list()?.into_iter().filter_map(|item| Some((item.text()?, item.place))).collect())
    }

    /// The value as it was parsed, for what has no type of its own.
    pub(in crate::config) fn raw(&self) -> &'t DeValue<'t> {
        self.value
    }

    fn item(&self, index: usize, item: &'t Spanned<DeValue<'t>>) -> Self {
        let path = format!("{}[{index}]", self.place.path);
        let place = Place { notes: self.place.notes, path, span: item.span() };
        Self { name: place.clone(), place, value: item.get_ref() }
    }

    fn unfit<T>(&self, expected: &str) -> Option<T> {
        let found = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.place.wrong(format!("must be {expected}, not {found}"), "");
        None
    }
}
