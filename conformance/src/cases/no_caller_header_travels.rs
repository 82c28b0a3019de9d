//! Does an upstream see only what Spillway makes, and the engine what the caller sent?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, same};
use crate::stage::client::Request;
use crate::stage::journal::Heard;
use crate::stage::sample::{Surface, chat_body};
use crate::stage::setup::{HOSTED_KEY, Setup, TEAM_KEY};
use crate::stage::{Bench, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "no_caller_header_travels",
    clause: "to an upstream go only headers that Spillway makes: its own credential, Accept-Encoding: identity, rebuilt framing",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const CALLER: [(&str, &str); 14] = [
    ("Authorization", "Bearer callers-own"),
    ("Cookie", "session=callers-own"),
    ("User-Agent", "caller/1"),
    ("Accept", "application/json"),
    ("Accept-Encoding", "br, zstd"),
    ("X-Request-Id", "r-1"),
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("baggage", "tenant=callers-own"),
    ("OpenAI-Organization", "org-callers-own"),
    ("X-SIE-SDK-Version", "0.10.1"),
    ("X-SIE-Pool", "callers-own"),
    ("X-Forwarded-For", "192.0.2.1"),
    ("Idempotency-Key", "k-1"),
    ("X-Api-Key", "callers-own"),
];

const OURS: [&str; 8] = [
    "host",
    "authorization",
    "accept",
    "accept-encoding",
    "content-type",
    "content-length",
    "user-agent",
    "connection",
];

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat").bridged("org/sie", "team-sie", "")).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    stage.upstream.choose(|_| true, upstream::success);
    for (model, upstream, key) in [("org/chat", "hosted", HOSTED_KEY), ("org/sie", "team-sie", TEAM_KEY)] {
        let request = Request::post("/v1/chat/completions?api-version=callers-own", &chat_body(model).to_string());
        let request = CALLER.iter().fold(request, |request, (name, value)| request.field(name, value));
        let answer = stage.client().await?;
        let mut client = answer;
        client.send(request.chunked(11)).await?;
        client.answer().await?.is(200)?.remote(upstream, Some("model_loading"))?;
        let heard = stage.upstream.journal().calls().pop();
        holds(heard.is_some(), "a call to the upstream", &upstream)?;
        let Some(heard) = heard else { continue };
        ours_alone(&heard, key).during(upstream)?;
        same(
            "where it goes",
            &heard.head.field("host").map(|host| format!("http://{host}")),
            &Some(stage.upstream.address().url()),
        )?;
        let model = format!("vendor/{}", model.trim_start_matches("org/"));
        same("the model it names", &heard.json()["model"], &model.into())?;
    }
    for heard in stage.engine.journal().calls() {
        for (name, value) in CALLER {
            same(&format!("the engine's {name}"), &heard.head.all(name), &vec![value.to_owned()])?;
        }
    }
    stage.engine.journal().expect_calls("engine", 2)
}

fn ours_alone(heard: &Heard, key: &str) -> Verdict {
    for (name, value) in heard.head.fields() {
        holds(OURS.contains(&name.to_lowercase().as_str()), "only headers that Spillway makes", &name)?;
        holds(
            !value.contains("callers-own") && !value.contains("caller/1"),
            "no value of the caller's",
            &(name, value),
        )?;
    }
    same("the target", &heard.head.target(), &"/v1/chat/completions".to_owned())?;
    same("the credential", &heard.head.all("authorization"), &vec![format!("Bearer {key}")])?;
    same("the coding", &heard.head.all("accept-encoding"), &vec!["identity".to_owned()])?;
    same("the type", &heard.head.all("content-type"), &vec!["application/json".to_owned()])?;
    same("the length", &heard.head.all("content-length"), &vec![heard.body.len().to_string()])
}
