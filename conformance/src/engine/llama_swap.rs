//! llama-swap, as engines section 1 tells it: its health says nothing, and a call for a model that does not run is held until it does.

use serde_json::json;

use super::answer::{Answered, execute, json as answer_json, whole};
use super::http::Asked;
use super::world::World;
use crate::stage::script::Answer;

/// Answers one request.
pub(super) async fn answer(world: &World, asked: &Asked) -> Answered {
    let path = asked.path.as_str();
    match asked.method.as_str() {
        "GET" if path == "/health" => whole(Answer::new(200).body("OK")),
        "GET" if path == "/running" => answer_json(200, &running(world)),
        "GET" if path == "/unload" => {
            unload(world, "");
            whole(Answer::new(200).body("OK"))
        }
        "GET" => match path.strip_prefix("/upstream/").and_then(|rest| rest.strip_suffix("/health")) {
            Some(model) => {
                world.load(&model.replace("%2F", "/")).await;
                answer_json(200, &json!({"status": "ok"}))
            }
            None => whole(Answer::new(404)),
        },
        "POST" if path.starts_with("/api/models/unload") => {
            unload(world, path.trim_start_matches("/api/models/unload").trim_start_matches('/'));
            whole(Answer::new(200).body("OK"))
        }
        "POST" if path.starts_with("/v1/") => {
            let model = asked.body["model"].as_str().unwrap_or_default();
            if !world.models.has(model) {
                world.tell(&format!("held {model}"));
                world.load(model).await;
            }
            execute(world, path, &asked.body)
        }
        _ => whole(Answer::new(404)),
    }
}

fn running(world: &World) -> serde_json::Value {
    let state = |loaded| if loaded { "ready" } else { "starting" };
    let models: Vec<_> =
        world.models.list().iter().map(|(model, loaded)| json!({"model": model, "state": state(*loaded)})).collect();
    json!({"running": models})
}

/// Unloads one model, or all of them.
fn unload(world: &World, model: &str) {
    let model = model.replace("%2F", "/");
    for (name, _) in world.models.list() {
        if model.is_empty() || model == name {
            world.unload(&name);
        }
    }
}
