//! How long will a load take, judging by earlier ones?

use spillway_filters::feed::Moment;

/// How many loads count: enough to even out one that was slow, few enough to follow a change of model or disk.
const KEPT: usize = 4;

/// The last loads of one thing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadTimes {
    millis: [u64; KEPT],
    count: usize,
}

impl LoadTimes {
    /// A load took this long.
    pub(crate) const fn learn(&mut self, millis: u64) {
        self.millis[self.count % KEPT] = millis;
        self.count += 1;
    }

    /// How long one takes, in milliseconds; none: nothing was learned.
    pub(crate) fn estimate(&self) -> Option<u64> {
        let kept = self.count.min(KEPT);
        (kept > 0).then(|| self.millis[..kept].iter().sum::<u64>() / kept as u64)
    }

    /// How long the one that began at `since` will still take: zero when it is overdue.
    pub(crate) fn left(&self, since: Moment, now: Moment) -> Option<u64> {
        self.estimate().map(|estimate| estimate.saturating_sub(now.since(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_few_loads_are_what_the_next_one_takes() {
        let mut times = LoadTimes::default();
        let at = Moment::from_millis;
        assert_eq!((times.estimate(), times.left(at(0), at(5))), (None, None));
        times.learn(1_000);
        assert_eq!((times.left(at(100), at(400)), times.left(at(0), at(1_001))), (Some(700), Some(0)));
        for millis in [2_000, 2_000, 2_000, 2_000] {
            times.learn(millis);
        }
        assert_eq!(times.estimate(), Some(2_000));
    }
}
