//! vLLM, as engines section 1 tells it: `/health` without a body, sleep in developer mode only, queue gauges as Prometheus text.

use serde_json::json;

use super::answer::{Answered, execute, json as answer_json, not_found, whole};
use super::http::Asked;
use super::world::World;
use crate::stage::script::Answer;

/// Answers one request.
pub(super) async fn answer(world: &World, asked: &Asked) -> Answered {
    let developer = std::env::var("VLLM_SERVER_DEV_MODE").is_ok_and(|value| value == "1");
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/health" | "/ping") => whole(Answer::new(200)),
        ("GET", "/version") => answer_json(200, &json!({"version": "0.33.0"})),
        ("GET", "/v1/models") => {
            answer_json(200, &json!({"object": "list", "data": [{"id": "org/chat", "object": "model"}]}))
        }
        ("GET", "/metrics") => whole(Answer::new(200).field("Content-Type", "text/plain").body(gauges(world))),
        ("GET", "/is_sleeping") if developer => answer_json(200, &json!({"is_sleeping": world.is_asleep()})),
        ("POST", "/sleep") if developer => {
            world.sleep();
            whole(Answer::new(200))
        }
        ("POST", "/wake_up") if developer => {
            world.wake().await;
            whole(Answer::new(200))
        }
        ("POST", path) if path.starts_with("/v1/") && world.is_asleep() => {
            // A real one hangs or dies here.
            world.tell("called asleep");
            answer_json(500, &json!({"error": {"message": "asleep", "type": "InternalServerError", "code": 500}}))
        }
        ("POST", path) if path.starts_with("/v1/") => execute(world, path, &asked.body),
        _ => not_found(),
    }
}

fn gauges(world: &World) -> String {
    let gauge = |name: &str, value: usize| {
        format!("# TYPE vllm:{name} gauge\nvllm:{name}{{engine=\"0\",model_name=\"org/chat\"}} {value}.0\n")
    };
    // The call that asks is no call of a model.
    gauge("num_requests_running", world.running()) + &gauge("num_requests_waiting", 0)
}
