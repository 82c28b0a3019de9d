//! What does the caller see of log-probabilities, in which of the three forms?
//!
//! Chat lists tokens as objects, completions of OpenAI as columns, SIE's generate as chat's list without a frame (contract section 1.4,
//! engines section 4 item 38). A value that is positive or not finite is no log-probability (contract section 5).

use super::json::{self, Object};
use crate::answer::Fields;
use crate::upstream_status::loose::Text;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// How log-probabilities are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As the upstream does; chat and completions.
    Same,
    /// As chat does.
    Chat,
    /// As generate does.
    Native,
}

/// Appends log-probabilities of an upstream in another form. None when they are not valid, or cannot be put so.
pub(super) fn write(raw: &RawValue, form: Form, out: &mut Vec<u8>) -> Option<()> {
    let Fields(logprobs): Fields<Logprobs<'_>> = serde_json::from_str(raw.get()).ok()?;
    let has_rows = logprobs.tokens.is_none() || logprobs.content.is_some();
    match (form, has_rows) {
        (Form::Same, false) => logprobs.write_columns(logprobs.columns()?, out),
        (Form::Same | Form::Chat, true) => logprobs.write_rows(out),
        (Form::Chat, false) => {
            let columns = logprobs.full_columns()?;
            let mut object = Object::open(out);
            write_columns_as_rows(&columns, object.name("content"));
            object.close();
        }
        (Form::Native, true) => write_rows(logprobs.content.iter().flatten(), out),
        (Form::Native, false) => write_columns_as_rows(&logprobs.full_columns()?, out),
    }
    Some(())
}

/// Appends the list of a generate event as it came; none when it is not valid.
pub(super) fn write_native(raw: &RawValue, out: &mut Vec<u8>) -> Option<()> {
    let rows: Vec<Fields<Row<'_>>> = serde_json::from_str(raw.get()).ok()?;
    write_rows(&rows, out);
    Some(())
}

fn write_rows<'r>(rows: impl IntoIterator<Item = &'r Fields<Row<'r>>>, out: &mut Vec<u8>) {
    json::list(rows, out, |Fields(row), out| {
        let mut object = open_token(&row.token, &row.logprob, row.bytes.as_deref(), out);
        json::list(row.top_logprobs.iter().flatten(), object.name("top_logprobs"), |Fields(top), out| {
            open_token(&top.token, &top.logprob, top.bytes.as_deref(), out).close();
        });
        object.close();
    });
}

fn write_columns_as_rows(columns: &[(&Text<'_>, &Logprob<'_>, Option<&Top<'_>>)], out: &mut Vec<u8>) {
    json::list(columns, out, |(token, logprob, top), out| {
        let mut object = open_token(token, logprob, None, out);
        json::list(top.iter().flat_map(|top| &top.0), object.name("top_logprobs"), |(token, logprob), out| {
            open_token(token, logprob, None, out).close();
        });
        object.close();
    });
}

fn open_token<'o>(token: &Text<'_>, logprob: &Logprob<'_>, bytes: Option<&[u8]>, out: &'o mut Vec<u8>) -> Object<'o> {
    let mut object = Object::open(out);
    json::text(&token.0, object.name("token"));
    json::raw(logprob.0, object.name("logprob"));
    json::or_null(bytes, object.name("bytes"), |bytes, out| {
        json::list(bytes, out, |byte, out| json::number(u64::from(*byte), out));
    });
    object
}

#[derive(Deserialize)]
struct Logprobs<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<Fields<Row<'a>>>>,
    #[serde(borrow, default)]
    refusal: Option<Vec<Fields<Row<'a>>>>,
    #[serde(borrow, default)]
    tokens: Option<Vec<Text<'a>>>,
    /// Null for a token of the prompt that has none.
    #[serde(borrow, default)]
    token_logprobs: Vec<Option<Logprob<'a>>>,
    #[serde(borrow, default)]
    top_logprobs: Option<Vec<Option<Top<'a>>>>,
    #[serde(default)]
    text_offset: Option<Vec<u64>>,
}

impl Logprobs<'_> {
    fn write_rows(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        json::or_null(self.content.as_ref(), object.name("content"), write_rows);
        if let Some(refusal) = &self.refusal {
            write_rows(refusal, object.name("refusal"));
        }
        object.close();
    }

    fn write_columns(&self, tokens: &[Text<'_>], out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        json::list(tokens, object.name("tokens"), |token, out| json::text(&token.0, out));
        json::list(&self.token_logprobs, object.name("token_logprobs"), |logprob, out| {
            json::or_null(logprob.as_ref(), out, |logprob, out| json::raw(logprob.0, out));
        });
        json::or_null(self.top_logprobs.as_ref(), object.name("top_logprobs"), |tops, out| {
            json::list(tops, out, |top, out| json::or_null(top.as_ref(), out, Top::write));
        });
        if let Some(offsets) = &self.text_offset {
            json::list(offsets, object.name("text_offset"), |offset, out| json::number(*offset, out));
        }
        object.close();
    }

    /// The tokens, when every column is as long as theirs.
    fn columns(&self) -> Option<&[Text<'_>]> {
        let tokens = self.tokens.as_deref()?;
        let fits = |length: Option<usize>| length.is_none_or(|length| length == tokens.len());
        let (tops, offsets) = (self.top_logprobs.as_ref().map(Vec::len), self.text_offset.as_ref().map(Vec::len));
        (fits(Some(self.token_logprobs.len())) && fits(tops) && fits(offsets)).then_some(tokens)
    }

    /// The columns side by side, when every token has its log-probability.
    fn full_columns(&self) -> Option<Vec<(&Text<'_>, &Logprob<'_>, Option<&Top<'_>>)>> {
        let top = |place: usize| self.top_logprobs.as_ref().and_then(|tops| tops[place].as_ref());
        let tokens = self.columns()?.iter().zip(&self.token_logprobs).enumerate();
        tokens.map(|(place, (token, logprob))| Some((token, logprob.as_ref()?, top(place)))).collect()
    }
}

/// One token; the alternatives of a token have none of their own.
#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    token: Text<'a>,
    #[serde(borrow)]
    logprob: Logprob<'a>,
    #[serde(default)]
    bytes: Option<Vec<u8>>,
    #[serde(borrow, default)]
    top_logprobs: Option<Vec<Fields<Alternative<'a>>>>,
}

#[derive(Deserialize)]
struct Alternative<'a> {
    #[serde(borrow)]
    token: Text<'a>,
    #[serde(borrow)]
    logprob: Logprob<'a>,
    #[serde(default)]
    bytes: Option<Vec<u8>>,
}

/// A number that is finite and not above zero, as it was written.
struct Logprob<'a>(&'a RawValue);

impl<'de: 'a, 'a> Deserialize<'de> for Logprob<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let is_one = serde_json::from_str::<f64>(raw.get()).is_ok_and(|number| number.is_finite() && number <= 0.0);
        if is_one { Ok(Self(raw)) } else { Err(D::Error::custom("not a log-probability")) }
    }
}

/// The alternatives of a token in a column: an object by token.
struct Top<'a>(Vec<(Text<'a>, Logprob<'a>)>);

impl Top<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (place, (token, logprob)) in self.0.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            json::text(&token.0, out);
            out.push(b':');
            json::raw(logprob.0, out);
        }
        out.push(b'}');
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Top<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TopVisitor)
    }
}

struct TopVisitor;

impl<'de> Visitor<'de> for TopVisitor {
    type Value = Top<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("log-probabilities by token")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut top = Vec::new();
        while let Some(entry) = map.next_entry()? {
            top.push(entry);
        }
        Ok(Top(top))
    }
}
