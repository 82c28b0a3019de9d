//! Which cases are known not to hold yet, and why?

use crate::report::{Outcome, Report, Row};

/// Lines of `case = "reason"` in TOML.
const WAIVERS: &str = include_str!("../waivers.toml");

/// Every waiver: case and reason.
fn waivers(text: &str) -> Vec<(&str, &str)> {
    let is_entry = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    text.lines().filter(is_entry).filter_map(entry).collect()
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, reason) = line.split_once('=')?;
    Some((name.trim().trim_matches('"'), reason.trim().trim_matches('"')))
}

/// Applies the waivers. One that names no case of the whole suite is a failure, and so is one whose case holds.
pub(crate) fn apply(report: &mut Report, all: &[&str]) {
    apply_from(WAIVERS, report, all);
}

fn apply_from(text: &str, report: &mut Report, all: &[&str]) {
    let waivers = waivers(text);
    report.waive(|name| waivers.iter().find(|waiver| waiver.0 == name).map(|waiver| waiver.1.to_owned()));
    for (name, _) in waivers.iter().filter(|waiver| !all.contains(&waiver.0)) {
        let unused = Outcome::Failed("a waiver for a case that does not exist".to_owned());
        report.push(Row::new((*name).to_owned(), "waivers name existing cases".to_owned(), unused));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome_of(text: &str, outcome: Outcome) -> Report {
        let mut report = Report::new("t", vec![Row::new("a".to_owned(), String::new(), outcome)]);
        apply_from(text, &mut report, &["a"]);
        report
    }

    #[test]
    fn a_waived_failure_does_not_fail_the_run() {
        let report = outcome_of("# why\na = \"later\"\n", Outcome::Failed("x".to_owned()));
        assert_eq!(report.rows()[0].outcome, Outcome::Waived("later".to_owned()));
        assert_eq!(report.failed(), 0);
    }

    #[test]
    fn a_waived_case_that_holds_fails_the_run() {
        assert_eq!(outcome_of("a = \"later\"", Outcome::Passed).failed(), 1);
    }

    #[test]
    fn a_waiver_for_nothing_fails_the_run() {
        assert_eq!(outcome_of("b = \"later\"", Outcome::Passed).failed(), 1);
    }
}
