//! Where does a piece of JSON end, and is it a tool call? The end is found while the text comes; only a whole piece is parsed.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Finds the end of an object or an array, character by character.
#[derive(Clone, Default)]
pub(super) struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

pub(super) enum Step {
    More,
    /// This character was the last.
    End,
    /// No JSON has this character here.
    Wrong,
}

impl Scan {
    pub(super) fn step(&mut self, next: char) -> Step {
        if self.in_string {
            match next {
                '\0'..='\x1f' => return Step::Wrong,
                _ if self.escaped => self.escaped = false,
                '\\' => self.escaped = true,
                '"' => self.in_string = false,
                _ => {}
            }
            return Step::More;
        }
        match next {
            '"' => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Step::End;
                }
            }
            ',' | ':' | ' ' | '\t' | '\n' | '\r' | '0'..='9' | '+' | '-' | '.' | 'E' => {}
            // What `true`, `false`, `null` and exponents are made of.
            'a' | 'e' | 'f' | 'l' | 'n' | 'r' | 's' | 't' | 'u' => {}
            _ => return Step::Wrong,
        }
        Step::More
    }
}

/// A call as models write it. Llama says `parameters`.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, alias = "parameters")]
    arguments: &'a RawValue,
}

/// Name and arguments of a call, or the text of what is none.
pub(super) type Read = Result<(String, String), String>;

/// The calls of one object or of an array of them. None when not one of them is a call of a known tool.
pub(super) fn calls(written: &str, known: impl Fn(&str) -> bool) -> Option<Vec<Read>> {
    let pieces: Vec<&RawValue> = if written.starts_with('[') {
        serde_json::from_str(written).ok()?
    } else {
        vec![serde_json::from_str(written).ok()?]
    };
    let read: Vec<Read> = pieces
        .into_iter()
        .map(|piece| call(piece.get()).filter(|(name, _)| known(name)).ok_or_else(|| piece.get().to_owned()))
        .collect();
    read.iter().any(Result::is_ok).then_some(read)
}

fn call(written: &str) -> Option<(String, String)> {
    let call: Written<'_> = serde_json::from_str(written).ok()?;
    let arguments = call.arguments.get();
    arguments.starts_with('{').then(|| (call.name.into_owned(), arguments.to_owned()))
}
