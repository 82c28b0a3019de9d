//! The upstream of the demo: it serves chats until it is taken down.

use super::chat;
use super::journal::{Note, Notes, Said};
use super::listener::{Answer, Call, Side};
use spillway_filters::wire::request::Method;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct Upstream {
    is_down: AtomicBool,
    notes: Notes,
}

impl Upstream {
    pub(super) const fn new(notes: Notes) -> Self {
        Self { is_down: AtomicBool::new(false), notes }
    }

    /// Takes the upstream down, or brings it back.
    pub(super) fn turn(&self, down: bool) {
        self.is_down.store(down, Ordering::Relaxed);
        self.notes.write(if down { Note::UpstreamDown } else { Note::UpstreamUp });
    }

    fn chat(&self, call: &Call) -> Answer {
        let (answer, code) = if self.is_down.load(Ordering::Relaxed) {
            (
                chat::error(503, "overloaded", "the upstream is down, and says so in words of its own", Some(60)),
                Some("overloaded"),
            )
        } else {
            (chat::answer(call, "upstream"), None)
        };
        let (status, head, had_key) = (answer.status, answer.head.clone(), call.has_key);
        self.notes.write(Note::UpstreamSaid(Said { status, code, head, body: Vec::new(), had_key }));
        answer
    }
}

impl Side for Upstream {
    fn answer(&self, call: &Call) -> Answer {
        match (call.method, call.path.as_str()) {
            (Method::Post, chat::PATH) => self.chat(call),
            (Method::Post, "/demo/upstream/down") => {
                self.turn(true);
                Answer::text(200, "the upstream is down: it answers every chat with a 503\n")
            }
            (Method::Post, "/demo/upstream/up") => {
                self.turn(false);
                Answer::text(200, "the upstream is up\n")
            }
            _ => Answer::text(404, "the demo's upstream does not serve this\n"),
        }
    }
}
