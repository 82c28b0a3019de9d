//! Which samples do some gauges have in Prometheus text?

/// The finite values of every sample whose metric has one of these names, whatever its labels.
pub(super) fn samples<'a>(names: &'a [&str], text: &'a str) -> impl Iterator<Item = f64> + 'a {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let end = line.find(|byte: char| byte == '{' || byte.is_ascii_whitespace())?;
        let (name, rest) = line.split_at(end);
        let rest = if rest.starts_with('{') { after_labels(rest)? } else { rest };
        // A timestamp may follow the value.
        let value: f64 = names.contains(&name).then(|| rest.split_ascii_whitespace().next())??.parse().ok()?;
        value.is_finite().then_some(value)
    })
}

/// What follows the labels; a brace in a quoted value ends none. None: they do not end.
fn after_labels(labels: &str) -> Option<&str> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in labels.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return labels.get(at + 1..),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &[&str], text: &str) -> Vec<f64> {
        samples(names, text).collect()
    }

    #[test]
    fn only_samples_of_that_very_name_count() {
        let text = "# HELP q how many 7\n# TYPE q gauge\nq 1.0\nq_total 50\nq{a=\"x\"} 1e3\n  q\t2 1700000000\r\nqq 9\n\nq\nq {a=\"x\"} 3\n#q 4\n";
        assert_eq!(all(&["q"], text), [1.0, 1000.0, 2.0]);
        assert_eq!(all(&["q", "qq"], text), [1.0, 1000.0, 2.0, 9.0]);
    }

    #[test]
    fn labels_may_hold_anything_and_values_that_are_no_number_are_left_out() {
        let text = "q{a=\"} 5\",b=\"\\\"} 6\",c=\"\\\\\"} 7\nq{} 8\nq NaN\nq +Inf\nq -Inf\nq{a=\"x\nq x\nq -1";
        assert_eq!(all(&["q"], text), [7.0, 8.0, -1.0]);
    }
}
