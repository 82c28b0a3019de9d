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

/// Each body is refused as an answer to one item.
fn refuses(surfaces: &[(Surface, &[&str])]) {
    for (surface, bodies) in surfaces {
        for body in *bodies {
            assert_eq!(json(*surface, body, &of(1)), Err(INVALID), "{surface:?} {body}");
        }
    }
}

#[test]
fn what_is_no_valid_embedding_or_rank_is_refused() {
    refuses(&[
        (
            Surface::Embeddings,
            &[
                r#"{"data":[]}"#,
                r#"{"data":[{"embedding":[]}]}"#,
                r#"{"data":[{"embedding":""}]}"#,
                r#"{"data":[{"embedding":[1,null]}]}"#,
                r#"{"data":[{"embedding":[1e39]}]}"#,
                r#"{"data":[{"index":1,"embedding":[1]}]}"#,
                r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            ],
        ),
        (Surface::Rerank, &[r#"{"results":[]}"#, r#"{"results":[{"index":1,"relevance_score":1}]}"#]),
    ]);
}

#[test]
fn embeddings_are_placed_by_distinct_indexes() {
    let data = |indexes: &[&str]| {
        let data: Vec<_> = indexes.iter().map(|index| format!(r#"{{{index}"embedding":[1,-2.5]}}"#)).collect();
        format!(
            r#"{{"object":"list","data":[{}],"model":"up","usage":{{"prompt_tokens":1,"total_tokens":1}}}}"#,
            data.join(",")
        )
    };
    let is_valid = |body: &str, items| json(Surface::Embeddings, body, &of(items)).is_ok();
    assert!(is_valid(&data(&[r#""index":1,"#, r#""index":0,"#]), 2));
    assert!(is_valid(&data(&["", ""]), 2));
    assert!(!is_valid(&data(&[r#""index":1,"#, r#""index":2,"#]), 2), "positions of a batch");
    assert!(!is_valid(&data(&[r#""index":0,"#, ""]), 2));
    assert!(!is_valid(&data(&["", ""]), 3));
    let base64 = r#"{"data":[{"index":0,"embedding":"AACAPw=="}],"usage":{}}"#;
    assert!(is_valid(base64, 1));
    for (dim, fits) in [(1, true), (2, false)] {
        assert_eq!(json(Surface::Embeddings, base64, &Expected { dim: Some(dim), ..of(1) }).is_ok(), fits, "{dim}");
    }
    assert!(!is_valid(r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, 2), "two widths");
    assert!(!is_valid(r#"{"data":[{"embedding":[1,2,3,4]},{"embedding":"AAAA"}]}"#, 2), "two forms");
    let shown = json(Surface::Embeddings, base64, &of(1)).expect("it is valid");
    assert_eq!(shown, r#"{"model":"public/m","data":[{"index":0,"embedding":"AACAPw=="}],"usage":{}}"#);
}

#[test]
fn embeddings_come_in_the_order_of_their_inputs() {
    let mixed = r#"{"data":[{"index":2,"embedding":[3]},{"index":0,"embedding":[1]},{"index":1,"embedding":[2.50]}],"usage":{}}"#;
    let shown = json(Surface::Embeddings, mixed, &of(3)).expect("it is valid");
    let order = r#"[{"index":0,"embedding":[1]},{"index":1,"embedding":[2.50]},{"index":2,"embedding":[3]}]"#;
    assert!(shown.contains(order), "{shown}");
}

#[test]
fn rerank_gives_as_many_results_as_were_asked_for() {
    let two =
        r#"{"id":"r","results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":-7}],"model":"up"}"#;
    let asked = |items, top_n| json(Surface::Rerank, two, &Expected { items, top_n, ..expected() });
    assert!(asked(Some(3), Some(2)).is_ok());
    assert!(asked(None, None).is_ok());
    assert_eq!(asked(Some(3), None), Err(INVALID), "one is missing");
    assert_eq!(asked(Some(2), Some(9)), Err(INVALID), "an index out of range");
    assert!(asked(Some(3), Some(2)).is_ok_and(|shown| shown.ends_with(r#""model":"public/m"}"#)));
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
