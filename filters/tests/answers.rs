//! Whole answers of an upstream: what is valid on each surface, and what the caller sees of it.

#[path = "answers/generation.rs"]
mod generation;
#[path = "answers/hostile.rs"]
mod hostile;
#[path = "answers/judged.rs"]
mod judged;
#[path = "answers/native.rs"]
mod native;
#[path = "answers/transcription.rs"]
mod transcription;

use spillway_filters::answer::{Content, Expected, check};
use spillway_filters::shape::Shown;
use spillway_policies::failure::SieCode;
use spillway_policies::{Cause, Class, Failure, Surface};

const INVALID: Failure = Failure::new(Cause::InvalidAnswer, Class::Final);

fn expected() -> Expected {
    let shown = Shown {
        model: "public/m".into(),
        id: "fresh-1".into(),
        created_s: 1_750_000_000,
        include_reasoning: false,
        include_usage: true,
    };
    Expected { shown, choices: Some(1), ..Expected::default() }
}

fn of(items: usize) -> Expected {
    Expected { items: Some(items), ..expected() }
}

fn json(surface: Surface, body: &str, expected: &Expected) -> Result<String, Failure> {
    check(surface, Content::Json, body.as_bytes(), expected)
        .map(|shown| String::from_utf8(shown.into_owned()).expect("JSON is text"))
}

#[test]
fn an_error_under_a_success_status_is_what_it_states() {
    for (body, class, stated) in [
        (r#"{"error":{"message":"x"}}"#, Class::Final, None),
        (r#"{"error":"Unauthorized"}"#, Class::Final, None),
        (r#"{"error":{"code":429,"message":"slow"},"user_id":"u"}"#, Class::Busy, None),
        (r#"{"error":{"code":502},"choices":[]}"#, Class::Unavailable, None),
        (r#"{"error":{"code":"MODEL_LOADING"}}"#, Class::NotReady, Some(SieCode::ModelLoading)),
        (r#"{"object":"error","message":"x","code":400}"#, Class::Final, None),
        (r#"{"object":"error","message":"x","code":503}"#, Class::Unavailable, None),
    ] {
        for surface in Surface::ALL {
            let Err(failure) = json(surface, body, &expected()) else { panic!("{body} is an error") };
            assert_eq!((failure.cause, failure.class, failure.stated), (Cause::InvalidAnswer, class, stated), "{body}");
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}
