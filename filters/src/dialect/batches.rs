//! How are the inputs of one call spread over requests?

use super::{INVALID, Raw};
use crate::answer::embeddings::Embeddings;
use spillway_policies::Failure;
use spillway_policies::verdict::Plan;
use std::ops::Range;

/// Most bytes of a whole answer, unless something smaller is known (contract section 5, answer bounds).
pub(super) const MOST_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// What every answer may have beside its numbers (contract section 5, answer bounds).
pub(super) const OVERHEAD_BYTES: usize = 1024 * 1024;

/// Most inputs of one embeddings request, as OpenAI documents it.
const MOST_INPUTS: usize = 2048;

/// Most bytes of the inputs in one embeddings request; a larger input goes alone.
const MOST_INPUT_BYTES: usize = 8 * 1024 * 1024;

/// The runs of inputs of these sizes, one for each request to an OpenAI host: `max_batch` of them, or as many as hosts take; bodies and
/// answers stay reasonable.
pub(super) fn openai(plan: &Plan<'_>, sizes: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let most = plan.remote.max_batch.map_or(MOST_INPUTS, |most| most as usize);
    split(sizes, most.min(room(vector_bytes(plan))), MOST_INPUT_BYTES)
}

/// The runs of so many items, one for each request to a SIE upstream: `max_batch` of them, or all whose answer is no longer than any.
pub(super) fn sie(plan: &Plan<'_>, items: usize, answer_bytes: Option<usize>) -> Vec<Range<usize>> {
    let most = plan.remote.max_batch.map_or(usize::MAX, |most| most as usize);
    split(std::iter::repeat_n(0, items), most.min(room(answer_bytes)), usize::MAX)
}

/// For how many inputs an answer has room, each of which takes so many bytes, if that is known.
fn room(answer_bytes: Option<usize>) -> usize {
    answer_bytes.map_or(usize::MAX, |bytes| (MOST_ANSWER_BYTES - OVERHEAD_BYTES) / bytes.max(1))
}

/// Most bytes of one answer of embeddings: 32 for each number (contract section 5, answer bounds).
pub(super) fn most_embedded_bytes(plan: &Plan<'_>, batches: &[Range<usize>]) -> usize {
    let longest = batches.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
    most_bytes(vector_bytes(plan), longest)
}

/// Most bytes of an answer to so many inputs, each of which takes so many bytes, if that is known.
pub(super) fn most_bytes(answer_bytes: Option<usize>, inputs: usize) -> usize {
    answer_bytes.map_or(MOST_ANSWER_BYTES, |bytes| OVERHEAD_BYTES.saturating_add(bytes.saturating_mul(inputs)))
}

/// Most bytes of a vector of the declared width in an answer of embeddings.
pub(super) fn vector_bytes(plan: &Plan<'_>) -> Option<usize> {
    plan.tasks.dense_dim.map(|dim| (dim as usize).saturating_mul(32))
}

/// Checks the answer of embeddings to the batch at `place`.
///
/// # Errors
/// It is not a valid one.
pub(super) fn check(place: usize, answer: &Raw, batches: &[usize]) -> Result<(), Failure> {
    Embeddings::read(&answer.body, *batches.get(place).ok_or(INVALID)?).map(drop)
}

/// Every answer with the length of its batch.
///
/// # Errors
/// There are not as many as there were requests.
pub(super) fn paired<'a>(
    answers: &'a [Raw],
    batches: &'a [usize],
) -> Result<impl Iterator<Item = (&'a Raw, usize)>, Failure> {
    if answers.len() == batches.len() { Ok(answers.iter().zip(batches.iter().copied())) } else { Err(INVALID) }
}

fn split(sizes: impl Iterator<Item = usize>, most: usize, most_bytes: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0_usize;
    for (place, size) in sizes.enumerate() {
        bytes = bytes.saturating_add(size);
        match runs.last_mut() {
            Some(run) if run.len() < most && bytes <= most_bytes => run.end = place + 1,
            _ => {
                runs.push(place..place + 1);
                bytes = size;
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_each_other_and_stay_within_their_bounds() {
        let runs = |sizes: &[usize], most, bytes| split(sizes.iter().copied(), most, bytes);
        assert_eq!(runs(&[1; 5], 2, 100), [0..2, 2..4, 4..5]);
        assert_eq!(runs(&[1; 5], usize::MAX, 100), std::slice::from_ref(&(0..5)));
        assert_eq!(runs(&[4, 4, 9, 1, 1], 10, 8), [0..2, 2..3, 3..5]);
        assert_eq!(runs(&[9, 9], 10, 8), [0..1, 1..2], "what is too large goes alone");
        assert!(runs(&[], 10, 8).is_empty());
        assert_eq!(runs(&[1, 1], 0, 8), [0..1, 1..2]);
    }
}
