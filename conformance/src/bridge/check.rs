//! Did the exchange come out as recorded?

use serde_json::Value;

use super::plan::Plan;
use super::script;
use crate::expect::{During, Finding, Verdict, holds, lacks, same};
use crate::stage::Stage;
use crate::stage::client::Received;
use crate::stage::journal::Heard;
use crate::stage::sample::Surface;

/// Plays the exchange and compares everything that was recorded.
pub(super) async fn exchange(plan: &Plan, stage: &Stage) -> Verdict {
    if plan.expected()["upstream_closed"] == true {
        return caller_leaves(plan, stage).await;
    }
    let answer = stage.ask(&plan.request()).await?;
    compare(plan, &answer)?;
    let engine_calls = stage.engine.journal().heard_of(&plan.model).len();
    same("calls to the engine", &engine_calls, &usize::from(plan.asks_engine()))?;
    if !plan.finds_no_upstream() {
        let wanted = plan.expected()["upstream_calls"].as_u64().unwrap_or(0);
        same("calls to the upstream", &(upstream_calls(plan, stage).len() as u64), &wanted)?;
    }
    Ok(())
}

fn upstream_calls(plan: &Plan, stage: &Stage) -> Vec<Heard> {
    let mine = |heard: &Heard| heard.model().is_some_and(|model| model.contains(&plan.mark));
    stage.upstream.journal().heard().into_iter().filter(mine).collect()
}

async fn caller_leaves(plan: &Plan, stage: &Stage) -> Verdict {
    let mut client = stage.client().await?;
    client.send(plan.request().bytes()).await?;
    let mine = |heard: &Heard| heard.model().is_some_and(|model| model.contains(&plan.mark));
    let record = stage.upstream.journal().until("the upstream's call", |record| record.heard.iter().any(mine)).await?;
    drop(client);
    let connection = record.heard.iter().find(|heard| mine(heard)).map_or(0, |heard| heard.connection);
    stage.upstream.journal().closed_by_peer(connection).await?;
    same("calls to the upstream", &upstream_calls(plan, stage).len(), &1)
}

fn compare(plan: &Plan, answer: &Received) -> Verdict {
    let expected = plan.expected();
    let status = expected["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
    answer.is(status)?;
    if let Some(code) = expected["code"].as_str() {
        if plan.surface.is_native() {
            answer.native_code(code)?
        } else {
            answer.openai_code(code)?
        };
    }
    headers(plan, answer)?;
    body(plan, answer)?;
    match expected["stream_tail"].as_str() {
        Some(_) => tail(plan, answer),
        None if status == 200 && plan.surface.is_stream() => {
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            holds(answer.whole && text.ends_with("data: [DONE]\n\n"), "a stream that ends with [DONE]", &text)
        }
        None => Ok(()),
    }
}

fn headers(plan: &Plan, answer: &Received) -> Verdict {
    let expected = plan.expected();
    for (name, value) in expected["headers"].as_object().into_iter().flatten() {
        answer.with(name, value.as_str().unwrap_or_default())?;
    }
    for name in expected["absent_headers"].as_array().into_iter().flatten() {
        answer.without(name.as_str().unwrap_or_default())?;
    }
    if plan.is_rejected() {
        answer.undisclosed()?;
    } else if plan.asks_engine() && expected["upstream_calls"] == 0 && !plan.finds_breaker_open() {
        // Served-By stands on what the engine said, whatever it said.
        answer.local()?;
    }
    if plan.finds_no_upstream() {
        answer.with("Spillway-Cause", "connect")?;
    }
    Ok(())
}

fn body(plan: &Plan, answer: &Received) -> Verdict {
    match &plan.expected()["body"] {
        Value::String(_) => {
            let refusal = script::refusal(plan)
                .ok_or_else(|| Finding::new("the case restores a refusal that it does not have"))?;
            answer.carries(refusal.content())?;
        }
        Value::Object(_) => {
            let body = answer.json()?;
            same("the model", &body["model"], &plan.model.clone().into())?;
            let id = body["id"].as_str().unwrap_or_default();
            holds(id.starts_with("chatcmpl-") && id != "chatcmpl-up", "a new chatcmpl- id", &id)?;
            lacks("the body", &body.to_string(), "private")?;
        }
        _ => {}
    }
    Ok(())
}

/// A stream that failed after its first content: generate ends with its terminal event and `[DONE]`, the others with an error
/// object and nothing after it.
fn tail(plan: &Plan, answer: &Received) -> Verdict {
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let events: Vec<&str> = text.split("\n\n").filter(|event| !event.is_empty()).collect();
    let parsed = |event: &str| -> Value {
        let json = event.strip_prefix("data: ").unwrap_or_default();
        serde_json::from_str(json).unwrap_or_default()
    };
    if plan.surface == Surface::GenerateStream {
        same("the last event", &events.last().copied(), &Some("data: [DONE]")).during(&text)?;
        let end = parsed(events.iter().rev().nth(1).copied().unwrap_or_default());
        same("done", &end["done"], &true.into())?;
        same("finish_reason", &end["finish_reason"], &"error".into())?;
        return same("error.code", &end["error"]["code"], &"inference_error".into());
    }
    let errors = events.iter().filter(|event| parsed(event)["error"].is_object()).count();
    same("error events", &errors, &1).during(&text)?;
    let last = parsed(events.last().copied().unwrap_or_default());
    holds(last["error"].is_object(), "the error as the last event", &text)
}
