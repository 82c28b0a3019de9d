//! Which few numbers stand for many?

/// The value below which `part` (0 to 1) of `values` lie. NaN where there are none.
pub(crate) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted: Vec<f64> = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = part * last as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * at.fract()
}

/// The middle value.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The smallest value.
pub(crate) fn least(values: &[f64]) -> f64 {
    quantile(values, 0.0)
}

/// Value by value, `these` over `those`: what was measured in the same round is compared within that round.
pub(crate) fn ratios(these: &[f64], those: &[f64]) -> Vec<f64> {
    these.iter().zip(those).map(|(this, that)| this / that).collect()
}

/// Value by value, `these` less `those`.
pub(crate) fn differences(these: &[f64], those: &[f64]) -> Vec<f64> {
    these.iter().zip(those).map(|(this, that)| this - that).collect()
}

#[cfg(test)]
mod tests {
    use super::{least, median, quantile, ratios};

    #[test]
    fn quantiles_stand_between_the_values() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(median(&values), 2.5);
        assert_eq!(least(&values), 1.0);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn ratios_pair_by_round() {
        assert_eq!(ratios(&[2.0, 9.0], &[1.0, 3.0]), [2.0, 3.0]);
    }
}
