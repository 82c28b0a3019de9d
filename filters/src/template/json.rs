//! How does Python write a value as JSON? Templates put tools and arguments into the prompt this way, and models were trained on it.

use super::LONGEST_PROMPT;
use super::environment::TooLong;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};
use std::fmt::Write;

/// The options of `json.dumps`.
pub(super) struct Style {
    pub(super) ascii: bool,
    /// What one level is indented by.
    pub(super) indent: Option<String>,
    /// Between members, and after a key.
    pub(super) separators: Option<(String, String)>,
    pub(super) sorted: bool,
}

/// The option `indent`: a number of spaces, or the text itself.
pub(super) fn indent(value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let spaces = usize::try_from(value.clone()).ok().filter(|spaces| *spaces <= 64);
    spaces.map(|spaces| " ".repeat(spaces)).ok_or_else(|| wrong("indent"))
}

/// The option `separators`: a pair.
pub(super) fn separators(value: &Value) -> Result<(String, String), Error> {
    let texts: Vec<String> = value.try_iter()?.filter_map(|item| item.as_str().map(str::to_owned)).collect();
    <[String; 2]>::try_from(texts).map(Into::into).map_err(|_| wrong("separators"))
}

fn wrong(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

/// The value as JSON.
pub(super) fn write(value: &Value, style: &Style) -> Result<String, Error> {
    let between = if style.indent.is_some() { "," } else { ", " };
    let (between, after_key) =
        style.separators.as_ref().map_or((between, ": "), |(between, after_key)| (between, after_key));
    let mut writer = Writer { style, between, after_key, depth: 0, text: String::new() };
    writer.value(value)?;
    Ok(writer.text)
}

struct Writer<'a> {
    style: &'a Style,
    between: &'a str,
    after_key: &'a str,
    depth: usize,
    text: String,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        if self.text.len() > LONGEST_PROMPT {
            return Err(Error::new(ErrorKind::InvalidOperation, "too long").with_source(TooLong));
        }
        match value.kind() {
            ValueKind::None => self.text.push_str("null"),
            ValueKind::Bool => self.text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value)?,
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.list(value)?,
            ValueKind::Map => self.map(value)?,
            // What JSON does not have, Python refuses too.
            _ => return Err(wrong("the value cannot be written as JSON")),
        }
        Ok(())
    }

    fn number(&mut self, value: &Value) -> Result<(), Error> {
        if value.is_integer() {
            write!(self.text, "{value}").map_err(Error::from)
        } else {
            let number = f64::try_from(value.clone())?;
            self.text.push_str(&float(number));
            Ok(())
        }
    }

    fn list(&mut self, list: &Value) -> Result<(), Error> {
        self.text.push('[');
        self.depth += 1;
        let mut is_empty = true;
        for item in list.try_iter()? {
            self.separate(is_empty);
            is_empty = false;
            self.value(&item)?;
        }
        self.end(is_empty, ']');
        Ok(())
    }

    fn map(&mut self, map: &Value) -> Result<(), Error> {
        self.text.push('{');
        self.depth += 1;
        let mut keys: Vec<Value> = map.try_iter()?.collect();
        if self.style.sorted {
            keys.sort();
        }
        for (place, key) in keys.iter().enumerate() {
            self.separate(place == 0);
            if let Some(key) = key.as_str() {
                self.string(key);
            } else {
                self.text.push('"');
                self.value(key)?;
                self.text.push('"');
            }
            self.text.push_str(self.after_key);
            self.value(&map.get_item(key)?)?;
        }
        self.end(keys.is_empty(), '}');
        Ok(())
    }

    fn separate(&mut self, is_first: bool) {
        if !is_first {
            self.text.push_str(self.between);
        }
        self.new_line();
    }

    fn end(&mut self, is_empty: bool, bracket: char) {
        self.depth -= 1;
        if !is_empty {
            self.new_line();
        }
        self.text.push(bracket);
    }

    fn new_line(&mut self) {
        if let Some(indent) = &self.style.indent {
            self.text.push('\n');
            for _ in 0..self.depth {
                self.text.push_str(indent);
            }
        }
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for character in text.chars() {
            match character {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '\u{8}' => self.text.push_str("\\b"),
                '\u{c}' => self.text.push_str("\\f"),
                '\0'..='\x1f' => self.escape(character),
                '\x7f'.. if self.style.ascii => self.escape(character),
                _ => self.text.push(character),
            }
        }
        self.text.push('"');
    }

    fn escape(&mut self, character: char) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            write!(self.text, "\\u{unit:04x}").expect("a String takes any text");
        }
    }
}

/// A float as Python's `repr` writes it: the shortest digits that read back, with an exponent when it is far from 1.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let written = format!("{number:e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        return format!("{number:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
