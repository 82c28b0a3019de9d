//! In which order do the results of an answer stand?

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

/// The results in the order of what was sent: each says which it belongs to, and all of them are there once. When `may_be_silent`, none
/// at all may say it, and the order is the one they have (engines.md item 30).
pub(super) fn in_order<T>(mut results: Vec<(Option<u64>, T)>, may_be_silent: bool) -> Option<Vec<T>> {
    let are_silent = may_be_silent && results.iter().all(|(index, _)| index.is_none());
    let are_placed = || are_distinct_below(results.iter().map(|(index, _)| *index), results.len());
    (are_silent || are_placed()).then_some(())?;
    results.sort_by_key(|(index, _)| *index);
    Some(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_stands_once_or_none_at_all() {
        let order = |indexes: &[Option<u64>], may_be_silent| {
            in_order(indexes.iter().map(|index| (*index, *index)).collect(), may_be_silent)
        };
        assert_eq!(order(&[Some(1), Some(0)], false), Some(vec![Some(0), Some(1)]));
        assert_eq!(order(&[None, None], true), Some(vec![None, None]));
        assert_eq!(order(&[], true), Some(vec![]));
        for (bad, why) in [
            (&[None, None][..], "none says which it is"),
            (&[Some(0), None], "one does not"),
            (&[Some(0), Some(0)], "one stands twice"),
            (&[Some(1), Some(2)], "the places of a batch"),
            (&[Some(u64::MAX)], "far out"),
        ] {
            assert_eq!(order(bad, false), None, "{why}");
        }
        assert_eq!(order(&[Some(0), None], true), None);
    }
}
