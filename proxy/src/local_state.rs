//! Why did the engine refuse, when its answer hides it? The engine is asked once for the state of its model; how any such question is put
//! beside a call is said here too.
//!
//! Only for answers that the preset names ([`Veiled`]). Whatever goes wrong here, the answer stands as the engine gave it.

use crate::client::Client;
use crate::house::House;
use crate::local::{self, Answer, Broken, Fault, NotConnected};
use crate::local_body;
use spillway_filters::models;
use spillway_filters::refusal::Veiled;
use spillway_policies::Refusal;

/// Most bytes of the description of one model; real ones are under 4 KiB.
const MOST_BYTES: usize = 64 * 1024;

/// How long the engine may take: it has just answered, and a caller waits.
const MOST_MS: u64 = 2_000;

/// What a veiled answer means; none: it is an answer. The only fault is that the caller has left.
///
/// The question is asked beside the answer's own connection and in the place at the engine that the call has.
pub(crate) async fn ask(
    house: &House,
    client: &mut Client<'_>,
    veiled: &Veiled,
    model: &str,
) -> Result<Option<Refusal>, Fault> {
    let asked = Asked { method: "GET", path: &models::path(model), body: "", most_bytes: MOST_BYTES, most_ms: MOST_MS };
    let Told::Answer(described) = fetch(house, client, &asked).await? else { return Ok(None) };
    Ok(veiled.reveal(&described))
}

/// One question about its state to the engine.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'static str,
    pub(crate) path: &'a str,
    pub(crate) body: &'a str,
    /// A larger answer is none.
    pub(crate) most_bytes: usize,
    /// An answer that takes longer is none.
    pub(crate) most_ms: u64,
}

/// What came of a question.
pub(crate) enum Told {
    /// The body of a 200.
    Answer(Vec<u8>),
    /// Nothing of use.
    Nothing,
    /// Nobody is there.
    Nobody,
}

/// The engine's answer to a question about its state. The only fault is that the caller has left.
pub(crate) async fn fetch(house: &House, client: &mut Client<'_>, asked: &Asked<'_>) -> Result<Told, Fault> {
    let question = question(&client.connection.request_head, &house.engine.path_prefix, asked);
    let request_head = std::mem::replace(&mut client.connection.request_head, question);
    let answer_head = std::mem::take(&mut client.connection.answer_head);
    let described = describe(house, client, asked).await;
    client.connection.request_head = request_head;
    client.connection.answer_head = answer_head;
    match described {
        Err(Fault::Engine(_)) => Ok(Told::Nothing),
        described => described,
    }
}

/// Sends the question that stands in `request_head` and reads the description.
async fn describe(house: &House, client: &mut Client<'_>, asked: &Asked<'_>) -> Result<Told, Fault> {
    let mut idle = house.engine.idle(&house.clock);
    loop {
        let reused = idle.is_some();
        let mut engine = match idle.take() {
            Some(engine) => engine,
            None => match local::connect(house, client.connection).await {
                Ok(engine) => engine,
                Err(NotConnected::Fault(fault)) => return Err(fault),
                Err(NotConnected::Unreached(_)) => return Ok(Told::Nobody),
            },
        };
        client.connection.deadline.arm(asked.most_ms.min(client.first_byte_ms(house)));
        let mut body = Vec::new();
        match local::first_head(&mut engine, client.connection, asked.body.as_bytes(), &mut body, false).await {
            Ok(head) => return read(house, client, asked.most_bytes, Answer { engine, head, body, room: None }).await,
            Err(Broken::Unsent) if reused => {}
            Err(Broken::Unsent) => return Ok(Told::Nothing),
            Err(Broken::Fault(fault)) => return Err(fault),
        }
    }
}

async fn read(house: &House, client: &mut Client<'_>, most: usize, mut answer: Answer) -> Result<Told, Fault> {
    if answer.head.status != 200 {
        return Ok(Told::Nothing);
    }
    let Some(seen) = local_body::whole(&mut answer, client.connection, most).await? else { return Ok(Told::Nothing) };
    let described = local_body::plain(&answer, seen, most).map(|plain| plain.into_owned());
    local_body::take(house, answer, seen);
    Ok(described.map_or(Told::Nothing, Told::Answer))
}

/// The question, to the host that the call named and with what it authorises itself by: an engine that asks for a key has seen it a moment
/// ago, and answers nobody without it.
fn question(call: &[u8], prefix: &str, asked: &Asked<'_>) -> Vec<u8> {
    let mut head = format!("{} {prefix}{} HTTP/1.1\r\n", asked.method, asked.path).into_bytes();
    for line in call.split_inclusive(|byte| *byte == b'\n').skip(1) {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if name.eq_ignore_ascii_case(b"host") || name.eq_ignore_ascii_case(b"authorization") {
            head.extend_from_slice(line);
        }
    }
    head.extend_from_slice(b"Accept: application/json\r\nAccept-Encoding: identity\r\n");
    if asked.method != "GET" {
        let body = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", asked.body.len());
        head.extend_from_slice(body.as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_says_who_asks_and_nothing_else_of_the_call() {
        let call =
            b"POST /e/v1/audio/transcriptions HTTP/1.1\r\nHost: engine\r\nCookie: a\r\nAUTHORIZATION: Bearer k\r\n\
                     Host-Like: no\r\nContent-Length: 3\r\n\r\n";
        let path = models::path("org/whisper large:v3");
        let asked = Asked { method: "GET", path: &path, body: "", most_bytes: 1, most_ms: 1 };
        let asked = question(call, "/e", &asked);
        let wanted = "GET /e/v1/models/org/whisper%20large:v3 HTTP/1.1\r\nHost: engine\r\nAUTHORIZATION: Bearer k\r\n\
                      Accept: application/json\r\nAccept-Encoding: identity\r\n\r\n";
        assert_eq!(String::from_utf8(asked).expect("ASCII"), wanted);
    }
}
