//! Which methods do Python's values have in a template? Those of the library, and a few that templates call and it lacks.

use minijinja::value::{Tuple, from_args};
use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat;

pub(super) fn call(state: &mut State<'_, '_>, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let found = match value.as_str() {
        Some(text) => of_text(text, method, args)?,
        None => None,
    };
    match found {
        Some(value) => Ok(value),
        None => pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn of_text(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            text.strip_prefix(prefix).unwrap_or(text).into()
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            text.strip_suffix(suffix).unwrap_or(text).into()
        }
        "partition" => {
            let (separator,): (&str,) = from_args(args)?;
            parts(
                text.split_once(separator).map(|(before, after)| [before, separator, after]).unwrap_or([text, "", ""]),
            )
        }
        "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            parts(
                text.rsplit_once(separator).map(|(before, after)| [before, separator, after]).unwrap_or(["", "", text]),
            )
        }
        "rsplit" => {
            let (separator, most): (&str, Option<usize>) = from_args(args)?;
            let mut pieces: Vec<Value> = text
                .rsplitn(most.map_or(usize::MAX, |most| most.saturating_add(1)), separator)
                .map(Value::from)
                .collect();
            pieces.reverse();
            pieces.into()
        }
        "index" => {
            let (part,): (&str,) = from_args(args)?;
            let at =
                text.find(part).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the text has no such part"))?;
            text[..at].chars().count().into()
        }
        _ => return Ok(None),
    }))
}

fn parts(three: [&str; 3]) -> Value {
    Value::from(Tuple::from(three.map(Value::from)))
}
