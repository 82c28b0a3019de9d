//! A stream of responses.

use super::{BROKEN, data, expected, first, read};
use spillway_filters::prime::Progress;
use spillway_filters::stream::Stream;
use spillway_policies::Surface;

#[test]
fn it_commits_on_deltas() {
    for (event, wanted) in [
        (r#"{"type":"response.created","response":{}}"#, Ok(Progress::Nothing)),
        (r#"{"type":"response.in_progress","response":{}}"#, Ok(Progress::Nothing)),
        (r#"{"type":"response.output_item.added","item":{}}"#, Ok(Progress::Nothing)),
        (r#"{"type":"response.output_text.delta","delta":""}"#, Ok(Progress::Nothing)),
        (r#"{"type":"response.output_text.delta","delta":"h"}"#, Ok(Progress::Committed)),
        (r#"{"type":"response.reasoning_text.delta","delta":"h"}"#, Ok(Progress::Committed)),
        (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, Ok(Progress::Committed)),
        (r#"{"type":"response.completed","response":{"error":null}}"#, Ok(Progress::Committed)),
        (r#"{"type":"response.incomplete","response":{}}"#, Ok(Progress::Committed)),
        (r#"{"type":"response.failed","response":{}}"#, Err(BROKEN)),
        (r#"{"type":"error","code":null,"message":"x"}"#, Err(BROKEN)),
        (r#"{"type":"a","type":"b"}"#, Err(BROKEN)),
    ] {
        assert_eq!(first(Surface::Responses, &expected(), event).0, wanted, "{event}");
    }
}

#[test]
fn its_response_has_the_callers_model_and_our_id() {
    let created = r#"{"type":"response.created","response":{"id":"up","model":"up","output":[]},"sequence_number":0}"#;
    let wanted = r#"{"type":"response.created","response":{"id":"chatcmpl-1","model":"public/m","output":[]},"sequence_number":0}"#;
    let delta = r#"{"type":"response.output_text.delta","delta":"h"}"#;
    assert_eq!(first(Surface::Responses, &expected(), created).1, [wanted]);
    assert_eq!(first(Surface::Responses, &expected(), delta).1, [delta]);
}

#[test]
fn it_ends_without_done_and_keeps_its_names() {
    let end = r#"{"type":"response.completed","response":{}}"#;
    let delta = r#"{"type":"response.output_text.delta","delta":"late"}"#;
    let (result, shown) = read((Surface::Responses, Surface::Responses), &expected(), [end, delta]);
    assert_eq!((result, shown.len()), (Ok(()), 1));
    let mut stream = Stream::new(Surface::Responses, Surface::Responses, &expected());
    let mut out = Vec::new();
    let named = "event: response.output_text.delta\ndata: {\"delta\":\"h\",\"sequence_number\":4}\n\n";
    assert_eq!(stream.feed(named.as_bytes(), &mut out), Ok(Progress::Committed));
    assert_eq!(std::str::from_utf8(&out), Ok(named));
    assert_eq!(stream.feed(b"event: error\ndata: {\"message\":\"x\"}\n\n", &mut out), Err(BROKEN));
    stream.fail(&BROKEN, &mut out);
    assert!(data(&out)[1].contains(r#""sequence_number":5"#));
}
