//! What may a chat template call? What `transformers` gives it, and Python's methods on texts, lists and objects.

use super::{json, methods};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};

/// Steps of one render; a step is an instruction or 64 bytes of a value.
const STEPS: u64 = 10_000_000;

/// Nesting of macros and loops, small enough for the stack of a worker thread.
const DEEPEST: usize = 150;

/// The template called `raise_exception`. What it said is not kept: it may quote the messages.
#[derive(Debug, thiserror::Error)]
#[error("the template refused the messages")]
pub(super) struct Raised;

/// A value became longer than a prompt may be.
#[derive(Debug, thiserror::Error)]
#[error("the value is longer than a prompt may be")]
pub(super) struct TooLong;

pub(super) fn new() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the usual ones"));
    environment.set_fuel(Some(STEPS));
    environment.set_recursion_limit(DEEPEST);
    environment.set_unknown_method_callback(methods::call);
    environment.add_function("raise_exception", raise_exception);
    environment.add_filter("tojson", to_json);
    // Python counts texts and objects among both.
    environment.add_test("sequence", |value: &Value| is_kind(value, &[ValueKind::Seq]));
    environment.add_test("iterable", |value: &Value| is_kind(value, &[ValueKind::Seq, ValueKind::Iterable]));
    environment
}

fn is_kind(value: &Value, kinds: &[ValueKind]) -> bool {
    matches!(value.kind(), ValueKind::String | ValueKind::Map) || kinds.contains(&value.kind())
}

fn raise_exception(_message: Rest<Value>) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, "the template refused the messages").with_source(Raised))
}

/// `transformers` has its own `tojson`: nothing is escaped for HTML, and the options are those of Python's `json.dumps`.
fn to_json(state: &State<'_, '_>, value: &Value, positional: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let option = |place: usize, name: &str| -> Result<Option<Value>, Error> {
        let given: Option<Value> = kwargs.get(name)?;
        Ok(given.or_else(|| positional.get(place).cloned()).filter(|value| !value.is_none()))
    };
    let ascii = option(0, "ensure_ascii")?;
    let indent = option(1, "indent")?;
    let separators = option(2, "separators")?;
    let sorted = option(3, "sort_keys")?;
    kwargs.assert_all_used()?;
    let style = json::Style {
        ascii: ascii.is_some_and(|value| value.is_true()),
        indent: indent.map(|value| json::indent(&value)).transpose()?,
        separators: separators.map(|value| json::separators(&value)).transpose()?,
        sorted: sorted.is_some_and(|value| value.is_true()),
    };
    let written = json::write(value, &style)?;
    state.consume_fuel(written.len() as u64 / 64)?;
    Ok(written)
}
