//! How is an answer of the engine read to its end, where it must be whole before anything is decided?

use crate::connection::Connection;
use crate::house::House;
use crate::local::{self, Answer, Fault};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::wire::chunk::{Dechunk, Framing};
use std::borrow::Cow;

/// Reads an answer to its end, within the deadline that is armed. Says how many bytes of `answer.body` are its own; none when it is larger
/// than `most`, and then what was read is still there.
pub(crate) async fn whole(
    answer: &mut Answer,
    connection: &mut Connection,
    most: usize,
) -> Result<Option<usize>, Fault> {
    let mut framing = answer.head.framing;
    let mut seen = 0;
    loop {
        match framing.feed(&answer.body[seen..]) {
            Ok(used) => seen += used,
            Err(_) => return Err(Fault::Engine(ErrorAnswer::engine_protocol())),
        }
        if seen > most {
            return Ok(None);
        }
        if framing.is_complete() {
            return Ok(Some(seen));
        }
        if !local::more(answer, connection).await? {
            if framing.until_close() {
                return Ok(Some(seen));
            }
            return Err(Fault::Engine(ErrorAnswer::engine_reset()));
        }
    }
}

/// The body of a whole answer without its framing; none when its chunks hold more than `most`.
pub(crate) fn plain(answer: &Answer, seen: usize, most: usize) -> Option<Cow<'_, [u8]>> {
    let framed = &answer.body[..seen];
    if !matches!(answer.head.framing, Framing::Chunked(_)) {
        return Some(framed.into());
    }
    let mut plain = Vec::new();
    Dechunk::new().feed(framed, &mut plain, most).ok()?;
    Some(plain.into())
}

/// The body of a whole answer as it was framed. Its connection is kept for the next request if it can be.
pub(crate) fn take(house: &House, answer: Answer, seen: usize) -> Vec<u8> {
    let Answer { engine, head, mut body, .. } = answer;
    if head.keep_alive && !head.framing.until_close() && seen == body.len() {
        house.engine.keep(engine, &house.clock);
    }
    body.truncate(seen);
    body
}
