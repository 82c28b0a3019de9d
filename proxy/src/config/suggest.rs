//! Did you mean ...? The known name that is closest to what was written.

/// The known name nearest to `written`, when it is near enough to be what was meant.
pub(super) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_ascii_lowercase();
    let near_enough = written.chars().count().div_ceil(3).clamp(1, 3);
    let cost = |name: &str| {
        let name = name.to_ascii_lowercase();
        let is_part = written.len() >= 3 && name.len() >= 3 && (name.contains(&written) || written.contains(&name));
        (!is_part, distance(&written, &name))
    };
    let costs = known.into_iter().map(|name| (cost(name), name));
    costs.filter(|((apart, distance), _)| !apart || *distance <= near_enough).min().map(|(_, name)| name)
}

/// `"a", "b" or "c"`, for a list of what is allowed.
pub(super) fn quoted(names: &[&str], last_word: &str) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {last_word} {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// How many letters must be added, dropped, changed or swapped with a neighbour to turn one name into the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<_>, Vec<_>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in to.iter().enumerate() {
            let changed = rows[i][j] + usize::from(letter != other);
            let mut cost = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && letter == &to[j - 1] && &from[i - 1] == other {
                cost = cost.min(rows[i - 1][j - 1] + 1);
            }
            row.push(cost);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["base_url", "kind", "rate_cap", "breaker"];
        for (written, expected) in [
            ("base_urll", Some("base_url")),
            ("baseurl", Some("base_url")),
            ("ratecap", Some("rate_cap")),
            ("rate-cap", Some("rate_cap")),
            ("Kind", Some("kind")),
            ("knid", Some("kind")),
            ("url", Some("base_url")),
            ("the_breaker", Some("breaker")),
            ("password", None),
            ("x", None),
        ] {
            assert_eq!(nearest(written, known), expected, "{written}");
        }
    }

    #[test]
    fn distances_count_edits() {
        for (from, to, expected) in
            [("", "", 0), ("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ba", 1), ("abc", "abc", 0)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(quoted(&["a"], "or"), "\"a\"");
        assert_eq!(quoted(&["a", "b", "c"], "or"), "\"a\", \"b\" or \"c\"");
    }
}
