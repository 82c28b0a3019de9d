//! What became of a call, and why? Read from the caller's answer and from what both sides noted, never from the script.

use super::caller::{Ask, Seen};
use super::journal::{Note, Said};
use spillway_filters::names;
use std::time::Duration;

/// How an exchange can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The engine answered.
    Local,
    /// The engine's refusal, and nothing was sent upstream.
    Kept,
    /// Anything else.
    Odd,
    /// The upstream answered.
    Remote,
    /// The engine's refusal, byte for byte, after an upstream attempt.
    Restored,
}

impl Ending {
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::Local => "the local engine's answer",
            Self::Kept => "the engine's own refusal, nothing sent upstream",
            Self::Odd => "none of the endings there are",
            Self::Remote => "the upstream's answer",
            Self::Restored => "the engine's own refusal, restored",
        }
    }
}

/// One exchange, seen from all three sides.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) seen: Seen,
    pub(super) engine: Option<Said>,
    pub(super) upstream: Option<Said>,
    /// Whether the engine was asked, and before the upstream was.
    pub(super) engine_first: bool,
    /// Whether the caller forbade remote serving.
    forbidden: bool,
}

impl Outcome {
    /// `notes` are those that were made during the exchange.
    pub(super) fn new(ask: Ask, seen: Seen, notes: Vec<Note>) -> Self {
        let mut outcome = Self { seen, engine: None, upstream: None, engine_first: false, forbidden: ask.forbid };
        for note in notes {
            match note {
                Note::EngineSaid(said) => {
                    outcome.engine_first = outcome.upstream.is_none();
                    outcome.engine = Some(said);
                }
                Note::UpstreamSaid(said) => outcome.upstream = Some(said),
                Note::EngineCold(_) | Note::EngineWarm | Note::UpstreamDown | Note::UpstreamUp => {}
            }
        }
        outcome
    }

    pub(super) fn ending(&self) -> Ending {
        let served_by = self.seen.header(names::SERVED_BY);
        match (self.seen.status, served_by, &self.engine, &self.upstream) {
            (200, Some("remote"), _, Some(_)) => Ending::Remote,
            (200, Some("local"), Some(engine), None) if engine.status == 200 => Ending::Local,
            (_, Some("local"), Some(_), None) if self.is_engines_own() => Ending::Kept,
            (_, Some("local"), Some(_), Some(_)) if self.is_engines_own() => Ending::Restored,
            _ => Ending::Odd,
        }
    }

    /// Whether the caller has every header line and the body as the engine wrote them.
    fn is_engines_own(&self) -> bool {
        let Some(engine) = &self.engine else { return false };
        let wrote = String::from_utf8_lossy(&engine.head);
        engine.body == self.seen.body && wrote.lines().all(|line| self.seen.head.lines().any(|seen| seen == line))
    }

    /// Who answered, with what, how fast.
    pub(super) fn verdict(&self) -> String {
        let (status, took) = (self.seen.status, duration(self.seen.took));
        match self.ending() {
            Ending::Local => format!("local engine answered {status} in {took}{}", self.quote()),
            Ending::Remote => format!("upstream answered {status} in {took}{}", self.quote()),
            Ending::Kept | Ending::Restored => {
                let code = self.seen.text("/error/code").unwrap_or_default();
                let wait = self.seen.header("Retry-After").map(|wait| format!(", Retry-After: {wait}"));
                format!("engine's own {status} {code} in {took}{}", wait.unwrap_or_default())
            }
            Ending::Odd => format!("{status} in {took}{}", self.quote()),
        }
    }

    fn quote(&self) -> String {
        let text = self.seen.text("/choices/0/message/content").or_else(|| self.seen.text("/error/message"));
        text.map_or_else(String::new, |text| format!(": {text}"))
    }

    /// What happened behind the answer, in lines.
    pub(super) fn why(&self) -> Vec<String> {
        let engine = self.engine.as_ref().map_or_else(|| "nothing".to_owned(), said);
        let forbidden = if self.forbidden { "the call said X-SIE-Remote: forbid; " } else { "" };
        match (self.ending(), &self.upstream) {
            (Ending::Local | Ending::Kept, _) => vec![format!("{forbidden}nothing was sent upstream")],
            (Ending::Remote, _) => vec![format!("the engine said {engine}; the caller never saw it")],
            (Ending::Restored, Some(upstream)) => vec![
                format!("the upstream said {}; the refusal is restored byte for byte", said(upstream)),
                self.disclosed(),
            ],
            (_, upstream) => {
                let upstream = upstream.as_ref().map_or_else(|| "nothing".to_owned(), said);
                vec![format!("the engine said {engine}, the upstream said {upstream}"), self.disclosed()]
            }
        }
    }

    /// What the caller is told about the failed attempt.
    fn disclosed(&self) -> String {
        let names = [names::FALLBACK_ERROR, names::CAUSE];
        let lines = names.iter().filter_map(|name| Some(format!("{name}: {}", self.seen.header(name)?)));
        lines.collect::<Vec<_>>().join(", ")
    }
}

/// Status and code of an answer.
pub(super) fn said(said: &Said) -> String {
    said.code.map_or_else(|| said.status.to_string(), |code| format!("{} {code}", said.status))
}

/// A duration for people.
pub(super) fn duration(took: Duration) -> String {
    let ms = took.as_secs_f64() * 1000.0;
    match ms {
        _ if ms < 9.95 => format!("{ms:.1} ms"),
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::{Ending, Outcome, duration};
    use crate::demo::caller::{Ask, Seen};
    use crate::demo::journal::{Note, Said};
    use std::time::Duration;

    const HEAD: &str = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n";

    fn said(status: u16, head: &str, body: &str) -> Said {
        Said { status, code: None, head: head.into(), body: body.into(), had_key: true }
    }

    fn ending(status: u16, head: &str, body: &str, notes: Vec<Note>) -> Ending {
        let took = Duration::from_millis(1);
        let seen = Seen { status, head: head.to_owned(), body: body.into(), words: 0, took };
        Outcome::new(Ask::default(), seen, notes).ending()
    }

    #[test]
    fn an_ending_needs_the_header_and_what_the_sides_did() {
        let refusal = || Note::EngineSaid(said(503, HEAD, "no"));
        let remote = || Note::UpstreamSaid(said(200, "HTTP/1.1 200 OK\r\n", "yes"));
        let served = |by: &str| format!("HTTP/1.1 200 OK\r\nX-SIE-Served-By: {by}\r\n\r\n");
        assert_eq!(ending(200, &served("remote"), "yes", vec![refusal(), remote()]), Ending::Remote);
        assert_eq!(ending(200, &served("remote"), "yes", vec![refusal()]), Ending::Odd);
        assert_eq!(ending(200, &served("local"), "yes", vec![refusal(), remote()]), Ending::Odd);
        let answered = || Note::EngineSaid(said(200, "HTTP/1.1 200 OK\r\n", "yes"));
        assert_eq!(ending(200, &served("local"), "yes", vec![answered()]), Ending::Local);
    }

    #[test]
    fn a_refusal_that_is_not_the_engines_own_is_odd() {
        let refusal = || Note::EngineSaid(said(503, HEAD, "no"));
        let down = || Note::UpstreamSaid(said(503, HEAD, "down"));
        let seen = format!("{HEAD}X-SIE-Served-By: local\r\n\r\n");
        assert_eq!(ending(503, &seen, "no", vec![refusal()]), Ending::Kept);
        assert_eq!(ending(503, &seen, "no", vec![refusal(), down()]), Ending::Restored);
        assert_eq!(ending(503, &seen, "down", vec![refusal(), down()]), Ending::Odd);
        let without_wait = seen.replace("Retry-After: 5", "Retry-After: 60");
        assert_eq!(ending(503, &without_wait, "no", vec![refusal(), down()]), Ending::Odd);
    }

    #[test]
    fn durations_have_two_digits_or_so() {
        let texts = [(0, "0.0 ms"), (2_340, "2.3 ms"), (23_400, "23 ms"), (1_234_000, "1.2 s")];
        for (micros, text) in texts {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
    }
}
