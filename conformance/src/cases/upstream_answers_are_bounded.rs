//! Does an upstream's answer end in time, in size and in its form, whatever the upstream does?

use serde_json::Value;

use crate::case::Case;
use crate::expect::{During, Finding, Findings, Verdict, holds, lacks, same};
use crate::stage::client::{Received, Request};
use crate::stage::head::latin1;
use crate::stage::sample::{Surface, chat_events, chat_text, request, success_body};
use crate::stage::script::{Answer, Play, chunk};
use crate::stage::setup::{Setup, Upstream, profile};
use crate::stage::{Bench, Stage, engine};

/// The case.
pub(super) const CASE: Case = Case {
    name: "upstream_answers_are_bounded",
    clause: "an upstream's answer is bounded in bytes, events and time and read only in the form that was asked for: past that, the refusal is restored with its cause, remote_only gets the typed error, and a begun stream its one in-stream error",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// What a failed attempt is called: SIE's code, Spillway's cause, and how a remote-only chat tells it.
#[derive(Clone, Copy)]
struct Told {
    code: &'static str,
    cause: &'static str,
    alone: (u16, &'static str, Option<&'static str>),
}

const FOREVER: (u16, &str, Option<&str>) = (502, "upstream_error", None);
const INVALID: Told = Told { code: "INFERENCE_ERROR", cause: "invalid_answer", alone: FOREVER };
const TOO_LARGE: Told = Told { code: "INFERENCE_ERROR", cause: "too_large", alone: FOREVER };
const TIMEOUT: Told = Told { code: "QUEUE_FULL", cause: "timeout", alone: (503, "QUEUE_FULL", Some("5")) };

/// A chat model that is bridged, and one that only its upstream serves; both go to this upstream.
fn pair(setup: Setup, upstream: &str) -> Setup {
    setup.bridged(&format!("cold/{upstream}"), upstream, "").remote_only(&format!("away/{upstream}"), upstream)
}

async fn run(bench: Bench) -> Verdict {
    let vectors = profile("default", "hosted", "vendor/embed");
    let setup = Setup::new()
        .upstream(Upstream::openai("brief").line("timeouts = { total_s = 0.4 }"))
        .upstream(Upstream::openai("restless").line("timeouts = { idle_s = 0.4 }"))
        .table(&format!("[models.\"away/embed\"]\nremote_backed = true\ntasks = {{ encode = {{ dense = {{ dim = 2 }} }} }}\n{vectors}\nrouting = {{ policy = \"remote_only\" }}"));
    let setup = ["hosted", "brief", "restless"].into_iter().fold(setup, pair);
    let stage = bench.stage(setup).await?;
    stage.engine.on_any(engine::loading(Surface::Chat));
    let mut findings = Findings::default();
    forms(&stage, &mut findings).await;
    findings.note("bytes beyond an answer", beyond(&stage).await);
    vectors_too_long(&stage, &mut findings).await;
    for (name, surface, upstream, play, told) in [
        ("chunks without end", Surface::Chat, "hosted", endless_chunks(33), TOO_LARGE),
        ("comments without end", Surface::ChatStream, "hosted", endless_comments(Play::stream(), 2), TOO_LARGE),
        ("a body that stalls", Surface::Chat, "brief", stalling(), TIMEOUT),
    ] {
        findings.note(&format!("{name}, bridged"), restored(&stage, surface, upstream, &play, told).await);
        // The largest comes over the wire once.
        if name != "chunks without end" {
            findings.note(&format!("{name}, remote only"), alone(&stage, surface, upstream, &play, told).await);
        }
    }
    let begun = || Play::stream().event(&chat_text("m", "begun"));
    findings.note("a stream too long", breaks_off(&stage, "cold/hosted", &endless_comments(begun(), 65)).await);
    for model in ["cold/restless", "away/restless"] {
        findings.note(&format!("{model}: a stream that stalls"), breaks_off(&stage, model, &begun().stall()).await);
    }
    findings.verdict()
}

/// The start of a chat answer, and then nothing.
fn stalling() -> Play {
    Play::raw(Answer::json(200, "").field("Content-Length", "5000").head()).send("{\"choices\":").stall()
}

/// So many MiB of a JSON answer in chunks, and no end.
fn endless_chunks(mib: usize) -> Play {
    let head = Answer::new(200).field("Content-Type", "application/json").field("Transfer-Encoding", "chunked").head();
    Play::raw(head).repeat(chunk(&[b' '; 1024 * 1024]), mib).stall()
}

/// So many MiB of comments behind what was sent, and no end.
fn endless_comments(play: Play, mib: usize) -> Play {
    let comment = format!(": {}\n\n", "still working ".repeat(4_681));
    play.repeat(chunk(comment.as_bytes()), mib * 16).stall()
}

/// The refusal comes back, with what the attempt failed of, and the upstream is let go.
async fn restored(stage: &Stage, surface: Surface, upstream: &str, play: &Play, told: Told) -> Verdict {
    let received = asked(stage, surface, &format!("cold/{upstream}"), play).await?;
    let body = engine::error_body(Surface::Chat, 503, "MODEL_LOADING");
    received.is(503)?.with("Retry-After", "5")?.carries(body.as_bytes())?;
    received.restored("model_loading", told.code, told.cause)?;
    Ok(())
}

/// The caller of a remote-only model gets the typed error.
async fn alone(stage: &Stage, surface: Surface, upstream: &str, play: &Play, told: Told) -> Verdict {
    let received = asked(stage, surface, &format!("away/{upstream}"), play).await?;
    typed(&received, upstream, told.alone, told.cause)
}

fn typed(received: &Received, upstream: &str, (status, code, wait): (u16, &str, Option<&str>), cause: &str) -> Verdict {
    received.is(status)?.openai_code(code)?;
    match wait {
        Some(seconds) => received.with("Retry-After", seconds)?,
        None => received.without("Retry-After")?,
    };
    received.with("X-SIE-Served-By", "remote")?.with("X-SIE-Upstream", upstream)?.with("Spillway-Cause", cause)?;
    received.without("X-SIE-Fallback-Reason")?.without("X-SIE-Fallback-Error")?;
    Ok(())
}

/// What comes of one call that the upstream plays this for. A play that stalls must see us leave.
async fn asked(stage: &Stage, surface: Surface, model: &str, play: &Play) -> Verdict<Received> {
    let before = stage.upstream.journal().calls().len();
    stage.upstream.on_any(play.clone());
    let received = stage.ask(&request(surface, model)).await?;
    same("calls to the upstream", &(stage.upstream.journal().calls().len() - before), &1)?;
    if play.stalls() {
        let connection = stage.upstream.journal().calls().last().map_or(0, |heard| heard.connection);
        stage.upstream.journal().closed_by_peer(connection).await?;
    }
    Ok(received)
}

/// A whole answer of this status with these further header lines.
fn dressed(surface: Surface, status: u16, lines: &[&str]) -> Play {
    let head = lines.iter().fold(Answer::new(status), |head, line| head.line(line));
    if surface == Surface::ChatStream {
        let head = head.field("Content-Type", "text/event-stream").field("Transfer-Encoding", "chunked").head();
        return chat_events("m", &["hi"]).iter().fold(Play::raw(head), |play, event| play.event(event)).end();
    }
    head.field("Content-Type", "application/json").body(said("hi")).into()
}

/// The body of a chat answer.
fn said(text: &str) -> String {
    success_body(Surface::Chat, "m", text).to_string()
}

/// What is read in neither form, and what is in both.
async fn forms(stage: &Stage, findings: &mut Findings) {
    let refused = [
        ("JSON for a stream", Surface::ChatStream, dressed(Surface::Chat, 200, &[])),
        ("a stream for JSON", Surface::Chat, dressed(Surface::ChatStream, 200, &[])),
        ("gzip", Surface::Chat, dressed(Surface::Chat, 200, &["Content-Encoding: gzip"])),
        ("gzip, streamed", Surface::ChatStream, dressed(Surface::ChatStream, 200, &["Content-Encoding: gzip"])),
        ("two codings", Surface::Chat, dressed(Surface::Chat, 200, &["Content-Encoding: identity, gzip"])),
        (
            "two codings in two lines",
            Surface::Chat,
            dressed(Surface::Chat, 200, &["Content-Encoding: identity", "Content-Encoding: gzip"]),
        ),
    ];
    for (name, surface, play) in refused {
        findings.note(&format!("{name}, bridged"), restored(stage, surface, "hosted", &play, INVALID).await);
        findings.note(&format!("{name}, remote only"), alone(stage, surface, "hosted", &play, INVALID).await);
    }
    for surface in [Surface::Chat, Surface::ChatStream] {
        for (name, status, lines) in [
            ("no coding", 200, &[][..]),
            ("an empty coding", 200, &["Content-Encoding:"]),
            ("identity", 200, &["Content-Encoding: identity"]),
            ("Identity", 200, &["Content-Encoding: Identity"]),
            ("201", 201, &[]),
        ] {
            let play = dressed(surface, status, lines);
            for (model, reason) in [("cold/hosted", Some("model_loading")), ("away/hosted", None)] {
                let accepted = accepted(stage, surface, model, reason, &play).await;
                findings.note(&format!("{name}, {surface:?} of {model}"), accepted);
            }
        }
    }
}

async fn accepted(stage: &Stage, surface: Surface, model: &str, reason: Option<&str>, play: &Play) -> Verdict {
    let received = asked(stage, surface, model, play).await?;
    received.is(200)?.remote("hosted", reason)?.without("Content-Encoding")?;
    holds(received.whole && latin1(&received.body).contains("hi"), "the whole answer", &latin1(&received.body))
}

/// Bytes beyond an answer are nobody's: neither its own caller nor the next one reads them.
async fn beyond(stage: &Stage) -> Verdict {
    let planted = Answer::json(200, &said("planted")).bytes();
    let whole = dressed(Surface::Chat, 200, &[]);
    let chunked = Answer::json(200, &said("hi")).chunked(64);
    let streamed = dressed(Surface::ChatStream, 200, &[]);
    for (surface, play) in [(Surface::Chat, &whole), (Surface::Chat, &chunked), (Surface::ChatStream, &streamed)] {
        for model in ["cold/hosted", "away/hosted", "away/hosted"] {
            let situation = format!("{surface:?} of {model}");
            let first = asked(stage, surface, model, &play.clone().send(planted.clone())).await?;
            lacks("the answer", &latin1(&first.body), "planted").during(&situation)?;
            let next = asked(stage, Surface::Chat, "away/hosted", &whole).await?;
            lacks("the next answer", &latin1(&next.is(200)?.body), "planted").during(&situation)?;
        }
    }
    // A length that lies the other way cuts the answer off, and the next one is whole again.
    let short = Play::raw(Answer::json(200, "").field("Content-Length", "10").head()).send(said("hi"));
    restored(stage, Surface::Chat, "hosted", &short, INVALID).await.during("a length too short")?;
    accepted(stage, Surface::Chat, "away/hosted", None, &whole).await.during("after a length too short")
}

/// Two numbers have an answer of little more than 1 MiB at most (contract section 5).
async fn vectors_too_long(stage: &Stage, findings: &mut Findings) {
    let call = Request::post("/v1/embeddings", r#"{"model":"away/embed","input":"hi"}"#);
    let json = || Answer::new(200).field("Content-Type", "application/json");
    let lie = Play::raw(json().field("Content-Length", "1099511627776").head()).repeat([b' '; 64 * 1024], 17).stall();
    let chunks =
        Play::raw(json().field("Transfer-Encoding", "chunked").head()).repeat(chunk(&[b' '; 64 * 1024]), 17).stall();
    for (name, play) in [("a length that lies", lie), ("chunks", chunks)] {
        findings.note(&format!("vectors, {name}"), vectors(stage, &call, play).await);
    }
}

async fn vectors(stage: &Stage, call: &Request, play: Play) -> Verdict {
    stage.upstream.on_any(play);
    let received = stage.ask(call).await?;
    typed(&received, "hosted", (500, "INFERENCE_ERROR", None), "too_large")?;
    let connection = stage.upstream.journal().calls().last().map_or(0, |heard| heard.connection);
    stage.upstream.journal().closed_by_peer(connection).await
}

/// A stream that had begun ends with one error, last and without `[DONE]`, and the upstream is let go.
async fn breaks_off(stage: &Stage, model: &str, play: &Play) -> Verdict {
    stage.upstream.on_any(play.clone());
    let mut client = stage.client().await?;
    client.send(request(Surface::ChatStream, model).bytes()).await?;
    same("the status", &client.head().await?.status(), &200)?;
    let text = latin1(&client.body().await?.0);
    let events: Vec<&str> = text.split_terminator("\n\n").collect();
    holds(events.first().is_some_and(|event| event.contains("begun")), "the first word", &text)?;
    same("events", &events.len(), &2).during(&text)?;
    let error = events[1].strip_prefix("data: ").unwrap_or_default();
    let error: Value = serde_json::from_str(error).map_err(|error| Finding::new(format!("{text:?}: {error}")))?;
    let shaped = ["message", "type", "code"].iter().all(|member| error["error"][*member].is_string());
    holds(shaped, "an error object with message, type and code", &text)?;
    let connection = stage.upstream.journal().calls().last().map_or(0, |heard| heard.connection);
    stage.upstream.journal().closed_by_peer(connection).await
}
