//! Does an upstream hear a transcription as the caller sent it, and the caller the transcript as the upstream wrote it?

use crate::case::Case;
use crate::expect::{During, Findings, Verdict, same};
use crate::stage::client::Request;
use crate::stage::script::Answer;
use crate::stage::setup::{Setup, profile};
use crate::stage::{Bench, Stage};

/// The case.
pub(super) const CASE: Case = Case {
    name: "audio_is_replayed_whole",
    clause: "a bridged transcription is the caller's form with the model renamed, byte for byte; JSON, text and subtitles come back",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

/// What an upstream may answer to each response format: its content type and body, and the content type that the caller sees.
const TRANSCRIPTS: [(&str, &str, &str, &str); 4] = [
    ("json", "application/json", r#"{"text":"hello","usage":{"type":"duration","seconds":1.5}}"#, "application/json"),
    ("text", "text/plain; charset=utf-8", "hello \u{e9}\n", "text/plain; charset=utf-8"),
    ("srt", "application/x-subrip", "1\n00:00:00,000 --> 00:00:01,500\nhello\n", "application/x-subrip"),
    ("vtt", "text/vtt; charset=utf-8", "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nhello\n", "text/vtt"),
];

/// A form whose file holds every byte, something like its own boundary, and a field that only looks like the model's.
fn form(model: &str, format: &str) -> Vec<u8> {
    let part = |name: &str, more: &str| format!("Content-Disposition: form-data; name=\"{name}\"{more}\r\n");
    let mut form = format!("--cut\r\n{}\r\n{format}\r\n--cut\r\n", part("response_format", "")).into_bytes();
    form.extend(part("file", "; filename=\"a model.wav\"").bytes());
    form.extend(b"Content-Type: audio/wav\r\n\r\n");
    for _ in 0..512 {
        form.extend(0..=u8::MAX);
    }
    form.extend(b"\r\n-- cut\r\n--cu\r\nname=\"model\"\r\n\r\nnone\r\n--cut\r\n");
    form.extend(format!("content-disposition: form-data; name=\"model\"\r\n\r\n{model}\r\n--cut\r\n").bytes());
    form.extend(format!("{}\r\nthe model is org/hears\r\n--cut--\r\n", part("prompt", "")).bytes());
    form
}

async fn run(bench: Bench) -> Verdict {
    let remote = profile("remote", "team-sie", "vendor/hears:large");
    let routing = "routing = { policy = \"fallback\", fallback_profile = \"remote\" }";
    let away = profile("default", "team-sie", "vendor/hears:large");
    let setup = Setup::new()
        .table(&format!("[models.\"org/hears\"]\ntasks = {{ transcribe = {{}} }}\n{remote}\n{routing}"))
        .table(&format!(
            "[models.\"org/away\"]\nremote_backed = true\ntasks = {{ transcribe = {{}} }}\n{away}\nrouting = {{ policy = \"remote_only\" }}"
        ));
    let stage = bench.stage(setup).await?;
    let refusal = r#"{"error":{"message":"m","type":"server_error","param":null,"code":"transport_failure"}}"#;
    stage.engine.on_path("/v1/audio/transcriptions", Answer::json(503, refusal).field("Retry-After", "5"));
    stage.engine.on_path("/v1/models/org/hears", Answer::json(200, r#"{"name":"org/hears","state":"loading"}"#));
    let mut findings = Findings::default();
    for (format, content_type, body, shown) in TRANSCRIPTS {
        stage.upstream.on_any(Answer::new(200).field("Content-Type", content_type).body(body));
        for (model, reason) in [("org/hears", Some("model_loading")), ("org/away", None)] {
            let replayed = replayed(&stage, (model, format), reason, body, shown).await;
            findings.note(&format!("{content_type} of {model}"), replayed);
        }
    }
    findings.note("chunked", chunked(&stage).await);
    findings.note("no transcript", no_transcript(&stage, refusal).await);
    findings.verdict()
}

fn asked(model: &str, format: &str) -> Request {
    Request::new("POST", "/v1/audio/transcriptions")
        .field("Content-Type", "multipart/form-data; charset=utf-8; boundary=\"cut\"")
        .body(form(model, format))
}

async fn replayed(
    stage: &Stage,
    (model, format): (&str, &str),
    reason: Option<&str>,
    body: &str,
    shown: &str,
) -> Verdict {
    let answer = stage.ask(&asked(model, format)).await?;
    answer.is(200)?.remote("team-sie", reason)?.with("Content-Type", shown)?.carries(body.as_bytes())?;
    heard_as_sent(stage, format)
}

/// The engine heard the form itself, the upstream the form for its own name of the model.
fn heard_as_sent(stage: &Stage, format: &str) -> Verdict {
    let Some(upstream) = stage.upstream.journal().calls().pop() else { return same("calls", &0, &1) };
    same("the path", &upstream.path(), &"/v1/audio/transcriptions".to_owned())?;
    // Rebuilt: no line of the caller's travels as it was.
    let kind = "multipart/form-data; boundary=\"cut\"".to_owned();
    same("the content type", &upstream.head.all("Content-Type"), &vec![kind])?;
    same("the form that the upstream hears", &(upstream.body == form("vendor/hears:large", format)), &true)?;
    if let Some(engine) = stage.engine.journal().calls().pop() {
        same("the form that the engine hears", &(engine.body == form("org/hears", format)), &true)?;
    }
    Ok(())
}

async fn chunked(stage: &Stage) -> Verdict {
    let (format, content_type, body, _) = TRANSCRIPTS[0];
    stage.upstream.on_any(Answer::new(200).field("Content-Type", content_type).body(body));
    let mut client = stage.client().await?;
    client.send(asked("org/hears", format).chunked(4_000)).await?;
    client.answer().await?.is(200)?.remote("team-sie", Some("model_loading"))?;
    heard_as_sent(stage, format)
}

/// What is no transcript restores the refusal.
async fn no_transcript(stage: &Stage, refusal: &str) -> Verdict {
    for (format, content_type, body) in [
        ("json", "application/json", r#"{"words":[]}"#),
        ("json", "application/json", "{"),
        ("json", "text/plain", "hello"),
        ("text", "text/html", "<html>"),
        ("text", "text/plain", "\u{0}\u{1}"),
    ] {
        let mut bytes = body.as_bytes().to_vec();
        if body == "\u{0}\u{1}" {
            bytes = b"caf\xe9".to_vec();
        }
        stage.upstream.on_any(Answer::new(200).field("Content-Type", content_type).body(bytes));
        let answer = stage.ask(&asked("org/hears", format)).await?;
        answer.is(503)?.carries(refusal.as_bytes()).during(body)?;
        answer.restored("model_loading", "INFERENCE_ERROR", "invalid_answer")?;
    }
    Ok(())
}
