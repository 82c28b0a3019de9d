//! The engine of the demo: cold for some seconds, as SIE is while it loads a model, and then quick.

use super::chat;
use super::journal::{Note, Notes, Said};
use super::listener::{Answer, Body, Call, Side};
use super::sidecar::MODEL;
use serde_json::json;
use spillway_filters::wire::request::Method;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long the first load takes.
pub(super) const FIRST_LOAD: Duration = Duration::from_secs(6);
/// How long a load takes that was asked for: enough to type a few commands.
pub(super) const NEXT_LOAD: Duration = Duration::from_secs(30);
/// What a caller is told to wait while the model loads.
const WAIT_S: u64 = 5;

pub(super) struct Engine {
    load: watch::Sender<Load>,
    notes: Notes,
    /// The sidecar's configuration, for whoever asks.
    configuration: String,
}

/// When the current load started, and how long it takes.
#[derive(Clone, Copy)]
struct Load {
    since: Instant,
    takes: Duration,
}

impl Engine {
    /// An engine that starts to load its model now.
    pub(super) fn new(notes: Notes, configuration: String) -> Self {
        let (load, _) = watch::channel(Load { since: Instant::now(), takes: FIRST_LOAD });
        Self { load, notes, configuration }
    }

    /// When the current load started.
    pub(super) fn since(&self) -> Instant {
        self.load.borrow().since
    }

    /// How much of the model is there, from 0 to 1.
    pub(super) fn progress(&self) -> f64 {
        let load = *self.load.borrow();
        if load.takes.is_zero() {
            1.0
        } else {
            (load.since.elapsed().as_secs_f64() / load.takes.as_secs_f64()).min(1.0)
        }
    }

    pub(super) fn is_loaded(&self) -> bool {
        let load = *self.load.borrow();
        load.since.elapsed() >= load.takes
    }

    /// Waits until the model is there.
    pub(super) async fn loaded(&self) {
        let mut watch = self.load.subscribe();
        loop {
            let load = *watch.borrow_and_update();
            tokio::select! {
                () = tokio::time::sleep_until(load.since + load.takes) => return,
                _ = watch.changed() => {}
            }
        }
    }

    /// Takes that much longer for the first load than it would.
    pub(super) fn is_late_by(&self, late: Duration) {
        self.load.send_if_modified(|load| {
            let (loaded, takes) = (load.since.elapsed() >= load.takes, FIRST_LOAD + late);
            !loaded && takes > load.takes && {
                load.takes = takes;
                true
            }
        });
    }

    fn loads_again(&self, takes: Duration) {
        self.load.send_replace(Load { since: Instant::now(), takes });
    }

    fn chat(&self, call: &Call) -> Answer {
        let (answer, code) = if self.is_loaded() {
            (chat::answer(call, "local engine"), None)
        } else {
            // The text differs from one refusal to the next, so that a restored one can be told from any other.
            let percent = self.progress() * 100.0;
            let message = format!("{MODEL} is loading, {percent:.1} % are there");
            (chat::error(503, "MODEL_LOADING", &message, Some(WAIT_S)), Some("MODEL_LOADING"))
        };
        let body = if let Body::Whole(body) = &answer.body { body.clone() } else { Vec::new() };
        let (status, head, had_key) = (answer.status, answer.head.clone(), call.has_key);
        self.notes.write(Note::EngineSaid(Said { status, code, head, body, had_key }));
        answer
    }

    /// What the engine has, as SIE lists it.
    fn models(&self) -> Answer {
        let loaded = self.is_loaded();
        let state = if loaded { "loaded" } else { "loading" };
        let model = json!({"name": MODEL, "inputs": ["text"], "outputs": ["tokens"], "loaded": loaded, "state": state});
        Answer::json(200, &json!({"models": [model]}))
    }
}

impl Side for Engine {
    fn answer(&self, call: &Call) -> Answer {
        match (call.method, call.path.as_str()) {
            (Method::Post, chat::PATH) => self.chat(call),
            (Method::Post, "/demo/engine/cold") => {
                self.loads_again(NEXT_LOAD);
                self.notes.write(Note::EngineCold(NEXT_LOAD));
                Answer::text(200, format!("the engine is cold for {} s\n", NEXT_LOAD.as_secs()))
            }
            (Method::Post, "/demo/engine/warm") => {
                self.loads_again(Duration::ZERO);
                self.notes.write(Note::EngineWarm);
                Answer::text(200, "the engine has its model\n")
            }
            (Method::Get | Method::Head, "/v1/models") => self.models(),
            (Method::Get | Method::Head, "/demo/configuration") => Answer::text(200, self.configuration.clone()),
            (Method::Get | Method::Head, "/healthz" | "/livez" | "/readyz") => Answer::text(200, "ok\n"),
            _ => Answer::text(404, "the demo's engine does not serve this\n"),
        }
    }
}
