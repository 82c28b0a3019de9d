//! Do keys, the caller's credentials and bodies stay out of everything that is written down or sent elsewhere?

use crate::case::Case;
use crate::expect::{During, Verdict, holds, lacks};
use crate::stage::client::Request;
use crate::stage::head::latin1;
use crate::stage::sample::{Surface, chat_body};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::{HOSTED_KEY, Setup, Upstream};
use crate::stage::{Bench, Nowhere, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "secret_never_appears",
    clause: "no key, Authorization, cookie or body in stderr, answers, the admin pages or the other side's requests",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const CALLER: &str = "caller-secret-91d7";
const COOKIE: &str = "cookie-secret-40aa";
const PROMPT: &str = "prompt-secret-c3e8";
const MODELS: [&str; 6] = ["org/good", "org/echo", "org/odd", "org/gone", "org/cut", "org/plain"];

async fn run(bench: Bench) -> Verdict {
    let nowhere = Nowhere::new()?;
    let mut setup =
        Setup::new().upstream(Upstream::openai("gone").at(nowhere.address())).bridged("org/gone", "gone", "");
    for model in ["org/good", "org/echo", "org/odd", "org/cut"] {
        setup = setup.hybrid(model);
    }
    let stage = bench.stage(setup).await?;
    script(&stage);
    for model in MODELS {
        let answer = stage.ask(&secretive(model)).await?;
        let seen = latin1(answer.head.raw()) + &latin1(&answer.body);
        for secret in [HOSTED_KEY, CALLER, COOKIE, PROMPT] {
            lacks("an answer", &seen, secret).during(model)?;
        }
    }
    // What the front itself rejects is a caller's text too.
    let broken = Request::post("/v1/chat/completions", &format!("{{\"model\": \"org/good\", \"{PROMPT}"))
        .field("Authorization", &format!("Bearer {CALLER}"));
    let answer = stage.ask(&broken).await?;
    lacks("a rejection", &latin1(&answer.body), PROMPT)?;
    // Nor does a name reach the log that the configuration does not know, profile suffix or not.
    stage.ask(&secretive(&format!("org/good:{PROMPT}"))).await?.local()?;
    stage.ask(&secretive(&format!("{PROMPT}/x"))).await?.local()?;
    // Without these four calls there would have been little to leak.
    stage.upstream.journal().expect_calls("upstream", 4)?;
    nothing_leaked(stage).await
}

fn script(stage: &Stage) {
    stage.engine.on_any(engine::loading(Surface::Chat));
    stage.upstream.choose(|heard| heard.model().as_deref() == Some("vendor/good"), upstream::success);
    // A host that repeats what it was sent.
    stage.upstream.choose(
        |heard| heard.model().as_deref() == Some("vendor/echo"),
        |heard| {
            Answer::json(401, &latin1(&heard.body))
                .field("X-Echo", &heard.head.field("Authorization").unwrap_or_default())
                .into()
        },
    );
    stage.upstream.choose(
        |heard| heard.model().as_deref() == Some("vendor/odd"),
        |heard| Answer::json(200, &format!("{}{}", latin1(heard.head.raw()), latin1(&heard.body))).into(),
    );
    stage.upstream.on_model("vendor/cut", Play::reset());
}

fn secretive(model: &str) -> Request {
    let mut body = chat_body(model);
    body["messages"][0]["content"] = PROMPT.into();
    Request::post("/v1/chat/completions", &body.to_string())
        .field("Authorization", &format!("Bearer {CALLER}"))
        .field("Cookie", &format!("session={COOKIE}"))
}

async fn nothing_leaked(mut stage: Stage) -> Verdict {
    let mut written = String::new();
    for page in ["/metrics", "/readyz", "/livez", "/config", "/status"] {
        // A page that does not exist leaks nothing.
        if let Ok(answer) = stage.sidecar.admin_get(page).await {
            written += &latin1(&answer.body);
        }
    }
    // What is logged late is logged before the end.
    stage.sidecar.terminate()?;
    stage.sidecar.exit().await?;
    written += &stage.sidecar.stderr();
    holds(written.contains("\"event\":\"exchange\""), "access lines to look at", &written)?;
    for secret in [HOSTED_KEY, CALLER, COOKIE, PROMPT] {
        lacks("stderr and the admin pages", &written, secret)?;
    }
    for heard in stage.upstream.journal().calls() {
        let head = latin1(heard.head.raw());
        lacks("an upstream request's head", &head, CALLER)?;
        lacks("an upstream request's head", &head, COOKIE)?;
    }
    for heard in stage.engine.journal().calls() {
        lacks("an engine request", &(latin1(heard.head.raw()) + &latin1(&heard.body)), HOSTED_KEY)?;
    }
    Ok(())
}
