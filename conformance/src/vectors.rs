//! Is every malformed, ambiguous or odd HTTP/1.1 request met as `fixtures/h1_vectors.json` says?
//!
//! * `accept`: served once, with its body whole.
//! * `refuse`: an error or a close, and nothing is forwarded.
//! * `either`: if it is forwarded, then once and unambiguously.
//! * `never_upstream`: the engine refuses and an upstream is ready, but the upstream is never contacted.
//!
//! In no case is there a second request behind the front.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::case::{Job, run_jobs};
use crate::expect::{During, Finding, Verdict, holds, same};
use crate::matches;
use crate::report::Report;
use crate::stage::client::{Client, Received};
use crate::stage::head::from_latin1;
use crate::stage::journal::{Heard, Record};
use crate::stage::pipe::Framing;
use crate::stage::sample::{Surface, chat};
use crate::stage::script::Answer;
use crate::stage::setup::Setup;
use crate::stage::{Bench, Binaries, Stage, engine, upstream};

const FIXTURE: &str = include_str!("../fixtures/h1_vectors.json");

/// How many sidecars share the vectors. Each plays its own, one after the other, so that what its engine hears belongs to one.
const LANES: usize = 12;

#[derive(Clone, Debug)]
struct Vector {
    name: String,
    expect: String,
    requests: usize,
    steps: Vec<Value>,
}

/// Runs the vectors whose name contains `filter`: one row for each.
pub async fn run(bin: &Path, filter: Option<&str>) -> Report {
    let chosen: Vec<Vector> = vectors().into_iter().filter(|vector| matches(&vector.name, filter)).collect();
    let bench = Bench::new(&Binaries::beside(bin));
    let lanes = (0..LANES).map(|at| chosen.iter().skip(at).step_by(LANES).cloned().collect::<Vec<_>>());
    let running: Vec<_> = lanes.map(|lane| tokio::spawn(play_lane(bench.clone(), lane))).collect();
    let mut verdicts = Vec::new();
    for lane in running {
        verdicts.extend(lane.await.unwrap_or_default());
    }
    let jobs = chosen.iter().map(|vector| {
        let verdict = verdicts.iter().find(|(name, _)| *name == vector.name).map(|found| found.1.clone());
        let verdict = verdict.unwrap_or_else(|| Err(Finding::new("its lane panicked")));
        Job { name: vector.name.clone(), clause: vector.expect.clone(), run: Box::pin(async { verdict }) }
    });
    run_jobs("HTTP/1.1 vectors", jobs.collect()).await
}

fn vectors() -> Vec<Vector> {
    let fixture: Value = serde_json::from_str(FIXTURE).expect("the fixture in this crate is JSON");
    let vector = |value: &Value| {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let requests = value["requests"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(1);
        let steps = value["steps"].as_array().cloned().unwrap_or_default();
        Vector { name: format!("{}: {}", text("family"), text("name")), expect: text("expect"), requests, steps }
    };
    fixture["vectors"].as_array().into_iter().flatten().map(vector).collect()
}

async fn play_lane(bench: Bench, lane: Vec<Vector>) -> Vec<(String, Verdict)> {
    let stages = match stages(&bench).await {
        Ok(stages) => stages,
        Err(finding) => return lane.into_iter().map(|vector| (vector.name, Err(finding.clone()))).collect(),
    };
    let mut verdicts = Vec::new();
    for vector in lane {
        let verdict = if vector.expect == "never_upstream" {
            match bridges(&stages.1).await {
                Ok(()) => play(&vector, &stages.1).await,
                Err(finding) => Err(finding),
            }
        } else {
            play(&vector, &stages.0).await
        };
        verdicts.push((vector.name, verdict));
    }
    verdicts
}

/// A stage with a warm engine, and one whose engine refuses while the upstream is ready.
async fn stages(bench: &Bench) -> Verdict<(Stage, Stage)> {
    let setup = ["head_timeout_s = 0.6", "body_timeout_s = 0.6", "idle_timeout_s = 0.6"];
    let setup = setup.into_iter().fold(Setup::new().hybrid("org/chat"), Setup::listen);
    let warm = bench.stage(setup.clone()).await?;
    warm.engine.when(|heard| heard.path() != "/v1/models", engine::success(Surface::Chat, "org/chat"));
    let cold = bench.stage(setup).await?;
    cold.engine.when(|heard| heard.path() != "/v1/models", engine::loading(Surface::Chat));
    for stage in [&warm, &cold] {
        stage.upstream.choose(|_| true, upstream::success);
        stage.engine.on_path("/v1/models", Answer::json(200, r#"{"models":[]}"#));
    }
    Ok((warm, cold))
}

/// Only where a plain request is bridged does it mean anything that another one is not.
async fn bridges(cold: &Stage) -> Verdict {
    let plain = cold.ask(&chat("org/chat")).await?;
    plain.is(200).and_then(|answer| answer.remote("hosted", Some("model_loading"))).map(drop).during("a plain request")
}

async fn play(vector: &Vector, stage: &Stage) -> Verdict {
    let engine = stage.engine.journal().record();
    let upstream = stage.upstream.journal().record();
    let answers = exchange(vector, stage).await?;
    let seen = Seen { before: &engine, after: &stage.engine.journal().record() };
    judge(vector, &answers, &seen)?;
    same("calls to the upstream", &stage.upstream.journal().record().heard.len(), &upstream.heard.len())
}

/// Sends the steps, then reads every answer up to the close.
async fn exchange(vector: &Vector, stage: &Stage) -> Verdict<Vec<Received>> {
    let mut client = stage.client().await?;
    let mut answers = Vec::new();
    for step in &vector.steps {
        if let Some(text) = step["send_latin1"].as_str() {
            // The front may have closed after what came before.
            client.send(from_latin1(text)).await.ok();
        } else if step["wait"] == "answer" {
            answers.push(next(vector, &mut client).await?);
        } else if let Some(seconds) = step["pause_s"].as_f64() {
            // Long enough for the front to read what was sent so far; an early answer ends it.
            client.heard_within(Duration::from_secs_f64(seconds)).await;
        }
    }
    while answers.len() < vector.requests {
        match next(vector, &mut client).await {
            Ok(answer) => answers.push(answer),
            Err(_) => break,
        }
    }
    // No more will come: whatever the front still holds is now taken for a request, or never.
    client.half_close().await.ok();
    while let Ok(answer) = next(vector, &mut client).await {
        answers.push(answer);
    }
    client.ended().await?;
    Ok(answers)
}

async fn next(vector: &Vector, client: &mut Client) -> Verdict<Received> {
    let head =
        vector.steps.iter().any(|step| step["send_latin1"].as_str().is_some_and(|text| text.starts_with("HEAD ")));
    if head { client.answer_to_head().await } else { client.answer().await }
}

/// What the engine heard because of one vector.
struct Seen<'a> {
    before: &'a Record,
    after: &'a Record,
}

impl Seen<'_> {
    fn heard(&self) -> &[Heard] {
        &self.after.heard[self.before.heard.len()..]
    }

    fn fragments(&self) -> &[Vec<u8>] {
        &self.after.fragments[self.before.fragments.len()..]
    }
}

fn judge(vector: &Vector, answers: &[Received], seen: &Seen<'_>) -> Verdict {
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.head.status()).collect();
    holds(seen.fragments().is_empty(), "no piece of a request at the engine", &seen.fragments())?;
    let verdict = match vector.expect.as_str() {
        "accept" => accepted(vector, &statuses, seen),
        "refuse" => refused(&statuses, seen),
        "either" | "never_upstream" => unambiguous(vector, &statuses, seen),
        other => Err(Finding::new(format!("an expectation that is not known: {other}"))),
    };
    verdict.during(&format!("answers {statuses:?}"))
}

fn accepted(vector: &Vector, statuses: &[u16], seen: &Seen<'_>) -> Verdict {
    same("answers", &statuses.to_vec(), &vec![200; vector.requests])?;
    let posts: Vec<&Heard> = seen.heard().iter().filter(|heard| heard.head.method() == "POST").collect();
    let sent: String = vector.steps.iter().filter_map(|step| step["send_latin1"].as_str()).collect();
    let wanted = sent.matches("POST /v1/").count();
    same("requests at the engine", &posts.len(), &wanted)?;
    for heard in posts {
        unambiguous_one(heard)?;
        // Whatever the framing was, the body is the JSON text, with nothing before or behind it but white space.
        same("the model in the body", &heard.json()["model"], &"org/chat".into())?;
        same("the end of the body", &heard.body.ends_with(b"\"max_tokens\":16}"), &true)?;
    }
    Ok(())
}

fn refused(statuses: &[u16], seen: &Seen<'_>) -> Verdict {
    holds(statuses.len() <= 1, "one answer at most", &statuses)?;
    holds(statuses.iter().all(|status| *status >= 400), "an error or a close", &statuses)?;
    let lines: Vec<String> = seen.heard().iter().map(|heard| heard.head.start()).collect();
    holds(lines.is_empty(), "nothing at the engine", &lines)
}

fn unambiguous(vector: &Vector, statuses: &[u16], seen: &Seen<'_>) -> Verdict {
    holds(statuses.len() <= vector.requests, "no more answers than requests", &statuses)?;
    let lines: Vec<String> = seen.heard().iter().map(|heard| heard.head.start()).collect();
    holds(lines.len() <= vector.requests, "no more requests at the engine than were sent", &lines)?;
    seen.heard().iter().try_for_each(unambiguous_one)
}

fn unambiguous_one(heard: &Heard) -> Verdict {
    holds(heard.whole, "a whole body at the engine", &heard.head.start())?;
    holds(!heard.head.target().contains("smuggled"), "the request that was sent", &heard.head.start())?;
    same("Host lines", &heard.head.all("host").len(), &1)?;
    let lengths = heard.head.all("content-length");
    let codings = heard.head.all("transfer-encoding");
    holds(lengths.len() + codings.len() <= 1, "one statement of the body's length", &heard.head.lines())?;
    let digits = |length: &String| !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    holds(lengths.iter().all(digits), "a length in digits", &lengths)?;
    holds(codings.iter().all(|coding| coding.eq_ignore_ascii_case("chunked")), "no coding but chunked", &codings)?;
    let framing = heard.head.request_framing();
    holds(framing != Framing::Empty || heard.body.is_empty(), "no body without a length", &heard.head.lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_vectors_are_there_and_named_apart() {
        let vectors = vectors();
        assert_eq!(vectors.len(), 200);
        let mut names: Vec<String> = vectors.into_iter().map(|vector| vector.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 200);
    }
}
