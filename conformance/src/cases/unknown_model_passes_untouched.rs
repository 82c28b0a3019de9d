//! Is everything that Spillway has no rule for passed on as it is, in both directions?

use crate::case::Case;
use crate::expect::{During, Verdict, same};
use crate::stage::client::{Received, Request};
use crate::stage::sample::chat_body;
use crate::stage::script::Answer;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "unknown_model_passes_untouched",
    clause: "to the engine go the caller's head lines as sent and its body; back come the engine's, plus one disclosure line",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

const ANSWER: [&str; 6] =
    ["date: yesterday", "Server:x", "X-Trace-ID: t", "set-cookie: a=1", "Set-Cookie: b=2", "x-empty:"];

fn requests() -> Vec<Request> {
    // Spacing, order, unknown members and a repeated name survive.
    let body = format!(" {} ", chat_body("org/unknown")).replace("\"hi\"", "\"caf\u{e9} \\u00e9\", \"x\":1.50e3");
    let odd = |request: Request| {
        request
            .line("authorization:Bearer callers-own")
            .line("X-A:  1 ")
            .line("x-b: (c;d)=e")
            .line("X-A: 2")
            .line("Accept: */*")
    };
    vec![
        odd(Request::post("/v1/chat/completions?a=b&c=%2F", &body)),
        odd(Request::new("POST", "/v1/encode/org/unknown").body("\x01items is not JSON"))
            .field("Content-Type", "application/msgpack"),
        odd(Request::post("/anything/else", "")),
        odd(Request::get("/docs")),
        odd(Request::new("DELETE", "/v1/pools/p?force=1")),
        odd(Request::new("PUT", "/v1/configs/c").body("x: y")),
        odd(Request::new("OPTIONS", "/v1/models")),
    ]
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new().hybrid("org/chat")).await?;
    let answer = ANSWER.iter().fold(Answer::with_start("HTTP/1.1 203 As It Was"), |answer, line| answer.line(line));
    stage.engine.on_any(answer.body("the engine's own bytes\0\n").length());
    for request in requests() {
        passes(&stage, &request).await.during(&String::from_utf8_lossy(&request.head()))?;
    }
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)
}

async fn passes(stage: &Stage, request: &Request) -> Verdict {
    let answer = stage.ask(request).await?;
    let heard = stage.engine.journal().heard().pop();
    let Some(heard) = heard else { return same("calls to the engine", &0, &1) };
    let start = |head: &[u8]| String::from_utf8_lossy(head).lines().next().unwrap_or_default().to_owned();
    same("the request line", &heard.head.start(), &start(&request.head()))?;
    same("the head lines that the engine hears", &heard.head.lines(), &request.lines())?;
    same("the body that the engine hears", &heard.body, &request.bytes()[request.head().len()..].to_vec())?;
    same_answer(&answer)
}

fn same_answer(answer: &Received) -> Verdict {
    same("the status line", &answer.head.start(), &"HTTP/1.1 203 As It Was".to_owned())?;
    let mut wanted: Vec<String> = ANSWER.map(str::to_owned).into();
    wanted.push("Content-Length: 24".to_owned());
    let lines: Vec<String> =
        answer.head.lines().into_iter().filter(|line| !line.starts_with("X-SIE-Served-By")).collect();
    same("the head lines that come back", &lines, &wanted)?;
    answer.carries(b"the engine's own bytes\0\n")?.local()?;
    Ok(())
}
