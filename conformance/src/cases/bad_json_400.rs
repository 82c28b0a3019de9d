//! Is a body that cannot be meant rejected before anything is sent?

use crate::case::Case;
use crate::expect::{Findings, Verdict, same};
use crate::stage::client::Request;
use crate::stage::sample::Surface;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "bad_json_400",
    clause: "a hybrid or remote request is one well-formed value, with model and stream of their types; a missing, empty or non-string model is 400",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const CHAT: [&str; 16] = [
    "",
    "[]",
    "\"org/chat\"",
    "null",
    "{}",
    r#"{"messages":[]}"#,
    r#"{"model":"","messages":[]}"#,
    r#"{"model":5,"messages":[]}"#,
    r#"{"model":null,"messages":[]}"#,
    r#"{"model":["org/chat"],"messages":[]}"#,
    r#"{"model":"org/chat","messages":["#,
    r#"{"model":"org/chat","messages":[]}}"#,
    r#"{"model":"org/chat","messages":[]} {"model":"org/chat"}"#,
    r#"{"model":"org/chat","messages":[],}"#,
    r#"{"model":"org/chat","messages":[],"stream":"yes"}"#,
    r#"{"model":"org/chat","messages":[],"stream":1}"#,
];

const GENERATE: [(&str, &str); 4] = [
    (r#"{"prompt":"hi","max_new_tokens":4"#, "INVALID_INPUT"),
    (r#"{"prompt":"hi","max_new_tokens":4}x"#, "INVALID_INPUT"),
    (r#"{"prompt":"hi","max_new_tokens":4,"stream":"no"}"#, "INVALID_REQUEST"),
    ("[1]", "INVALID_INPUT"),
];

async fn chat_rejected(stage: &Stage, body: &[u8]) -> Verdict {
    let answer = stage.ask(&Request::post("/v1/chat/completions", "").body(body)).await?;
    answer.is(400)?.openai_error()?.undisclosed()?;
    Ok(())
}

async fn generate_rejected(stage: &Stage, body: &str, code: &str) -> Verdict {
    let answer = stage.ask(&Request::post("/v1/generate/org__chat", body)).await?;
    answer.is(400)?.native_code(code)?.undisclosed()?;
    Ok(())
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat").remote_only("org/away", "hosted")).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    stage.upstream.choose(|_| true, upstream::success);
    let away = CHAT.map(|body| body.replace("org/chat", "org/away"));
    let mut findings = Findings::default();
    for body in CHAT.iter().copied().chain(away.iter().map(String::as_str)) {
        findings.note(body, chat_rejected(&stage, body.as_bytes()).await);
    }
    let not_utf8 =
        [br#"{"model":"org/chat","messages":[{"role":"user","content":""#.as_slice(), b"\xff\xfe", br#""}]}"#].concat();
    findings.note("not UTF-8", chat_rejected(&stage, &not_utf8).await);
    for (body, code) in GENERATE {
        findings.note(body, generate_rejected(&stage, body, code).await);
    }
    findings.verdict()?;
    stage.engine.journal().expect_calls("engine", 0)?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)
}
