//! Whole transcriptions.

use super::{INVALID, expected, json};
use spillway_filters::answer::{Content, check};
use spillway_policies::Surface;

#[test]
fn a_transcription_is_shown_as_far_as_it_is_known() {
    let body = r#"{ "task": "transcribe", "language": "english", "duration": 8.47, "text": "h", "x_groq": {"id": "up"},
        "segments": [{"id": 0, "seek": 0, "start": 0.0, "end": 3.25, "text": " h", "tokens": [50364], "temperature": 0, "avg_logprob": -0.5, "compression_ratio": 1.0, "no_speech_prob": 1e-9, "secret": 1}],
        "words": [{"word": "h", "start": 0, "end": 1, "probability": 1}], "usage": {"type": "duration", "seconds": 9, "cost": 1}}"#;
    let shown = r#"{"task":"transcribe","language":"english","duration":8.47,"text":"h","usage":{"type":"duration","seconds":9},"segments":[{"id":0,"seek":0,"start":0.0,"end":3.25,"text":" h","tokens":[50364],"temperature":0,"avg_logprob":-0.5,"compression_ratio":1.0,"no_speech_prob":1e-9}],"words":[{"word":"h","start":0,"end":1}]}"#;
    assert_eq!(json(Surface::Audio, body, &expected()).as_deref(), Ok(shown));
    let least = r#"{"text":"h","language":null,"words":[],"segments":null}"#;
    assert_eq!(json(Surface::Audio, least, &expected()).as_deref(), Ok(r#"{"text":"h","words":[]}"#));
    for (from, to) in [
        (r#""text": "h""#, r#""text": 7"#),
        (r#""text": "h""#, r#""texts": "h""#),
        (r#""duration": 8.47"#, r#""duration": -1"#),
        (r#""duration": 8.47"#, r#""duration_ms": 0"#),
        (r#""duration": 8.47"#, r#""duration_ms": 1.5"#),
        (r#""language": "english""#, r#""language": 7"#),
        (r#""start": 0.0"#, r#""start": 1e999"#),
        (r#""start": 0.0"#, r#""start": null"#),
        (r#""end": 3.25, "#, ""),
        (r#""text": " h""#, r#""text": null"#),
        (r#""tokens": [50364]"#, r#""tokens": ["h"]"#),
        (r#""temperature": 0"#, r#""temperature": "0""#),
        (r#""word": "h""#, r#""word": 7"#),
        (r#""words": [{"#, r#""words": {"a": {"#),
        (r#""seconds": 9"#, r#""seconds": "9""#),
        (r#""usage": {"#, r#""usage": [{"#),
    ] {
        let bad = body.replacen(from, to, 1);
        assert_ne!(bad, body);
        assert_eq!(json(Surface::Audio, &bad, &expected()), Err(INVALID), "{to}");
    }
    for bad in ["[]", "{}", "plain", ""] {
        assert_eq!(json(Surface::Audio, bad, &expected()), Err(INVALID), "{bad}");
    }
}

#[test]
fn a_plain_transcription_is_any_text() {
    let text = |body| check(Surface::Audio, Content::Text, body, &expected()).map(std::borrow::Cow::into_owned);
    assert_eq!(text(b"WEBVTT\n").as_deref(), Ok(&b"WEBVTT\n"[..]));
    assert_eq!(text(b"\xff"), Err(INVALID));
    assert_eq!(check(Surface::Chat, Content::Text, b"{}", &expected()), Err(INVALID));
}
