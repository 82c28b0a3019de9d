//! Does a refusal hide inside a 200? A hybrid model's local stream is held until its first event says that it does not.
//!
//! Only for presets that know such refusals (engines section 2.1), and only the first event is looked at: the engine's stream is not ours
//! to check.

use crate::client::Client;
use crate::house::House;
use crate::local::{self, Answer, Fault, Local, Refused};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::event_stream::EventStream;
use spillway_filters::refusal;
use spillway_filters::wire::chunk::{Dechunk, Framing};

/// Most bytes that are held for a first event.
const MOST_HELD: usize = 64 * 1024;

/// Reads a local event stream to its first event: a refusal, or accepted with what was read.
pub(crate) async fn judge(house: &House, client: &mut Client<'_>, mut answer: Answer) -> Local {
    loop {
        match first_event(&answer) {
            First::Event(data) => {
                let found = refusal::recognise_event(house.engine.preset, &house.engine.rules, &data);
                let Some(meaning) = found else { return Local::Accepted(answer) };
                // The caller gets it as it came when nothing can be bridged: an event stream with one error event.
                return refused(client, answer, meaning).await;
            }
            First::Unreadable => return Local::Accepted(answer),
            First::NeedMore if answer.body.len() > MOST_HELD => return Local::Accepted(answer),
            First::NeedMore => match local::more(&mut answer, client.connection).await {
                Ok(true) => {}
                Ok(false) => return Local::Accepted(answer),
                Err(fault) => return Local::Broken(fault),
            },
        }
    }
}

enum First {
    Event(Vec<u8>),
    NeedMore,
    Unreadable,
}

fn first_event(answer: &Answer) -> First {
    let mut plain = Vec::new();
    let bytes = match answer.head.framing {
        Framing::Chunked(_) => match Dechunk::new().feed(&answer.body, &mut plain, MOST_HELD * 2) {
            Ok(_) => &plain[..],
            Err(_) => return First::Unreadable,
        },
        _ => &answer.body[..],
    };
    let mut events = EventStream::new(MOST_HELD);
    events.feed(bytes);
    match events.next_event() {
        Ok(Some(event)) => First::Event(event.data),
        Ok(None) => First::NeedMore,
        Err(_) => First::Unreadable,
    }
}

/// Reads the refused stream to its end, so that it can be restored as bytes.
async fn refused(client: &mut Client<'_>, mut answer: Answer, meaning: spillway_policies::Refusal) -> Local {
    let mut framing = answer.head.framing;
    let mut seen = 0;
    loop {
        match framing.feed(&answer.body[seen..]) {
            Ok(used) => seen += used,
            Err(_) => return Local::Broken(Fault::Engine(ErrorAnswer::engine_protocol())),
        }
        if framing.is_complete() {
            break;
        }
        if seen > MOST_HELD {
            return Local::Accepted(answer);
        }
        match local::more(&mut answer, client.connection).await {
            Ok(true) => {}
            Ok(false) if framing.until_close() => break,
            Ok(false) => return Local::Broken(Fault::Engine(ErrorAnswer::engine_reset())),
            Err(fault) => return Local::Broken(fault),
        }
    }
    answer.body.truncate(seen);
    let head = std::mem::take(&mut client.connection.answer_head);
    let until_close = framing.until_close();
    Local::Refused(Refused { meaning, status: answer.head.status, head, body: answer.body, until_close })
}
