//! Does `/v1/models` say everything that is known, in a shape that every client reads, and leave alone what the engine says?

use serde_json::{Value, json};

use crate::case::Case;
use crate::expect::{During, Findings, Verdict, contains, holds, same};
use crate::stage::client::{Received, Request};
use crate::stage::head::latin1;
use crate::stage::script::Answer;
use crate::stage::setup::{Setup, profile};
use crate::stage::{Bench, Nowhere, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "models_list_is_complete",
    clause: "the engine's entries survive to the digit; remote-backed models and profiles are described in full, for SIE's and OpenAI's clients",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// An entry that no number type survives.
const ODD: &str =
    r#"{"name":"org/odd","ratio":0.10,"big":123456789012345678901234567890,"tiny":1E-400,"last":{"b":1,"a":2}}"#;

fn setup() -> Setup {
    let sizes = "tasks = { encode = { dense = { dim = 1024 }, multivector = { dim = 128 } }, score = {} }\nmax_sequence_length = 8192";
    Setup::new().hybrid("org/chat").remote_only("org/gen", "hosted").table(&format!(
        "[models.\"org/vec\"]\nremote_backed = true\n{sizes}\n{}\n{}\nrouting = {{ policy = \"remote_only\" }}",
        profile("default", "team-sie", "vendor/vec"),
        profile("fast", "team-sie", "vendor/vec:fast"),
    ))
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(setup()).await?;
    let mut findings = Findings::default();
    findings.note("SIE's shape", sies_shape(&stage).await);
    findings.note("one by one", one_by_one(&stage).await);
    findings.note("OpenAI's shape", openais_shape(&stage).await);
    findings.note("no list at all", as_it_came(&stage).await);
    findings.note("loading", loading(&stage).await);
    drop(stage);
    let nowhere = Nowhere::new()?;
    let stage = bench.stage(setup().engine_at(nowhere.address())).await?;
    findings.note("starting", not_there(&stage, "loading", Some("PROVISIONING")).await);
    let mut stage = bench.stage(setup()).await?;
    stage.ask(&Request::get("/v1/models")).await?.is(200)?;
    stage.engine.stop().await?;
    findings.note("stopped", not_there(&stage, "failed", Some("ENGINE_UNREACHABLE")).await);
    findings.verdict()
}

fn routing(policy: &str, kind: &str) -> Value {
    json!({"policy": policy, "upstream_kind": kind})
}

/// What is known of a remote-backed model that makes and compares vectors.
fn vec_entry() -> Value {
    let info = |is_default: bool| {
        json!({"is_default": is_default, "identity": null, "remote_contract_sha256": null,
            "remote_execution_sha256": null, "runtime_instance_id": null})
    };
    json!({"name": "org/vec", "inputs": ["text"], "outputs": ["dense", "multivector", "score"],
        "dims": {"dense": 1024, "multivector": 128}, "loaded": false, "state": "available", "last_error": null,
        "max_sequence_length": 8192, "profiles": {"default": info(true), "fast": info(false)}, "revision": null,
        "capabilities": null, "routing": routing("remote_only", "sie"), "aliases": []})
}

fn openai_entry(name: &str, policy: &str, kind: &str) -> Value {
    json!({"id": name, "object": "model", "created": 0, "owned_by": "spillway", "routing": routing(policy, kind)})
}

async fn list(stage: &Stage) -> Verdict<Received> {
    let asked = Request::get("/v1/models").field("Accept-Encoding", "gzip, br").field("If-None-Match", "\"e\"");
    stage.ask(&asked).await
}

async fn sies_shape(stage: &Stage) -> Verdict {
    let engine = format!(r#"{{"models":[{ODD},{{"name":"org/chat","state":"loaded"}}],"more":[0.10]}}"#);
    let answer = Answer::json(200, &engine).field("ETag", "\"e\"").field("X-Engine", "kept");
    stage.engine.on_path("/v1/models", answer.chunked(10));
    let answer = list(stage).await?;
    answer.is(200)?.local()?.with("X-Engine", "kept")?.without("ETag")?.without("Transfer-Encoding")?;
    let text = latin1(&answer.body);
    contains("the list", &text, ODD)?;
    contains("the list", &text, r#""more":[0.10]"#)?;
    let list = answer.json()?;
    same("names", &names(&list["models"], "name"), &vec!["org/odd", "org/chat", "org/gen", "org/vec"])?;
    same(
        "names for OpenAI's clients",
        &names(&list["data"], "id"),
        &vec!["org/odd", "org/chat", "org/gen", "org/vec"],
    )?;
    same("object", &list["object"], &json!("list"))?;
    same(
        "the hybrid model",
        &list["models"][1],
        &json!({"name": "org/chat", "state": "loaded", "routing": routing("fallback", "openai")}),
    )?;
    same("its twin", &list["data"][1], &openai_entry("org/chat", "fallback", "openai"))?;
    same("the remote-backed model", &list["models"][3], &vec_entry())?;
    let generates = &list["models"][2];
    same("a generation model's outputs", &generates["outputs"], &json!(["tokens"]))?;
    same("its capabilities", &generates["capabilities"], &json!({"streaming": true}))?;
    let heard = stage.engine.journal().heard().pop();
    let asked = heard.map(|heard| heard.head).ok_or_else(|| crate::expect::Finding::new("nobody asked".to_owned()))?;
    let plain = asked.field("Accept-Encoding").is_none() && asked.field("If-None-Match").is_none();
    holds(plain, "a question that is answered in full and uncompressed", &latin1(asked.raw()))
}

fn names<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().into_iter().flatten().filter_map(|model| model[key].as_str()).collect()
}

async fn one(stage: &Stage, name: &str) -> Verdict<Received> {
    stage.ask(&Request::get(&format!("/v1/models/{name}"))).await
}

async fn one_by_one(stage: &Stage) -> Verdict {
    const NOT_FOUND: &str = r#"{"detail":{"code":"MODEL_NOT_FOUND","message":"m"}}"#;
    stage.engine.when(|heard| heard.path().starts_with("/v1/models/"), Answer::json(404, NOT_FOUND));
    stage.engine.on_path("/v1/models/org/chat", Answer::json(200, r#"{"name":"org/chat","ratio":0.10,"routing":{}}"#));
    let chat = one(stage, "org/chat").await?;
    contains("the engine's entry", &latin1(&chat.is(200)?.body), r#""ratio":0.10"#)?;
    same("its routing", &chat.json()?["routing"], &routing("fallback", "openai"))?;
    same("its id", &chat.json()?["id"], &json!("org/chat"))?;
    let mut both = vec_entry();
    for (name, value) in
        [("id", json!("org/vec")), ("object", json!("model")), ("created", json!(0)), ("owned_by", json!("spillway"))]
    {
        both[name] = value;
    }
    same("the remote-backed model", &one(stage, "org/vec").await?.is(200)?.json()?, &both)?;
    same("escaped", &one(stage, "org%2Fvec").await?.is(200)?.json()?, &both)?;
    for (name, kind) in [("org/vec:fast", "sie"), ("org/chat:remote", "openai")] {
        let profile = one(stage, name).await?.is(200)?.json()?;
        same("the profile's name", &profile["name"], &json!(name))?;
        same("its routing", &profile["routing"], &routing("remote_only", kind))?;
        same("its own profiles", &names(&json!([profile["profiles"]]), "default").len(), &0)?;
        same("its default", &profile["profiles"]["default"]["is_default"], &json!(true))?;
    }
    for name in ["org/nothing", "org/chat:other", "org/chat:default", "org/nothing:remote"] {
        one(stage, name).await?.is(404)?.carries(NOT_FOUND.as_bytes())?.local().during(name)?;
    }
    Ok(())
}

async fn openais_shape(stage: &Stage) -> Verdict {
    let engine = r#"{"object":"list","data":[{"id":"org/chat","object":"model","created":1700000000,"owned_by":"vllm","max_model_len":4096.0}]}"#;
    stage.engine.on_path("/v1/models", Answer::json(200, engine));
    let answer = list(stage).await?;
    contains(
        "the list",
        &latin1(&answer.is(200)?.body),
        r#""created":1700000000,"owned_by":"vllm","max_model_len":4096.0"#,
    )?;
    let list = answer.json()?;
    holds(list.get("models").is_none(), "no list in SIE's shape", &list)?;
    same("names", &names(&list["data"], "id"), &vec!["org/chat", "org/gen", "org/vec"])?;
    same("the hybrid model's routing", &list["data"][0]["routing"], &routing("fallback", "openai"))?;
    same("a remote-backed model", &list["data"][2], &openai_entry("org/vec", "remote_only", "sie"))
}

/// What is no list is not touched, and an engine's own error is the answer.
async fn as_it_came(stage: &Stage) -> Verdict {
    for (status, body) in
        [(200, "<html>models</html>"), (200, r#"{"models":[1,]}"#), (200, "[]"), (401, "no"), (500, "no")]
    {
        stage.engine.on_path("/v1/models", Answer::new(status).field("ETag", "\"e\"").body(body));
        let answer = list(stage).await?;
        answer.is(status)?.carries(body.as_bytes())?.with("ETag", "\"e\"")?.local().during(body)?;
    }
    Ok(())
}

async fn loading(stage: &Stage) -> Verdict {
    stage.engine.when(|_| true, Answer::json(503, r#"{"error":{"message":"Loading model"}}"#));
    not_there(stage, "loading", None).await
}

/// Both shapes at once, with what the configuration knows and what is to be said of the engine.
async fn not_there(stage: &Stage, state: &str, code: Option<&str>) -> Verdict {
    let answer = list(stage).await?;
    answer.is(200)?.local()?.with("Content-Type", "application/json")?;
    let list = answer.json()?;
    same("object", &list["object"], &json!("list"))?;
    same("names", &names(&list["models"], "name"), &vec!["org/chat", "org/gen", "org/vec"])?;
    same("names for OpenAI's clients", &names(&list["data"], "id"), &vec!["org/chat", "org/gen", "org/vec"])?;
    same("the remote-backed model", &list["models"][2], &vec_entry())?;
    let one = one(stage, "org/chat").await?.is(200)?.json()?;
    for chat in [&list["models"][0], &one] {
        same("the hybrid model's state", &chat["state"], &json!(state))?;
        same("loaded", &chat["loaded"], &json!(false))?;
        let known = code.map_or(Value::Null, |code| json!(code));
        same("why", &chat["last_error"]["code"], &known)?;
        same("its routing", &chat["routing"], &routing("fallback", "openai"))?;
        same("its profiles", &chat["profiles"].as_object().map(serde_json::Map::len), &Some(2))?;
    }
    same("its id", &one["id"], &json!("org/chat"))
}
