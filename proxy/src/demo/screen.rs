//! How does the demo look? Lines for everyone; colours and a bar that moves for a terminal.

use std::io::{self, IsTerminal as _, Write as _};

/// Cells of the bar.
const BAR: usize = 40;
/// How wide the label of a line is.
const LABEL: usize = 13;

/// Where the demo is told. A closed stdout is remembered, not reported: the story looks once in a while.
pub(super) struct Screen {
    /// Whether a line can be drawn again.
    terminal: bool,
    colours: bool,
    /// Whether the bar stands on the last line.
    bar: bool,
    closed: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Ink {
    Bad,
    Bold,
    Dim,
    Good,
    Kept,
    Plain,
}

impl Screen {
    pub(super) fn stdout() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let terminal = io::stdout().is_terminal() && set("TERM").is_none_or(|term| term != "dumb");
        Self { terminal, colours: terminal && set("NO_COLOR").is_none(), bar: false, closed: false }
    }

    pub(super) const fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether nobody can see us any more.
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes as it stands, and at once. The bar makes room.
    pub(super) fn write(&mut self, text: &str) {
        if std::mem::take(&mut self.bar) {
            self.out("\r\x1b[K");
        }
        self.out(text);
    }

    /// One line.
    pub(super) fn line(&mut self, ink: Ink, text: &str) {
        let text = self.painted(ink, text);
        self.write(&format!("{text}\n"));
    }

    /// The start of a line of the story: when, and what it is about.
    pub(super) fn begin(&mut self, at_s: f64, label: &str) {
        let label = self.painted(Ink::Bold, &format!("{label:<LABEL$}"));
        self.write(&format!("{at_s:>6.1} s  {label}  "));
    }

    /// A whole line of the story that is about nobody's call.
    pub(super) fn news(&mut self, at_s: f64, text: &str) {
        self.write(&format!("{at_s:>6.1} s  {text}\n"));
    }

    /// What stands behind the line above.
    pub(super) fn beneath(&mut self, ink: Ink, text: &str) {
        let text = self.painted(ink, text);
        self.write(&format!("{:1$}{text}\n", "", 8 + 2 + LABEL + 2 + 2));
    }

    /// Draws the bar below everything, at `done` of 1. For terminals only.
    pub(super) fn bar(&mut self, at_s: f64, done: f64) {
        let full = (1..=BAR).filter(|cell| *cell as f64 <= done * BAR as f64).count();
        let (full, rest) = ("█".repeat(full), "░".repeat(BAR - full));
        let bar = format!("{}{}", self.painted(Ink::Good, &full), self.painted(Ink::Dim, &rest));
        self.out(&format!("\r\x1b[K{at_s:>6.1} s  loading        {bar} {:.0} %", done * 100.0));
        self.bar = true;
    }

    pub(super) fn painted(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            _ if !self.colours => return text.to_owned(),
            Ink::Bad => "1;31",
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Good => "32",
            Ink::Kept => "33",
            Ink::Plain => return text.to_owned(),
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    fn out(&mut self, text: &str) {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        self.closed |= written.is_err();
    }
}
