//! What does an engine's answer to a probe say about its state? The tables are the preset's ([`Watch`](crate::presets::Watch)).
//!
//! An answer that is not what the table expects says nothing: the caller then goes by what it knows otherwise, and never by a guess.

mod exposition;
mod pointer;
mod roll;

pub use roll::{Model, models};

use crate::presets::Flag;
use serde_json::Value;

/// How many there are of something: the sum of the samples of every Prometheus gauge of these names, and of every number that a name
/// finds as a JSON pointer when it begins with `/` (`*` in it stands for each element of an array). None when none of them is there.
#[must_use]
pub fn count(names: &[&str], body: &[u8]) -> Option<u64> {
    let (pointers, gauges): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| name.starts_with('/'));
    let json: Option<Value> = if pointers.is_empty() { None } else { serde_json::from_slice(body).ok() };
    let numbers = json.iter().flat_map(|json| pointers.iter().flat_map(|path| pointer::all(json, path)));
    let mut values: Vec<f64> = numbers.filter_map(Value::as_f64).collect();
    if !gauges.is_empty() {
        values.extend(exposition::samples(&gauges, &String::from_utf8_lossy(body)));
    }
    // Engines count in floats, and a gauge that is moved from two threads can pass below zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that fits no u64 becomes the nearest one"
    )]
    let whole = |sum: f64| sum.round() as u64;
    (!values.is_empty()).then(|| whole(values.iter().sum()))
}

/// What a boolean in a JSON answer says; none when it is not there.
#[must_use]
pub fn flag(flag: &Flag, body: &[u8]) -> Option<bool> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    answer.pointer(flag.pointer)?.as_bool()
}
