//! Audio in the caller's own protocol.

use crate::host::{Host, INVALID, UNTRANSLATABLE};
use spillway_filters::dialect::{Answer, Asked, Raw, Reading};
use spillway_policies::{Failure, Surface};

fn ask(fields: &[(&str, &str)]) -> Result<Asked, Failure> {
    let field =
        |name: &str, value: &str| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    let file = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\r\n--b--\r\n";
    let fields: String = fields.iter().map(|(name, value)| field(name, value)).collect();
    let form = [&field("model", "org/m"), &fields, file].concat();
    Host::sie().ask_as(Surface::Audio, "multipart/form-data; boundary=b", form.as_bytes())
}

fn read(format: &str, content_type: Option<&str>, body: &str) -> Result<Answer, Failure> {
    let Ok(Asked { reading: Reading::Whole(whole), .. }) = ask(&[("response_format", format)]) else {
        panic!("it can be asked")
    };
    whole.read(&[Raw { content_type: content_type.map(|kind| kind.as_bytes().to_vec()), body: body.into() }])
}

#[test]
fn a_transcript_comes_as_it_was_asked_for() {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let json = r#"{"text":"h"}"#;
    for (format, content_type, body, shown) in [
        ("json", "application/json", json, "application/json"),
        ("verbose_json", "application/json; charset=utf-8", json, "application/json"),
        ("text", PLAIN, "hello", PLAIN),
        ("text", PLAIN, "{hello}", PLAIN),
        ("text", PLAIN, r#"{"error":null}"#, PLAIN),
        ("srt", "application/x-subrip", "1\n", "application/x-subrip"),
        ("srt", "text/plain", "1\n", PLAIN),
        ("vtt", "text/vtt; charset=utf-8", "WEBVTT\n", "text/vtt"),
    ] {
        let answer = read(format, Some(content_type), body);
        assert_eq!(answer, Ok(Answer { content_type: shown, body: body.into() }), "{format} {content_type}");
    }
}

#[test]
fn what_is_no_transcript_is_not_shown_as_one() {
    let json = r#"{"text":"h"}"#;
    for (format, content_type, body) in [
        ("json", Some("text/plain"), json),
        ("json", Some("text/event-stream"), "data: {}\n\n"),
        ("json", None, json),
        ("verbose_json", Some("text/html"), "<html>"),
        ("text", Some("text/html; charset=utf-8"), "<html>"),
        ("text", Some("text/event-stream"), "data: {}\n\n"),
        ("text", Some("application/json"), json),
        ("text", Some("text/vtt"), "WEBVTT\n"),
        ("text", None, "hello"),
        ("srt", Some("text/vtt"), "WEBVTT\n"),
        ("vtt", Some("text/plain"), "WEBVTT\n"),
        ("text", Some("text/plain"), r#"{"error":"no"}"#),
        ("text", Some("text/plain"), r#"{"error":5}"#),
    ] {
        assert!(read(format, content_type, body).is_err(), "{format} {content_type:?} {body}");
    }
    assert_eq!(read("text", Some("text/html"), "<html>"), Err(INVALID));
}

#[test]
fn a_stream_of_audio_is_not_asked_for() {
    assert_eq!(ask(&[("stream", "true")]).map(drop), Err(UNTRANSLATABLE));
    assert_eq!(ask(&[("response_format", "diarized_json")]).map(drop), Err(UNTRANSLATABLE));
    assert!(ask(&[("stream", "false")]).is_ok());
}
