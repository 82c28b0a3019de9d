//! Ollama, as engines section 1 tells it: a call for a model that is not loaded is held until it is. A model is listed once its load has begun.

use serde_json::{Value, json};

use super::answer::{Answered, execute, json as answer_json, whole};
use super::http::Asked;
use super::world::World;
use crate::stage::script::Answer;

/// Answers one request.
pub(super) async fn answer(world: &World, asked: &Asked) -> Answered {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/") => whole(Answer::new(200).body("Ollama is running")),
        ("GET", "/api/version") => answer_json(200, &json!({"version": "0.11.10"})),
        ("GET", "/api/ps") => answer_json(200, &json!({"models": listed(world)})),
        ("POST", "/api/generate" | "/api/embed") => generate(world, &asked.body).await,
        ("POST", path) if path.starts_with("/v1/") => {
            let model = tagged(&asked.body);
            if !world.models.has(&model) {
                world.tell(&format!("held {model}"));
                world.load(&model).await;
            }
            execute(world, path, &asked.body)
        }
        _ => whole(Answer::new(404).body("404 page not found")),
    }
}

/// What is loaded or on its way, by its full name: the list does not tell these apart.
fn listed(world: &World) -> Vec<Value> {
    let models = world.models.list().into_iter();
    models.map(|(name, _)| json!({"name": name, "model": name, "size": 1, "size_vram": 0})).collect()
}

/// A call without an input loads; with `keep_alive` 0 it unloads.
async fn generate(world: &World, body: &Value) -> Answered {
    let model = tagged(body);
    let unload = body["keep_alive"] == 0;
    if unload {
        world.unload(&model);
    } else {
        world.load(&model).await;
    }
    let reason = if unload { "unload" } else { "load" };
    answer_json(200, &json!({"model": model, "response": "", "done": true, "done_reason": reason}))
}

fn tagged(body: &Value) -> String {
    let model = body["model"].as_str().unwrap_or_default();
    if model.rsplit('/').next().unwrap_or_default().contains(':') {
        model.to_owned()
    } else {
        format!("{model}:latest")
    }
}
