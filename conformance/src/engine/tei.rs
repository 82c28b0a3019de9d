//! Text Embeddings Inference, as engines section 2.3 tells it: one model, loaded before it listens, refused with 429 when full.

use serde_json::json;

use super::answer::{Answered, execute, json as answer_json, whole};
use super::http::Asked;
use super::world::World;
use crate::stage::script::Answer;

/// Answers one request.
pub(super) fn answer(world: &World, asked: &Asked) -> Answered {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/health" | "/" | "/ping") => whole(Answer::new(200)),
        ("GET", "/info") => answer_json(
            200,
            &json!({"model_id": "org/embed", "model_sha": "0123456789abcdef0123456789abcdef01234567",
                    "model_dtype": "float32", "version": "1.8.2"}),
        ),
        ("GET", "/metrics") => whole(
            Answer::new(200).field("Content-Type", "text/plain").body("# TYPE te_queue_size gauge\nte_queue_size 0\n"),
        ),
        ("POST", path @ "/v1/embeddings") => {
            if world.running() > world.options.max_concurrent {
                let full = json!({"message": "Model is overloaded", "code": 429, "type": "Overloaded"});
                return answer_json(429, &full);
            }
            execute(world, path, &asked.body)
        }
        _ => whole(Answer::new(404)),
    }
}
