//! How does an upstream of either kind answer a call, whatever surface and encoding the call comes in?

use serde_json::json;

use super::journal::Heard;
use super::sample::{self, Surface, msgpack};
use super::script::{Answer, Play};

/// A success that fits the call: its path, its `stream`, and for native calls its `Accept`. Its text says `remote`.
pub fn success(heard: &Heard) -> Play {
    let model = heard.json()["model"].as_str().unwrap_or("vendor/model").to_owned();
    let surface = Surface::of(&heard.path(), heard.json()["stream"] == true);
    match surface {
        Surface::Encode | Surface::Extract if wants_msgpack(heard) => {
            Answer::new(200).field("Content-Type", "application/msgpack").body(msgpack(surface)).into()
        }
        _ => sample::answer(surface, &model, "remote"),
    }
}

/// An answer with status 200 and a body that is none.
pub fn malformed(heard: &Heard) -> Play {
    if heard.json()["stream"] == true {
        return Play::events(&["data: {\"choices\": nonsense\n\n"]);
    }
    Answer::json(200, r#"{"nonsense": true}"#).into()
}

/// An error on the surface of the call; without a code it carries none.
pub fn error(heard: &Heard, status: u16, code: Option<&str>, retry_after: Option<&str>) -> Play {
    let surface = Surface::of(&heard.path(), false);
    let body = match code {
        Some(code) => super::engine::error_body(surface, status, code),
        None => json!({"message": "upstream words"}).to_string(),
    };
    let answer = Answer::json(status, &body);
    match retry_after {
        Some(seconds) => answer.field("Retry-After", seconds).into(),
        None => answer.into(),
    }
}

fn wants_msgpack(heard: &Heard) -> bool {
    heard.head.field("accept").is_none_or(|accept| accept.contains("msgpack"))
}
