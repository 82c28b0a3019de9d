//! Does every index stand once?

/// Most indexes of one answer, when the caller's number is not known.
pub(super) const MAX_INDEXES: usize = 100_000;

/// Whether every index is there, below `bound`, and stands once.
pub(super) fn are_distinct_below(indexes: impl Iterator<Item = Option<u64>>, bound: usize) -> bool {
    let mut seen = vec![false; bound.min(MAX_INDEXES)];
    for index in indexes {
        let place = index.and_then(|index| usize::try_from(index).ok()).and_then(|index| seen.get_mut(index));
        match place {
            Some(place) if !*place => *place = true,
            _ => return false,
        }
    }
    true
}
