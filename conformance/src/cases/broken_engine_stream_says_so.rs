//! When the engine dies in the middle of its stream, does the caller hear so in the words of its surface, and is the work left alone?

use serde_json::Value;

use crate::case::Case;
use crate::expect::{During, Finding, Findings, Verdict, holds, same};
use crate::stage::aftermath::{clean, secretive};
use crate::stage::client::{Client, Received};
use crate::stage::gate::Gate;
use crate::stage::head::latin1;
use crate::stage::patience::eventually;
use crate::stage::sample::{Surface, chat_text, completion_text, generate_text};
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;
use crate::stage::{Bench, Stage, engine, upstream};

/// The case.
pub(super) const CASE: Case = Case {
    name: "broken_engine_stream_says_so",
    clause: "an engine that dies or falls silent in its stream: one in-stream error in the surface's shape, last, and none behind [DONE]; no replay; other bodies are cut",
    faults: &["L19"],
    run: |bench| Box::pin(run(bench)),
};

const ALL_TRIGGERS: &str = r#"["provisioning", "model_loading", "saturated", "unhealthy"]"#;
const MODEL: &str = "org/chat";

async fn run(bench: Bench) -> Verdict {
    told(&bench).await.during("told")?;
    whole(&bench).await.during("whole")?;
    untold(&bench).await.during("HTTP/1.0")?;
    cut(&bench).await.during("cut")?;
    restarted(&bench).await.during("restarted")
}

fn setup() -> Setup {
    Setup::new()
        .engine("max_in_flight = 2")
        .engine("timeouts = { connect_ms = 250, first_byte_s = 300, idle_s = 0.4 }")
        .bridged(MODEL, "hosted", ALL_TRIGGERS)
}

async fn stage(bench: &Bench) -> Verdict<Stage> {
    let stage = bench.stage(setup()).await?;
    stage.upstream.choose(|_| true, upstream::success);
    Ok(stage)
}

fn first(surface: Surface) -> String {
    match surface {
        Surface::CompletionsStream => completion_text(MODEL, "begun"),
        Surface::GenerateStream => generate_text(0, "begun"),
        _ => chat_text(MODEL, "begun"),
    }
}

/// How a stream breaks after its first event, and the code that is told.
fn breakages(surface: Surface) -> Vec<(&'static str, Play, &'static str)> {
    let first = first(surface);
    let begun = || Play::stream().event(&first);
    let plain = Answer::new(200).field("Content-Type", "text/event-stream").head();
    vec![
        ("reset between events", begun().cut(), "ENGINE_RESET"),
        ("closed between events", begun().close(), "ENGINE_RESET"),
        ("closed in an event", begun().event("data: {\"half").close(), "ENGINE_RESET"),
        ("closed in a chunk", begun().send("40\r\ndata: {\"half").close(), "ENGINE_RESET"),
        ("closed in a large chunk", begun().send("4000\r\ndata: {\"half").close(), "ENGINE_RESET"),
        ("closed before the end of a chunk", begun().send("2\r\n: ").close(), "ENGINE_RESET"),
        ("closed after the head", Play::stream().close(), "ENGINE_RESET"),
        ("reset without any framing", Play::raw(plain).send(first.as_str()).cut(), "ENGINE_RESET"),
        ("silent", begun().stall(), "ENGINE_TIMEOUT"),
    ]
}

async fn told(bench: &Bench) -> Verdict {
    let stage = stage(bench).await?;
    let mut findings = Findings::default();
    let mut count = 0;
    for surface in [Surface::ChatStream, Surface::CompletionsStream, Surface::GenerateStream] {
        for (name, play, code) in breakages(surface) {
            stage.engine.on_model(MODEL, play);
            let empty = name == "closed after the head";
            let before = stage.engine.journal().heard_of(MODEL).len();
            let answer = stage.ask(&secretive(surface, MODEL)).await?;
            let runs = stage.engine.journal().heard_of(MODEL).len() - before;
            let verdict = same("runs", &runs, &1).and_then(|()| says_so(&answer, surface, code, empty));
            findings.note(&format!("{surface:?}, {name}"), verdict);
            count += 1;
        }
    }
    findings.verdict()?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    same("lines that say so", &truncated(stage, count).await?, &count)
}

/// How many access lines tell of a broken engine.
async fn truncated(mut stage: Stage, count: usize) -> Verdict<usize> {
    let line = r#""ended":"engine_truncated""#;
    let sidecar = &stage.sidecar;
    eventually("the access lines", || async { Ok(sidecar.access_lines().len() == count) }).await?;
    let told = stage.sidecar.stderr().matches(line).count();
    stage.engine.stop().await?;
    clean(stage, count).await?;
    Ok(told)
}

fn says_so(answer: &Received, surface: Surface, code: &str, empty: bool) -> Verdict {
    answer.is(200)?.local()?;
    let text = latin1(&answer.body);
    let events: Vec<&str> =
        text.split("\n\n").map(|event| event.trim_matches('\n')).filter(|event| !event.is_empty()).collect();
    holds(empty || events.first().is_some_and(|event| event.contains("begun")), "the first event", &events)?;
    if surface == Surface::GenerateStream {
        same("the last event", &events.last(), &Some(&"data: [DONE]"))?;
        let end = parsed(events.get(events.len() - 2))?;
        same("done", &end["done"], &Value::Bool(true))?;
        same("finish_reason", &end["finish_reason"], &"error".into())?;
        holds(end["error"]["code"].is_string(), "an error code", &end)?;
        return holds(answer.whole, "a stream that ends whole", &text);
    }
    holds(!text.contains("[DONE]"), "no [DONE]", &text)?;
    holds(!answer.whole, "a stream that is broken off", &text)?;
    let error = &parsed(events.last())?["error"];
    same("the code", &error["code"], &code.into())?;
    holds(error["message"].is_string() && error["type"].is_string(), "an error object", &events)?;
    same("errors", &text.matches("\"error\"").count(), &1)
}

fn parsed(event: Option<&&str>) -> Verdict<Value> {
    let event = event.copied().unwrap_or_default();
    let text = event.strip_prefix("data: ").unwrap_or(event);
    serde_json::from_str(text).map_err(|error| Finding::new(format!("{event:?} is no JSON event: {error}")))
}

/// A stream that has said `[DONE]` is whole, whatever comes next.
async fn whole(bench: &Bench) -> Verdict {
    let mut stage = stage(bench).await?;
    let mut findings = Findings::default();
    let mut count = 0;
    for surface in [Surface::ChatStream, Surface::CompletionsStream, Surface::GenerateStream] {
        let first = first(surface);
        let begun = || Play::stream().event(&first);
        let plain = Answer::new(200).field("Content-Type", "text/event-stream").head();
        for (name, end) in [
            ("closed", begun().event(DONE).close()),
            ("reset", begun().event(DONE).cut()),
            ("silent", begun().event(DONE).stall()),
            ("closed before the end of the chunk", begun().send(format!("e\r\n{DONE}")).close()),
            ("reset without any framing", Play::raw(plain).send(format!("{first}{DONE}")).cut()),
        ] {
            stage.engine.on_model(MODEL, end);
            let answer = stage.ask(&secretive(surface, MODEL)).await?;
            findings.note(&format!("{surface:?}, {name}"), ends_done(&answer));
            count += 1;
        }
        // The end comes alone.
        let gate = Gate::new();
        stage.engine.on_model(MODEL, begun().gate(&gate).event(DONE).close());
        let mut client = begin(&stage, surface).await?;
        gate.open();
        let rest = client.events().await?.concat();
        findings.note(&format!("{surface:?}, alone"), same("the rest", &rest.trim_end(), &DONE.trim_end()));
        count += 1;
    }
    findings.verdict()?;
    stage.engine.stop().await?;
    let sidecar = &stage.sidecar;
    eventually("the access lines", || async { Ok(sidecar.access_lines().len() == count) }).await?;
    holds(
        sidecar.access_lines().iter().all(|line| line["ended"].is_null()),
        "whole exchanges",
        &sidecar.access_lines(),
    )?;
    clean(stage, count).await
}

const DONE: &str = "data: [DONE]\n\n";

fn ends_done(answer: &Received) -> Verdict {
    answer.is(200)?.local()?;
    let text = latin1(&answer.body);
    holds(text.trim_end().ends_with(DONE.trim_end()), "[DONE] as the last event", &text)?;
    same("errors", &text.matches("\"error\"").count(), &0)?;
    holds(answer.whole, "a stream that ends whole", &text)
}

/// Callers whose protocol has no cut: the access line tells.
async fn untold(bench: &Bench) -> Verdict {
    let stage = stage(bench).await?;
    let first = first(Surface::ChatStream);
    let ends = [("closed", Play::stream().event(&first).close()), ("reset", Play::stream().event(&first).cut())];
    let count = ends.len();
    for (name, play) in ends {
        stage.engine.on_model(MODEL, play);
        let answer = stage.ask(&secretive(Surface::ChatStream, MODEL).version("HTTP/1.0")).await.during(name)?;
        same("the body", &latin1(&answer.is(200)?.local()?.body), &first).during(name)?;
    }
    same("lines that say so", &truncated(stage, count).await?, &count)
}

/// What nothing can be added to ends where the engine left it.
async fn cut(bench: &Bench) -> Verdict {
    let stage = stage(bench).await?;
    let first = chat_text(MODEL, "begun");
    let events = || Answer::new(200).field("Content-Type", "text/event-stream");
    let chunked = |answer: Answer| Play::raw(answer.field("Transfer-Encoding", "chunked").head());
    let bodies = [
        ("a length", Play::raw(events().field("Content-Length", "9000").head()).send(first.as_str()).close()),
        ("no events", chunked(Answer::new(200).field("Content-Type", "application/json")).event(&first).close()),
        ("compressed", chunked(events().field("Content-Encoding", "gzip")).event(&first).close()),
        ("an error", chunked(Answer::new(500).field("Content-Type", "text/event-stream")).event(&first).close()),
        ("a chunk size", chunked(events()).event(&first).send("40").close()),
    ];
    let count = bodies.len();
    for (name, play) in bodies {
        stage.engine.on_model(MODEL, play);
        let answer = stage.ask(&secretive(Surface::ChatStream, MODEL)).await?;
        answer.local()?;
        holds(!answer.whole, "a body that is cut", &answer).during(name)?;
        same("the body", &latin1(&answer.body), &first).during(name)?;
    }
    // What is no body any more is not the engine's stream either.
    let gate = Gate::new();
    stage.engine.on_model(MODEL, chunked(events()).event(&first).gate(&gate).send("nonsense\r\n").close());
    let mut client = begin(&stage, Surface::ChatStream).await?;
    gate.open();
    same("what comes after nonsense", &client.events().await?, &Vec::new())?;
    same("runs", &stage.engine.journal().heard_of(MODEL).len(), &(count + 1))?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    clean(stage, count + 1).await
}

/// A caller who has read the first event.
async fn begin(stage: &Stage, surface: Surface) -> Verdict<Client> {
    let mut client = stage.client().await?;
    client.send(secretive(surface, MODEL).bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    let first = client.event().await?.unwrap_or_default();
    holds(first.contains("begun"), "the first event", &first)?;
    Ok(client)
}

/// The whole engine goes, and comes back.
async fn restarted(bench: &Bench) -> Verdict {
    let mut stage = stage(bench).await?;
    stage.engine.on_model(MODEL, Play::stream().event(&first(Surface::ChatStream)).stall());
    let mut client = begin(&stage, Surface::ChatStream).await?;
    stage.engine.stop().await?;
    let rest = client.events().await?;
    holds(rest.iter().any(|event| event.contains("ENGINE_RESET")), "the error", &rest)?;
    client.ended().await?;
    stage.engine.resume()?;
    stage.engine.on_model(MODEL, engine::success(Surface::Chat, MODEL));
    same("runs", &stage.engine.journal().heard_of(MODEL).len(), &1)?;
    stage.ask(&secretive(Surface::Chat, MODEL)).await?.is(200)?.local()?;
    same("connections to the upstream", &stage.upstream.journal().record().connections, &0)?;
    clean(stage, 2).await
}
