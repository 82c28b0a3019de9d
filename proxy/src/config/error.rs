//! What is wrong with a configuration, where, and how to mend it.
//!
//! Invariant: no diagnostic repeats a value that an operator wrote. A value may be a key, or a URL that holds one; the place is enough.

use serde::Serialize;
use std::fmt;

/// How much a diagnostic weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can be used, and the operator should know something.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// One mistake or warning. Prints as `file:line:column: severity: key: problem (hint)`, on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How much it weighs.
    pub severity: Severity,
    /// The file, as it was named to us, or `environment`.
    pub file: String,
    /// The line, from 1; 0 when the whole file is meant.
    pub line: usize,
    /// The column in characters, from 1; 0 when the whole file is meant.
    pub column: usize,
    /// The path of the key, such as `upstreams.team-sie.rate_cap.max_concurrency`; empty when there is none.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// How to mend it; empty when the problem says it.
    pub hint: String,
}

impl Diagnostic {
    /// A diagnostic about a whole file.
    pub(super) fn about(file: impl Into<String>, severity: Severity, problem: &str, hint: &str) -> Self {
        let (problem, hint) = (problem.into(), hint.into());
        Self { severity, file: file.into(), line: 0, column: 0, key: String::new(), problem, hint }
    }

    /// Whether the configuration cannot be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}: ", self.severity)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.problem)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " ({})", self.hint) }
    }
}

/// Who reads a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A person: one line each, and a count.
    Human,
    /// A machine: one JSON object.
    Json,
}

#[derive(Serialize)]
struct Report<'a> {
    mistakes: usize,
    warnings: usize,
    diagnostics: &'a [Diagnostic],
}

/// All diagnostics as one text that ends with a newline. What `spillway check` prints.
#[must_use]
pub fn report(diagnostics: &[Diagnostic], format: Format) -> String {
    let mistakes = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = diagnostics.len() - mistakes;
    match format {
        Format::Human => {
            let lines: String = diagnostics.iter().map(|diagnostic| format!("{diagnostic}\n")).collect();
            format!("{lines}{}, {}\n", counted(mistakes, "mistake"), counted(warnings, "warning"))
        }
        Format::Json => {
            let report = Report { mistakes, warnings, diagnostics };
            let text =
                serde_json::to_string_pretty(&report).expect("a report is strings and numbers, which JSON can hold");
            text + "\n"
        }
    }
}

fn counted(count: usize, thing: &str) -> String {
    match count {
        0 => format!("no {thing}s"),
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}
