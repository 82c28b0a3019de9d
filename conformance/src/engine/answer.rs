//! How does a played engine answer a call: whole, or piece by piece when the prompt says "slowly"?

use serde_json::Value;

use super::world::World;
use crate::stage::sample::{self, Surface};
use crate::stage::script::{Answer, chunk};

/// What is written, and what is waited for in between.
pub(super) enum Part {
    Bytes(Vec<u8>),
    Step(&'static str),
}

/// One answer in its parts.
pub(super) type Answered = Vec<Part>;

/// The step in the middle of a slow answer.
const MIDDLE: &str = "token";

/// A whole answer.
pub(super) fn whole(answer: Answer) -> Answered {
    vec![Part::Bytes(answer.bytes())]
}

/// A JSON answer.
pub(super) fn json(status: u16, body: &Value) -> Answered {
    whole(Answer::json(status, &body.to_string()))
}

/// What no route takes, as FastAPI says it.
pub(super) fn not_found() -> Answered {
    whole(Answer::json(404, r#"{"detail":"Not Found"}"#))
}

/// Runs a call of an OpenAI surface, as far as anything runs here. This is what must happen once.
pub(super) fn execute(world: &World, path: &str, body: &Value) -> Answered {
    let model = body["model"].as_str().unwrap_or_default();
    world.tell(&format!("executed {path} {model}"));
    let surface = Surface::of(path, body["stream"] == true);
    let slowly = body.to_string().contains("slowly");
    if surface != Surface::ChatStream {
        let answer = Answer::json(200, &sample::success_body(surface, model, "local").to_string()).bytes();
        return if slowly { vec![Part::Step(MIDDLE), Part::Bytes(answer)] } else { vec![Part::Bytes(answer)] };
    }
    let head = Answer::new(200).field("Content-Type", "text/event-stream").field("Transfer-Encoding", "chunked");
    let mut begin = head.head();
    begin.extend(chunk(sample::chat_role(model).as_bytes()));
    begin.extend(chunk(sample::chat_text(model, "local").as_bytes()));
    let mut end = Vec::new();
    for event in [vec![sample::chat_text(model, "end")], sample::chat_finish(model)].concat() {
        end.extend(chunk(event.as_bytes()));
    }
    end.extend_from_slice(b"0\r\n\r\n");
    let mut parts = vec![Part::Bytes(begin)];
    parts.extend(slowly.then_some(Part::Step(MIDDLE)));
    parts.push(Part::Bytes(end));
    parts
}
