//! Does a refusal hide inside a 200? A hybrid model's local stream is held until its first content says that it does not.
//!
//! Only for presets that know such refusals (engines section 2.1). Nothing else is checked: the engine's stream is not ours to judge.

use crate::client::Client;
use crate::house::House;
use crate::local::{self, Answer, Fault, Local, Refused};
use spillway_filters::call::Work;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::event_stream::EventStream;
use spillway_filters::prime;
use spillway_filters::refusal::{self, Answer as Seen, Phase};
use spillway_filters::wire::chunk::{Dechunk, Framing};
use spillway_policies::Refusal;

/// Most bytes that are held for a first event.
const MOST_HELD: usize = 64 * 1024;

/// Reads a local event stream until its first content: a refusal, or accepted with what was read.
pub(crate) async fn judge(house: &House, client: &mut Client<'_>, work: Work<'_>, mut answer: Answer) -> Local {
    loop {
        match look(house, work, &answer) {
            // The caller gets it as it came when nothing can be bridged: an event stream with one error event.
            Look::Refusal(meaning) => return refused(client, answer, meaning).await,
            Look::Ordinary => return Local::Accepted(answer),
            Look::NeedMore if answer.body.len() > MOST_HELD => return Local::Accepted(answer),
            Look::NeedMore => match local::more(&mut answer, client.connection).await {
                Ok(true) => {}
                Ok(false) => return Local::Accepted(answer),
                Err(Fault::Gone) => return Local::Broken(Fault::Gone),
                // It has answered 200: what is slow is accepted work.
                Err(Fault::Engine(_)) => return Local::Accepted(answer),
            },
        }
    }
}

enum Look {
    NeedMore,
    Ordinary,
    Refusal(Refusal),
}

/// What the events read so far say. Roles and empty texts say nothing yet: a draining engine ends such a stream with its refusal.
fn look(house: &House, work: Work<'_>, answer: &Answer) -> Look {
    let mut plain = Vec::new();
    let bytes = match answer.head.framing {
        Framing::Chunked(_) => match Dechunk::new().feed(&answer.body, &mut plain, MOST_HELD * 2) {
            Ok(_) => &plain[..],
            Err(_) => return Look::Ordinary,
        },
        _ => &answer.body[..],
    };
    let mut events = EventStream::new(MOST_HELD);
    events.feed(bytes);
    loop {
        match events.next_event() {
            Ok(None) => return Look::NeedMore,
            Ok(Some(event)) => {
                let seen = Seen {
                    phase: Phase::Prime,
                    status: answer.head.status,
                    head: &[],
                    body: &event.data,
                    served_remotely: answer.head.served_remotely,
                    work: Some(work),
                };
                if let Some(meaning) = refusal::recognise(house.engine.preset, &house.engine.rules, &seen) {
                    return Look::Refusal(meaning);
                }
                if !prime::tells_nothing(work.surface, &event) {
                    return Look::Ordinary;
                }
            }
            Err(_) => return Look::Ordinary,
        }
    }
}

/// Reads the refused stream to its end, so that it can be restored as bytes.
async fn refused(client: &mut Client<'_>, mut answer: Answer, meaning: Refusal) -> Local {
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
            // The refusal is known: a stream that does not end is restored as far as it came.
            Ok(false) | Err(Fault::Engine(_)) => break,
            Err(Fault::Gone) => return Local::Broken(Fault::Gone),
        }
    }
    let whole = framing.is_complete();
    answer.body.truncate(seen);
    let head = std::mem::take(&mut client.connection.answer_head);
    let until_close = !whole;
    Local::Refused(Refused {
        meaning,
        status: answer.head.status,
        head,
        body: answer.body,
        until_close,
        foreseen: false,
    })
}
