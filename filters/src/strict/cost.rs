//! How much work can a schema make of one value? A reference is one word and may stand for a whole schema, many times over; here they
//! are followed and counted before anything is compiled.

use super::BadSchema;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Levels of JSON, references followed.
pub(super) const DEEPEST: usize = 128;

/// Schemas that speak about the same value one inside the other: each is a stack frame at every level of the output.
const DEEPEST_FOR_ONE_VALUE: usize = 16;

/// Places of the schema, references followed.
const MOST: usize = 100_000;

/// Patterns: each is a program of its own.
const MOST_PATTERNS: usize = 64;

/// Keywords whose schemas speak about the value itself, not about a part of it.
const SAME_VALUE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// The drafts whose keywords are known here. Older ones name a schema by `id`.
const DRAFTS: [&str; 4] = ["draft-06/", "draft-07/", "draft/2019-09/", "draft/2020-12/"];

/// What one check may cost.
pub(super) struct Cost {
    /// Places of the schema with every reference followed: steps for one value, at most.
    pub(super) places: usize,
    /// Steps of all patterns for one byte.
    pub(super) pattern_steps: usize,
}

/// The cost of a schema, or why it is refused.
pub(super) fn of(schema: &Value) -> Result<Cost, BadSchema> {
    let mut counting = Counting { root: schema, targets: HashMap::new(), patterns: 0, pattern_steps: 0 };
    let places = counting.count(schema, 0, 0)?.places;
    Ok(Cost { places, pattern_steps: counting.pattern_steps })
}

struct Counting<'a> {
    root: &'a Value,
    /// What a reference stands for; none while it is being counted, because a schema may refer to itself.
    targets: HashMap<&'a str, Option<Count>>,
    patterns: usize,
    pattern_steps: usize,
}

#[derive(Clone, Copy, Default)]
struct Count {
    places: usize,
    /// Levels below.
    depth: usize,
    /// Levels below that speak about the same value.
    same_value: usize,
}

impl<'a> Counting<'a> {
    /// Counts a value that stands `depth` levels deep, `same_value` of them for the same value.
    fn count(&mut self, value: &'a Value, depth: usize, same_value: usize) -> Result<Count, BadSchema> {
        if depth > DEEPEST || same_value > DEEPEST_FOR_ONE_VALUE {
            return Err(BadSchema::TooDeep);
        }
        let mut count = Count { places: 1, ..Count::default() };
        match value {
            Value::Array(items) => {
                for item in items {
                    let below = self.count(item, depth + 1, same_value)?;
                    count.add(below, below.same_value)?;
                }
            }
            Value::Object(members) => self.members(members, &mut count, depth, same_value)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(count)
    }

    fn members(
        &mut self,
        members: &'a Map<String, Value>,
        count: &mut Count,
        depth: usize,
        same_value: usize,
    ) -> Result<(), BadSchema> {
        for (key, value) in members {
            match (key.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    let below = self.target(reference, depth, same_value)?;
                    count.add(below, below.same_value + 1)?;
                    continue;
                }
                ("$schema", Value::String(draft)) => is_known(draft, depth)?,
                // These change what a reference means, or are references whose meaning depends on the way that led to them.
                ("$id", Value::String(_)) if depth > 0 => return Err(BadSchema::Reference),
                ("$dynamicRef" | "$recursiveRef", Value::String(_)) => return Err(BadSchema::Reference),
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    for schema in schemas.values() {
                        let below = self.count(schema, depth + 2, same_value + 1)?;
                        count.add(below, below.same_value + 1)?;
                    }
                    continue;
                }
                ("pattern", Value::String(pattern)) => self.pattern(pattern)?,
                ("patternProperties", Value::Object(patterns)) => {
                    patterns.keys().try_for_each(|pattern| self.pattern(pattern))?;
                }
                _ => {}
            }
            let is_same = SAME_VALUE.contains(&key.as_str());
            let below = self.count(value, depth + 1, if is_same { same_value + 1 } else { 0 })?;
            count.add(below, if is_same { below.same_value + 1 } else { 0 })?;
        }
        // These ask every other keyword once more.
        for again in ["unevaluatedProperties", "unevaluatedItems"] {
            if members.contains_key(again) {
                count.add(*count, 0)?;
            }
        }
        Ok(())
    }

    /// A pattern takes as many steps for a byte as it is long when its repetitions are written out.
    fn pattern(&mut self, pattern: &str) -> Result<(), BadSchema> {
        let counts = pattern.split('{').skip(1).filter_map(|after| {
            let count = after.split('}').next().unwrap_or_default();
            count.split(',').filter_map(|number| number.trim().parse::<usize>().ok()).max()
        });
        let steps = counts.fold(pattern.len(), |steps, count| steps.saturating_mul(count.max(1)));
        self.pattern_steps = self.pattern_steps.saturating_add(steps);
        self.patterns += 1;
        if self.patterns > MOST_PATTERNS { Err(BadSchema::TooComplex) } else { Ok(()) }
    }

    fn target(&mut self, reference: &'a str, depth: usize, same_value: usize) -> Result<Count, BadSchema> {
        if let Some(known) = self.targets.get(reference) {
            let known = known.unwrap_or_default();
            if depth + known.depth > DEEPEST || same_value + known.same_value >= DEEPEST_FOR_ONE_VALUE {
                return Err(BadSchema::TooDeep);
            }
            return Ok(known);
        }
        let pointer = reference.strip_prefix('#').filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
        let pointer = pointer.filter(|pointer| !pointer.contains('%')).ok_or(BadSchema::Reference)?;
        let target = self.root.pointer(pointer).ok_or(BadSchema::Reference)?;
        self.targets.insert(reference, None);
        let count = self.count(target, depth + 1, same_value + 1)?;
        self.targets.insert(reference, Some(count));
        Ok(count)
    }
}

fn is_known(draft: &str, depth: usize) -> Result<(), BadSchema> {
    let known = draft
        .split_once("json-schema.org/")
        .is_some_and(|(_, draft)| DRAFTS.iter().any(|known| draft.starts_with(known)));
    if depth == 0 && known { Ok(()) } else { Err(BadSchema::Reference) }
}

impl Count {
    fn add(&mut self, below: Self, same_value: usize) -> Result<(), BadSchema> {
        self.places += below.places;
        self.depth = self.depth.max(below.depth + 1);
        self.same_value = self.same_value.max(same_value);
        if self.places > MOST { Err(BadSchema::TooComplex) } else { Ok(()) }
    }
}
