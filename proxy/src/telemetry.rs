//! What is counted and logged? One structured line per exchange: who served, why, how long. No bodies, no secrets, no texts of others.

use parking_lot::Mutex;
use serde::Serialize;
use spillway_policies::verdict::Why;
use spillway_policies::{Cause, Failure, Surface, Trigger};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub use crate::config::{AccessLog, LogFormat};

/// Most bytes of access lines that wait to be written; beyond it lines are dropped and counted, and no caller waits.
const MOST_WAITING: usize = 1024 * 1024;

/// Which side gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Local,
    Remote,
}

/// What is known about one exchange. Filled in on the way, written once at its end.
pub(crate) struct Exchange {
    pub(crate) started: Instant,
    pub(crate) status: u16,
    pub(crate) surface: Option<Surface>,
    pub(crate) code: Option<&'static str>,
    /// The model, when the configuration names it: callers' own strings stay out of the log.
    pub(crate) model: Option<String>,
    pub(crate) upstream: Option<String>,
    /// Milliseconds until the engine had answered or refused.
    pub(crate) local_ms: Option<u64>,
    /// Milliseconds the upstream attempt took until it was primed or had failed.
    pub(crate) upstream_ms: Option<u64>,
    /// The refusal was made from the engine's state, without asking it.
    pub(crate) foreseen: bool,
    side: Option<Side>,
    trigger: Option<Trigger>,
    cause: Option<Cause>,
    why: Option<Why>,
    ended: Option<&'static str>,
}

impl Exchange {
    pub(crate) fn new(surface: Option<Surface>) -> Self {
        Self {
            started: Instant::now(),
            status: 0,
            surface,
            code: None,
            model: None,
            upstream: None,
            local_ms: None,
            upstream_ms: None,
            foreseen: false,
            side: None,
            trigger: None,
            cause: None,
            why: None,
            ended: None,
        }
    }

    /// Milliseconds since the head of the request was read.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn served(&mut self, side: Side) {
        self.side = Some(side);
    }

    pub(crate) fn bridged(&mut self, trigger: Option<Trigger>) {
        self.trigger = trigger;
    }

    pub(crate) fn kept(&mut self, trigger: Trigger, why: Why) {
        (self.trigger, self.why) = (Some(trigger), Some(why));
    }

    pub(crate) fn restored(&mut self, trigger: Trigger, cause: Cause) {
        (self.trigger, self.cause) = (Some(trigger), Some(cause));
    }

    pub(crate) fn failed(&mut self, failure: &Failure) {
        self.cause = Some(failure.cause);
    }

    pub(crate) fn client_gone(&mut self) {
        self.ended = Some("client_gone");
    }

    pub(crate) fn truncated(&mut self) {
        self.ended = Some("engine_truncated");
    }

    pub(crate) fn stream_failed(&mut self, cause: Cause) {
        self.ended = Some("stream_failed");
        self.cause = Some(cause);
    }

    /// The process ended in the middle.
    const fn cut_off(&mut self) {
        self.ended = Some("cut_off");
    }

    fn wanted(&self, access: AccessLog) -> bool {
        match access {
            AccessLog::All => true,
            AccessLog::Bridged => (self.trigger.is_some() && self.why.is_none()) || self.side == Some(Side::Remote),
            AccessLog::Errors => self.status >= 400 || self.ended.is_some(),
            AccessLog::None => false,
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    time_ms: u128,
    event: &'static str,
    surface: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    served_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreseen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_ms: Option<u64>,
    total_us: u64,
}

impl Line<'_> {
    /// For a person at a terminal.
    fn text(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        write!(out, "{} {} {}", httpdate::fmt_http_date(std::time::SystemTime::now()), self.status, self.surface)?;
        for (name, value) in [
            ("", self.model),
            ("by ", self.served_by),
            ("at ", self.upstream),
            ("trigger ", self.trigger),
            ("cause ", self.cause),
            ("kept ", self.kept),
            ("code ", self.code),
            ("ended ", self.ended),
        ] {
            if let Some(value) = value {
                write!(out, " {name}{value}")?;
            }
        }
        if self.foreseen {
            write!(out, " foreseen")?;
        }
        for (name, millis) in [("local", self.local_ms), ("upstream", self.upstream_ms)] {
            if let Some(millis) = millis {
                write!(out, " {name} {millis} ms")?;
            }
        }
        write!(out, " {} us", self.total_us)
    }
}

/// The access log: lines are collected in memory and written to stderr by the sweeper, so that a request costs no system call.
pub(crate) struct Access {
    wanted: AccessLog,
    text: bool,
    waiting: Arc<Waiting>,
}

/// Access lines that are not written yet.
#[derive(Default)]
struct Waiting {
    lines: Mutex<Vec<u8>>,
    dropped: AtomicU64,
}

impl Access {
    pub(crate) fn new(wanted: AccessLog, format: LogFormat) -> Self {
        Self { wanted, text: is_text(format), waiting: Arc::default() }
    }

    /// An exchange that is recorded when it is over, also when its task is ended with the process.
    pub(crate) fn open(&self, surface: Option<Surface>) -> Open<'_> {
        Open { access: self, log: Exchange::new(surface), over: false }
    }

    /// Records one exchange.
    pub(crate) fn record(&self, exchange: &Exchange) {
        if !exchange.wanted(self.wanted) {
            return;
        }
        let line = Line {
            time_ms: std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |since| since.as_millis()),
            event: "exchange",
            surface: exchange.surface.map_or("pass", Surface::name),
            status: exchange.status,
            served_by: exchange.side.map(|side| match side {
                Side::Local => "local",
                Side::Remote => "remote",
            }),
            model: exchange.model.as_deref(),
            upstream: exchange.upstream.as_deref(),
            trigger: exchange.trigger.map(Trigger::token),
            cause: exchange.cause.map(Cause::token),
            kept: exchange.why.map(Why::token),
            foreseen: exchange.foreseen,
            code: exchange.code,
            ended: exchange.ended,
            local_ms: exchange.local_ms,
            upstream_ms: exchange.upstream_ms,
            total_us: u64::try_from(exchange.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        let mut waiting = self.waiting.lines.lock();
        let full = waiting.len() >= MOST_WAITING;
        let written = !full
            && if self.text {
                line.text(&mut waiting).is_ok()
            } else {
                serde_json::to_writer(&mut *waiting, &line).is_ok()
            };
        if !written {
            self.waiting.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.push(b'\n');
    }

    /// Writes what waits. Off the workers: stderr may block.
    pub(crate) fn flush(&self) {
        if self.waiting.lines.lock().is_empty() {
            return;
        }
        // The lines are taken by the task: one that the end of the process overtakes leaves them for `flush_now`.
        let waiting = self.waiting.clone();
        tokio::task::spawn_blocking(move || waiting.write_out());
    }

    /// Writes what waits before the process ends.
    pub(crate) fn flush_now(&self) {
        self.waiting.write_out();
    }
}

/// An exchange under way.
pub(crate) struct Open<'a> {
    access: &'a Access,
    pub(crate) log: Exchange,
    over: bool,
}

impl Open<'_> {
    /// It came to its own end.
    pub(crate) fn close(mut self) {
        self.over = true;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.log.cut_off();
        }
        self.access.record(&self.log);
    }
}

impl Waiting {
    fn write_out(&self) {
        let lines = std::mem::take(&mut *self.lines.lock());
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let mut stderr = std::io::stderr().lock();
        // A closed stderr is no reason to stop serving.
        let _ = stderr.write_all(&lines);
        if dropped > 0 {
            let _ = writeln!(stderr, "{{\"event\":\"access_lines_dropped\",\"count\":{dropped}}}");
        }
    }
}

/// `Auto` is text on a terminal and JSON elsewhere.
fn is_text(format: LogFormat) -> bool {
    use std::io::IsTerminal as _;
    match format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Json => false,
        LogFormat::Text => true,
    }
}

/// Starts the log of the process itself, on stderr.
pub fn start(format: LogFormat) {
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_max_level(tracing::Level::INFO)
        // It would say on stderr that stderr cannot be written, and panic.
        .log_internal_errors(false);
    // A second start, in a test, keeps the first.
    let _ = if is_text(format) { builder.try_init() } else { builder.json().flatten_event(true).try_init() };
}
