//! What happens in the demo, in which order? The script asks; what is told about it was seen.

use super::caller;
use super::engine::{Engine, FIRST_LOAD};
use super::hints;
use super::journal::{Journal, Note};
use super::outcome::{Ending, Outcome, duration, said};
use super::screen::{Ink, Screen};
use super::script::{ONCE_WARM, Step, WHILE_COLD};
use super::sidecar::MODEL;
use super::tally::Tally;
use super::upstream::Upstream;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks of the bar.
const FRAME: Duration = Duration::from_millis(100);
/// Between two dots where there is no bar.
const DOT: Duration = Duration::from_millis(500);

/// Where everybody listens.
#[derive(Default)]
pub(super) struct Places {
    pub(super) front: String,
    pub(super) admin: String,
    pub(super) engine: String,
    pub(super) upstream: String,
}

/// The demo, ready to be told.
pub(super) struct Story {
    places: Places,
    engine: Arc<Engine>,
    upstream: Arc<Upstream>,
    journal: Journal,
    screen: Screen,
    started: tokio::time::Instant,
    tally: Tally,
}

impl Story {
    pub(super) fn new(places: Places, engine: Arc<Engine>, upstream: Arc<Upstream>, journal: Journal) -> Self {
        let (screen, started, tally) = (Screen::stdout(), engine.since(), Tally::default());
        Self { places, engine, upstream, journal, screen, started, tally }
    }

    /// Tells it all, then reports what happens. Returns when stdout is closed.
    pub(super) async fn tell(mut self) {
        self.introduce();
        for step in &WHILE_COLD {
            self.wait_until(step.at).await;
            self.play(step).await;
            if self.screen.is_closed() {
                return;
            }
        }
        self.wait_for_the_model().await;
        self.play(&ONCE_WARM).await;
        self.sum_up();
        hints::print(&mut self.screen, &self.places);
        self.watch().await;
    }

    fn introduce(&mut self) {
        self.screen.line(
            Ink::Bold,
            "A cold engine, an upstream, and Spillway between them and the caller. All on this machine.",
        );
        let load = FIRST_LOAD.as_secs();
        let text = format!("The engine needs {load} s to load {MODEL}. The caller asks for it all the same:\n");
        self.screen.line(Ink::Plain, &text);
        self.screen.news(0.0, "the engine starts to load its model");
    }

    /// Seconds since the engine started.
    fn now_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    async fn wait_until(&mut self, at: Duration) {
        let until = self.started + at;
        while tokio::time::Instant::now() < until && !self.screen.is_closed() {
            self.draw_bar();
            tokio::time::sleep_until(until.min(tokio::time::Instant::now() + FRAME)).await;
        }
    }

    fn draw_bar(&mut self) {
        if self.screen.is_terminal() {
            self.screen.bar(self.now_s(), self.engine.progress());
        }
    }

    async fn wait_for_the_model(&mut self) {
        let dots = !self.screen.is_terminal();
        if dots {
            self.screen.begin(self.now_s(), "loading");
        }
        while !self.engine.is_loaded() && !self.screen.is_closed() {
            if dots {
                self.screen.write(".")
            } else {
                self.draw_bar()
            }
            let _ = tokio::time::timeout(if dots { DOT } else { FRAME }, self.engine.loaded()).await;
        }
        if dots {
            self.screen.write("\n");
        }
        self.screen.news(self.now_s(), "the model is loaded");
    }

    /// One call, with all that there is to say about it.
    async fn play(&mut self, step: &Step) {
        // A slow machine slows the script down, and the engine with it.
        self.engine.is_late_by(self.started.elapsed().saturating_sub(step.at));
        if step.upstream_down {
            self.upstream.turn(true);
        }
        self.journal.since();
        self.screen.begin(self.now_s(), step.label);
        let (screen, mut streams) = (&mut self.screen, false);
        let seen = caller::ask(&self.places.front, step.ask, |word, first| {
            if !std::mem::replace(&mut streams, true) {
                screen.write(&format!("→ first word after {}: ", duration(first)));
            }
            screen.write(word);
        });
        let seen = seen.await;
        if step.upstream_down {
            self.upstream.turn(false);
        }
        let notes = self.journal.since();
        match seen {
            Ok(seen) => self.tell_outcome(step, &Outcome::new(step.ask, seen, notes)),
            Err(error) => {
                self.tally.count_broken();
                let text = self.screen.painted(Ink::Bad, &format!("→ no answer: {error}"));
                self.screen.write(&format!("{text}\n"));
            }
        }
    }

    fn tell_outcome(&mut self, step: &Step, outcome: &Outcome) {
        let ending = outcome.ending();
        let ink = match ending {
            Ending::Local | Ending::Remote => Ink::Good,
            Ending::Kept | Ending::Restored => Ink::Kept,
            Ending::Odd => Ink::Bad,
        };
        if outcome.seen.words > 0 {
            self.screen.write("\n");
            let (verdict, words) = (outcome.verdict(), outcome.seen.words);
            self.screen.beneath(ink, &format!("{verdict}, {words} words"));
        } else {
            let verdict = self.screen.painted(ink, &outcome.verdict());
            self.screen.write(&format!("→ {verdict}\n"));
        }
        for line in outcome.why() {
            self.screen.beneath(Ink::Dim, &line);
        }
        if ending != step.expected {
            self.screen.beneath(Ink::Bad, &format!("expected: {}", step.expected.describe()));
        }
        self.tally.count(outcome, ending == step.expected);
    }

    fn sum_up(&mut self) {
        let ink = if self.tally.has_surprises() { Ink::Bad } else { Ink::Good };
        self.screen.line(ink, &self.tally.answers());
        self.screen.line(Ink::Plain, &self.tally.order());
    }

    /// What both sides see from now on.
    async fn watch(&mut self) {
        let mut loading = false;
        while !self.screen.is_closed() {
            let note = tokio::select! {
                note = self.journal.next() => note,
                () = self.engine.loaded(), if loading => {
                    loading = false;
                    self.screen.news(self.now_s(), "the model is loaded");
                    continue;
                }
            };
            let Some(note) = note else { return };
            loading |= matches!(note, Note::EngineCold(_));
            self.report(&note);
        }
    }

    fn report(&mut self, note: &Note) {
        let at_s = self.now_s();
        match note {
            Note::EngineCold(takes) => {
                self.screen.news(at_s, &format!("the engine loads its model again, for {} s", takes.as_secs()));
            }
            Note::EngineSaid(answer) => {
                self.screen.begin(at_s, "engine");
                self.screen.write(&format!("said {}\n", said(answer)));
            }
            // The end of the load says it.
            Note::EngineWarm => {}
            Note::UpstreamDown => self.screen.news(at_s, "the upstream is down"),
            Note::UpstreamSaid(answer) => {
                self.screen.begin(at_s, "upstream");
                self.screen.write(&format!("said {}\n", said(answer)));
            }
            Note::UpstreamUp => self.screen.news(at_s, "the upstream is up"),
        }
    }
}
