//! Did the caller and the scripted sides see what the contract says? Every failure prints both sides.

use std::fmt;
use std::io;

use serde_json::Value;

use crate::stage::client::Received;
use crate::stage::head::latin1;

/// Why a case failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding(String);

/// What a case, or a step of one, comes to.
pub type Verdict<T = ()> = Result<T, Finding>;

impl Finding {
    /// A finding with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The same finding, with the situation in front.
    pub fn within(self, situation: &str) -> Self {
        Self(format!("{situation}: {}", self.0))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<io::Error> for Finding {
    fn from(error: io::Error) -> Self {
        Self(format!("{:?}: {error}", error.kind()))
    }
}

/// The headers that only Spillway may write.
pub const DISCLOSURE: [&str; 6] = [
    "X-SIE-Served-By",
    "X-SIE-Upstream",
    "X-SIE-Fallback-Reason",
    "X-SIE-Fallback-Error",
    "Spillway-Cause",
    "Spillway-Equivalence",
];

/// Adds the situation to a failed verdict.
pub trait During<T> {
    /// Puts `situation` in front of the finding, if there is one.
    ///
    /// # Errors
    /// The finding itself, with more text.
    fn during(self, situation: &str) -> Verdict<T>;
}

impl<T> During<T> for Verdict<T> {
    fn during(self, situation: &str) -> Self {
        self.map_err(|finding| finding.within(situation))
    }
}

/// What a table of situations comes to: every finding is told, not the first alone.
#[derive(Debug, Default)]
pub struct Findings {
    all: Vec<String>,
}

impl Findings {
    /// Adds what one situation came to.
    pub fn note<T>(&mut self, situation: &str, verdict: Verdict<T>) {
        if let Err(finding) = verdict {
            self.all.push(finding.within(situation).to_string());
        }
    }

    /// All of them together.
    ///
    /// # Errors
    /// A finding when there is at least one.
    pub fn verdict(self) -> Verdict {
        if self.all.is_empty() { Ok(()) } else { Err(Finding::new(self.all.join("\n"))) }
    }
}

/// Fails unless `seen` equals `wanted`.
///
/// # Errors
/// A finding with both values.
pub fn same<T: PartialEq + fmt::Debug>(what: &str, seen: &T, wanted: &T) -> Verdict {
    if seen == wanted {
        return Ok(());
    }
    Err(Finding::new(format!("{what}\n  expected {wanted:?}\n  saw      {seen:?}")))
}

/// Fails unless `condition` holds.
///
/// # Errors
/// A finding with `what` was expected and what was `seen`.
pub fn holds(condition: bool, what: &str, seen: &dyn fmt::Debug) -> Verdict {
    if condition {
        return Ok(());
    }
    Err(Finding::new(format!("expected {what}\n  saw      {seen:?}")))
}

/// Fails unless `text` holds `part`.
///
/// # Errors
/// A finding with both.
pub fn contains(what: &str, text: &str, part: &str) -> Verdict {
    holds(text.contains(part), &format!("{what} to contain {part:?}"), &text)
}

/// Fails if `text` holds `part`.
///
/// # Errors
/// A finding with both.
pub fn lacks(what: &str, text: &str, part: &str) -> Verdict {
    holds(!text.contains(part), &format!("{what} not to contain {part:?}"), &text)
}

impl Received {
    fn wrong<T>(&self, what: &str) -> Verdict<T> {
        let head = latin1(self.head.raw());
        let mut body = latin1(&self.body);
        if body.len() > 600 {
            body.truncate(body.char_indices().nth(600).map_or(600, |(at, _)| at));
            body.push_str("...");
        }
        Err(Finding::new(format!("expected {what}\n  saw      {head:?}\n           {body:?}")))
    }

    /// The status.
    ///
    /// # Errors
    /// A finding when it is another one.
    pub fn is(&self, status: u16) -> Verdict<&Self> {
        if self.head.status() == status { Ok(self) } else { self.wrong(&format!("status {status}")) }
    }

    /// Exactly one header line of this name, with this value.
    ///
    /// # Errors
    /// A finding when there is none, another, or more than one.
    pub fn with(&self, name: &str, value: &str) -> Verdict<&Self> {
        if self.head.all(name) == [value] { Ok(self) } else { self.wrong(&format!("exactly one line {name}: {value}")) }
    }

    /// No header line of this name.
    ///
    /// # Errors
    /// A finding when there is one.
    pub fn without(&self, name: &str) -> Verdict<&Self> {
        if self.head.all(name).is_empty() { Ok(self) } else { self.wrong(&format!("no line {name}")) }
    }

    /// This body, byte for byte.
    ///
    /// # Errors
    /// A finding when it is another one or was cut.
    pub fn carries(&self, body: &[u8]) -> Verdict<&Self> {
        if self.whole && self.body == body {
            Ok(self)
        } else {
            self.wrong(&format!("the whole body {:?}", latin1(body)))
        }
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// A finding when it is not JSON.
    pub fn json(&self) -> Verdict<Value> {
        match serde_json::from_slice(&self.body) {
            Ok(value) => Ok(value),
            Err(_) => self.wrong("a JSON body"),
        }
    }

    /// The error code, where an OpenAI surface (`error.code`) has it.
    ///
    /// # Errors
    /// A finding when it is another one, or the body has another shape.
    pub fn openai_code(&self, code: &str) -> Verdict<&Self> {
        self.openai_error()?;
        if self.json()?["error"]["code"] == code { Ok(self) } else { self.wrong(&format!("error.code {code}")) }
    }

    /// The shape of an OpenAI error, whatever its code.
    ///
    /// # Errors
    /// A finding when the body has another shape.
    pub fn openai_error(&self) -> Verdict<&Self> {
        let error = &self.json()?["error"];
        let shaped = error["message"].is_string()
            && error["type"].is_string()
            && error.get("param").is_some()
            && error["code"].is_string();
        if shaped { Ok(self) } else { self.wrong("an error object with message, type, param and code") }
    }

    /// The error code, where a native surface (`detail.code`) has it.
    ///
    /// # Errors
    /// A finding when it is another one, or the body has another shape.
    pub fn native_code(&self, code: &str) -> Verdict<&Self> {
        let detail = &self.json()?["detail"];
        if detail["code"] == code && detail["message"].is_string() {
            Ok(self)
        } else {
            self.wrong(&format!("detail with code {code} and a message"))
        }
    }

    /// Served locally, and nothing else said.
    ///
    /// # Errors
    /// A finding when the disclosure is another one.
    pub fn local(&self) -> Verdict<&Self> {
        self.discloses(&[("X-SIE-Served-By", "local")])
    }

    /// Served by this upstream; `reason` is the trigger, or nothing when the call went there directly.
    ///
    /// # Errors
    /// A finding when the disclosure is another one.
    pub fn remote(&self, upstream: &str, reason: Option<&str>) -> Verdict<&Self> {
        let mut lines = vec![("X-SIE-Served-By", "remote"), ("X-SIE-Upstream", upstream)];
        lines.extend(reason.map(|reason| ("X-SIE-Fallback-Reason", reason)));
        self.discloses(&lines)
    }

    /// The restored refusal: trigger, SIE code and Spillway's own cause.
    ///
    /// # Errors
    /// A finding when the disclosure is another one.
    pub fn restored(&self, reason: &str, error: &str, cause: &str) -> Verdict<&Self> {
        self.discloses(&[
            ("X-SIE-Served-By", "local"),
            ("X-SIE-Fallback-Reason", reason),
            ("X-SIE-Fallback-Error", error),
            ("Spillway-Cause", cause),
        ])
    }

    /// The restored refusal, whatever Spillway's own cause.
    ///
    /// # Errors
    /// A finding when the disclosure is another one, or no cause stands beside it.
    pub fn restored_with(&self, reason: &str, error: &str) -> Verdict<&Self> {
        match self.head.field("Spillway-Cause") {
            Some(cause) => self.restored(reason, error, &cause),
            None => self.wrong("a line Spillway-Cause"),
        }
    }

    /// Spillway's own rejection: no side gave it, so nothing is disclosed.
    ///
    /// # Errors
    /// A finding when something is.
    pub fn undisclosed(&self) -> Verdict<&Self> {
        self.discloses(&[])
    }

    fn discloses(&self, lines: &[(&str, &str)]) -> Verdict<&Self> {
        for name in DISCLOSURE {
            match lines.iter().find(|line| line.0 == name) {
                Some((_, value)) => self.with(name, value)?,
                None => self.without(name)?,
            };
        }
        Ok(self)
    }
}
