//! What came of a run, for people and for machines?

use std::fmt;
use std::io::Write as _;

use serde_json::{Value, json};

/// What became of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rule is broken; the text says how.
    Failed(String),
    /// The rule holds.
    Passed,
    /// Known not to hold yet; the reason is written down.
    Waived(String),
}

/// One line of a report.
#[derive(Clone, Debug)]
pub struct Row {
    /// The case.
    pub name: String,
    /// The rule it proves.
    pub clause: String,
    /// What became of it.
    pub outcome: Outcome,
}

impl Row {
    pub(crate) fn new(name: String, clause: String, outcome: Outcome) -> Self {
        Self { name, clause, outcome }
    }
}

/// The rows of one suite.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(title: &str, rows: Vec<Row>) -> Self {
        Self { title: title.to_owned(), rows }
    }

    /// Every row, in the order of the suite.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// How many cases failed. A waived case that passes counts as failed, and so does a waiver that matches nothing.
    pub fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    /// What failed and how, one paragraph for each case: for the end of a long log.
    pub fn failures(&self) -> String {
        let told = self.rows.iter().filter_map(|row| match &row.outcome {
            Outcome::Failed(how) => Some(format!("{}: {how}\n", row.name)),
            Outcome::Passed | Outcome::Waived(_) => None,
        });
        told.collect()
    }

    fn count(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        self.rows.iter().filter(|row| which(&row.outcome)).count()
    }

    /// Writes the table to standard error.
    pub fn print(&self) {
        // Nobody reads a report whose sink is closed.
        write!(std::io::stderr().lock(), "{self}").ok();
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let row = |row: &Row| {
            let (outcome, text) = match &row.outcome {
                Outcome::Failed(how) => ("failed", Some(how)),
                Outcome::Passed => ("passed", None),
                Outcome::Waived(why) => ("waived", Some(why)),
            };
            json!({"case": row.name, "clause": row.clause, "outcome": outcome, "text": text})
        };
        json!({"suite": self.title, "failed": self.failed(), "rows": self.rows.iter().map(row).collect::<Vec<_>>()})
    }

    /// Turns failures that `waiver` knows into waived rows, and passes that it knows into failures.
    pub(crate) fn waive(&mut self, waiver: impl Fn(&str) -> Option<String>) {
        for row in &mut self.rows {
            let Some(reason) = waiver(&row.name) else { continue };
            row.outcome = match &row.outcome {
                Outcome::Failed(_) => Outcome::Waived(reason),
                Outcome::Passed => Outcome::Failed(format!("it holds: take its waiver away ({reason})")),
                Outcome::Waived(known) => Outcome::Waived(known.clone()),
            };
        }
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        writeln!(f, "{}", self.title)?;
        for row in &self.rows {
            let (mark, text) = match &row.outcome {
                Outcome::Failed(_) => ("FAIL", row.clause.as_str()),
                Outcome::Passed => ("ok", row.clause.as_str()),
                Outcome::Waived(why) => ("waived", why.as_str()),
            };
            writeln!(f, "  {mark:<6}  {:<width$}  {text}", row.name)?;
            if let Outcome::Failed(how) = &row.outcome {
                how.lines().try_for_each(|line| writeln!(f, "          | {line}"))?;
            }
        }
        let passed = self.count(|outcome| *outcome == Outcome::Passed);
        let failed = self.failed();
        writeln!(f, "  {passed} passed, {failed} failed, {} waived\n", self.rows.len() - passed - failed)
    }
}
