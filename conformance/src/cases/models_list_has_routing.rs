//! Does the list of models say what Spillway does with each of them?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::client::Request;
use crate::stage::script::Answer;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "models_list_has_routing",
    clause: "GET /v1/models and /v1/models/{m}: the engine's entries with routing filled in, remote-backed models added; the configured ones while the engine is down",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn entry(name: &str) -> Value {
    json!({"name": name, "inputs": ["text"], "outputs": ["tokens"], "dims": null, "loaded": false, "state": "available",
        "last_error": null, "max_sequence_length": 8192, "profiles": {"default": {"is_default": true, "identity": null}},
        "revision": null, "routing": {"policy": null, "upstream_kind": null}, "aliases": ["a"], "score": 1.5})
}

async fn run(bench: Bench) -> Verdict {
    let setup = Setup::new().hybrid("org/chat").bridged("org/sie", "team-sie", "").remote_only("org/away", "hosted");
    let mut stage = bench.stage(setup).await?;
    let known = ["org/chat", "org/plain", "org/sie"].map(entry);
    stage.engine.on_path("/v1/models", Answer::json(200, &json!({"models": known}).to_string()));
    for known in &known {
        let path = format!("/v1/models/{}", known["name"].as_str().unwrap_or_default());
        stage.engine.on_path(&path, Answer::json(200, &known.to_string()));
    }
    for path in ["/v1/models/org/away", "/v1/models/org/nothing"] {
        stage.engine.on_path(path, Answer::json(404, r#"{"detail":{"code":"MODEL_NOT_FOUND","message":"m"}}"#));
    }
    whole_list(&stage, &known).await.during("/v1/models")?;
    one_by_one(&stage, &known).await.during("/v1/models/{m}")?;
    stage.engine.stop().await?;
    engine_down(&stage).await.during("engine down")
}

fn routing(policy: &str, kind: &str) -> Value {
    json!({"policy": policy, "upstream_kind": kind})
}

fn expected(known: &Value) -> Value {
    let mut entry = known.clone();
    match known["name"].as_str() {
        Some("org/chat") => entry["routing"] = routing("fallback", "openai"),
        Some("org/sie") => entry["routing"] = routing("fallback", "sie"),
        _ => {}
    }
    entry
}

async fn list(stage: &Stage) -> Verdict<Vec<Value>> {
    let answer = stage.ask(&Request::get("/v1/models")).await?;
    let models = answer.is(200)?.json()?["models"].as_array().cloned();
    Ok(models.unwrap_or_default())
}

fn named<'a>(models: &'a [Value], name: &str) -> Vec<&'a Value> {
    models.iter().filter(|model| model["name"] == name).collect()
}

async fn whole_list(stage: &Stage, known: &[Value]) -> Verdict {
    let models = list(stage).await?;
    same("the number of models", &models.len(), &4)?;
    for known in known {
        let name = known["name"].as_str().unwrap_or_default();
        same(name, &named(&models, name), &vec![&expected(known)])?;
    }
    let away = named(&models, "org/away");
    same("entries for the remote-backed model", &away.len(), &1)?;
    same("its routing", &away[0]["routing"], &routing("remote_only", "openai"))
}

async fn one_by_one(stage: &Stage, known: &[Value]) -> Verdict {
    for known in known {
        let name = known["name"].as_str().unwrap_or_default();
        let answer = stage.ask(&Request::get(&format!("/v1/models/{name}"))).await?;
        let mut entry = answer.is(200)?.json()?;
        // What an OpenAI client looks for in one model may stand beside what SIE says of it.
        for beside in ["id", "object", "created", "owned_by"] {
            entry.as_object_mut().map(|entry| entry.remove(beside));
        }
        same(name, &entry, &expected(known))?;
    }
    let away = stage.ask(&Request::get("/v1/models/org/away")).await?;
    same("the remote-backed model's routing", &away.is(200)?.json()?["routing"], &routing("remote_only", "openai"))?;
    stage.ask(&Request::get("/v1/models/org/nothing")).await?.is(404)?.native_code("MODEL_NOT_FOUND")?;
    Ok(())
}

async fn engine_down(stage: &Stage) -> Verdict {
    let models = list(stage).await?;
    for (name, policy, kind) in
        [("org/chat", "fallback", "openai"), ("org/sie", "fallback", "sie"), ("org/away", "remote_only", "openai")]
    {
        let found = named(&models, name);
        same(name, &found.len(), &1)?;
        same(name, &found[0]["routing"], &routing(policy, kind))?;
    }
    Ok(())
}
