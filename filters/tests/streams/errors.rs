//! Errors inside a stream: what they are classified as, and what the caller is told.

use super::{BROKEN, events, expected, first, json, read};
use spillway_filters::prime::Progress;
use spillway_filters::stream_error::{Position, ends_whole, engine_broke_off, render};
use spillway_policies::failure::SieCode;
use spillway_policies::{Cause, Class, Failure, Surface};

const fn failed(class: Class, stated: Option<SieCode>, retry_after_s: Option<u64>) -> Failure {
    Failure { cause: Cause::StreamError, class, retry_after_s, stated }
}

#[test]
fn an_error_in_a_stream_is_what_it_states() {
    for (error, wanted) in [
        (
            r#"{"code":"RESOURCE_EXHAUSTED","retry_after_s":7}"#,
            failed(Class::Busy, Some(SieCode::ResourceExhausted), Some(7)),
        ),
        (
            r#"{"code":"RESOURCE_EXHAUSTED","retry_after_s":700}"#,
            failed(Class::Busy, Some(SieCode::ResourceExhausted), Some(60)),
        ),
        (r#"{"code":"QUEUE_FULL"}"#, failed(Class::Busy, Some(SieCode::QueueFull), Some(5))),
        (r#"{"code":"server_overloaded"}"#, failed(Class::Busy, Some(SieCode::QueueFull), Some(5))),
        (r#"{"code":"MODEL_LOADING"}"#, failed(Class::NotReady, Some(SieCode::ModelLoading), Some(5))),
        (r#"{"code":"PROVISIONING"}"#, failed(Class::NotReady, Some(SieCode::QueueFull), Some(5))),
        (r#"{"code":"INPUT_TOO_LONG"}"#, failed(Class::TooLong, Some(SieCode::InputTooLong), None)),
        (r#"{"code":"invalid_request"}"#, failed(Class::Invalid, Some(SieCode::InvalidInput), None)),
        (r#"{"code":"MODEL_LOAD_FAILED"}"#, failed(Class::Final, Some(SieCode::ModelLoadFailed), None)),
        (r#"{"code":"insufficient_quota","type":"x"}"#, failed(Class::Final, Some(SieCode::InferenceError), None)),
        (r#"{"code":429}"#, failed(Class::Busy, None, Some(5))),
        (r#"{"code":"502"}"#, failed(Class::Unavailable, None, Some(5))),
        (r#"{"code":502,"message":"x"}"#, failed(Class::Unavailable, None, Some(5))),
        (r#"{"code":400}"#, failed(Class::Final, None, None)),
        (r#"{"code":7}"#, failed(Class::Final, None, None)),
        (r#"{"code":{"code":"QUEUE_FULL"}}"#, failed(Class::Final, None, None)),
        (r#"{"message":"x"}"#, failed(Class::Final, None, None)),
        (r#""text""#, failed(Class::Final, None, None)),
    ] {
        for (surface, event) in [
            (Surface::Chat, format!(r#"{{"error":{error}}}"#)),
            (
                Surface::Completions,
                format!(r#"{{"id":"x","choices":[{{"index":0,"text":"","finish_reason":"error"}}],"error":{error}}}"#),
            ),
            (
                Surface::Generate,
                format!(r#"{{"text_delta":"","done":true,"finish_reason":"error","usage":null,"error":{error}}}"#),
            ),
        ] {
            assert_eq!(first(surface, &expected(), &event).0, Err(wanted), "{event}");
        }
    }
    let flat = r#"{"object":"error","message":"x","code":503}"#;
    assert_eq!(first(Surface::Chat, &expected(), flat).0, Err(failed(Class::Unavailable, None, Some(5))));
}

#[test]
fn a_plain_error_is_called_an_inference_error() {
    for surface in [Surface::Chat, Surface::Completions] {
        let event = r#"{"error":{"message":"x","type":"server_error","code":"server_error"}}"#;
        let failure = first(surface, &expected(), event).0.expect_err("it failed");
        assert_eq!(failure.code(surface), SieCode::InferenceError);
    }
}

#[test]
fn role_then_error_never_commits() {
    let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#;
    let error = r#"{"error":{"message":"x","type":"server_error"}}"#;
    assert_eq!(read((Surface::Chat, Surface::Chat), &expected(), [role, error]).0, Err(BROKEN));
    assert_eq!(first(Surface::Chat, &expected(), role).0, Ok(Progress::Nothing));
}

#[test]
fn the_error_that_ends_a_stream_has_the_surfaces_shape() {
    let lost = Failure::new(Cause::Connect, Class::Unavailable);
    let at = Position { request_id: Some("r\"1"), next_seq: 3 };
    let data = |surface, failure: &Failure, at: &Position<'_>| {
        let events = events(&render(surface, failure, at));
        events
            .into_iter()
            .map(|event| (event.name, String::from_utf8(event.data).expect("it is text")))
            .collect::<Vec<_>>()
    };

    let chat = data(Surface::Chat, &lost, &at);
    assert_eq!(chat.len(), 1, "no [DONE]");
    assert_eq!(json(&chat[0].1)["error"]["code"], "upstream_error");
    assert_eq!(json(&chat[0].1)["error"]["type"], "upstream_error");
    assert!(json(&chat[0].1)["error"]["param"].is_null());

    let completions = data(Surface::Completions, &lost, &at);
    assert_eq!(completions.len(), 1, "no [DONE]");
    assert_eq!(json(&completions[0].1)["error"]["code"], "inference_error");

    let generate = data(Surface::Generate, &lost, &at);
    assert_eq!((generate.len(), generate[1].1.as_str()), (2, "[DONE]"));
    let terminal = json(&generate[0].1);
    assert_eq!((&terminal["request_id"], &terminal["seq"]), (&"r\"1".into(), &3.into()));
    assert_eq!((&terminal["done"], &terminal["finish_reason"]), (&true.into(), &"error".into()));
    assert_eq!((&terminal["text_delta"], &terminal["error"]["code"]), (&"".into(), &"inference_error".into()));
    let stated = Failure { stated: Some(SieCode::ResourceExhausted), ..lost };
    assert_eq!(json(&data(Surface::Generate, &stated, &at)[0].1)["error"]["code"], "RESOURCE_EXHAUSTED");
    let private = Failure { stated: Some(SieCode::ModelNotFound), ..lost };
    assert_eq!(json(&data(Surface::Generate, &private, &at)[0].1)["error"]["code"], "inference_error");
}

#[test]
fn a_stream_that_the_engine_breaks_off_ends_its_partial_event_and_says_so_once() {
    for surface in [Surface::Chat, Surface::Completions, Surface::Responses] {
        for (silent, code) in [(false, "ENGINE_RESET"), (true, "ENGINE_TIMEOUT")] {
            let text = String::from_utf8(engine_broke_off(surface, silent)).unwrap();
            let event = text.strip_prefix("\n\ndata: ").and_then(|rest| rest.strip_suffix("\n\n")).unwrap();
            let error = &json(event)["error"];
            assert_eq!((&error["code"], &error["type"]), (&code.into(), &"server_error".into()), "{text}");
            assert!(!ends_whole(surface) && !text.contains("[DONE]"), "{text}");
        }
    }
    let text = String::from_utf8(engine_broke_off(Surface::Generate, false)).unwrap();
    let terminal = text.strip_prefix("\n\ndata: ").and_then(|rest| rest.strip_suffix("\n\ndata: [DONE]\n\n")).unwrap();
    let terminal = json(terminal);
    assert_eq!((&terminal["done"], &terminal["finish_reason"]), (&true.into(), &"error".into()));
    assert_eq!(terminal["error"]["code"], "inference_error");
    assert!(ends_whole(Surface::Generate));
}
