//! `GET /v1/models`: the engine's list, with what the configuration adds.

use crate::client::{Client, Served, date};
use crate::house::House;
use crate::intake::Call;
use crate::local::{self, Fault, Local};
use spillway_filters::disclose::{self, Disclosure};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::models::{self, Entry};
use spillway_filters::names;
use spillway_filters::wire::chunk::{Dechunk, Framing};
use spillway_policies::Trigger;
use spillway_policies::routing::{Model, Policy, Profile, Route};

/// Most bytes of a model list.
const MOST_LIST_BYTES: usize = 16 * 1024 * 1024;

/// Answers a list or one entry. An engine that is down or loading does not hide what is configured (product section 8).
pub(crate) async fn serve<'c>(house: &'c House, mut client: Client<'c>, call: Call) -> Served {
    let name = models::wanted(call.path());
    let entries: Vec<Entry> = house
        .routes
        .iter()
        .filter(|(configured, _)| name.as_deref().is_none_or(|name| name == *configured))
        .map(|(name, model)| entry(name, model))
        .collect();
    let answer = match local::attempt(house, &mut client, &call, &Route::Local).await {
        // Some engines refuse every path while they load.
        Local::Accepted(answer) if matches!(answer.head.status, 200 | 404 | 503) => answer,
        Local::Accepted(answer) => return client.relay(house, answer, call.held).await,
        Local::Broken(fault) => return client.fault(fault).await,
        Local::Refused(refused) => {
            let down = refused.meaning.trigger != Trigger::Saturated;
            return match models::merge(b"", 503, name.as_deref(), &entries).filter(|_| down) {
                Some(list) => ours(client, list).await,
                None => client.restore(refused, Disclosure::Local).await,
            };
        }
    };
    let status = answer.head.status;
    let Read { framed, plain, until_close } = match read(house, &mut client, answer).await {
        Ok(read) => read,
        Err(fault) => return client.fault(fault).await,
    };
    match models::merge(&plain, status, name.as_deref(), &entries) {
        Some(list) => ours(client, list).await,
        // Nothing to add, or not a list: the engine's answer stands as it came.
        None => {
            let head = std::mem::take(&mut client.connection.answer_head);
            let client = if until_close { client.closing() } else { client };
            client.collected(status, head, framed).await
        }
    }
}

async fn ours(client: Client<'_>, list: Vec<u8>) -> Served {
    let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
    disclose::line(&mut head, "Content-Type", names::JSON);
    disclose::line(&mut head, "Content-Length", &list.len().to_string());
    date(&mut head);
    client.collected(200, head, list).await
}

/// The engine's list: as it was framed, and as it reads.
struct Read {
    framed: Vec<u8>,
    plain: Vec<u8>,
    until_close: bool,
}

/// Reads the engine's list to its end.
async fn read(house: &House, client: &mut Client<'_>, mut answer: local::Answer) -> Result<Read, Fault> {
    let malformed = || Fault::Engine(ErrorAnswer::engine_protocol());
    let mut framing = answer.head.framing;
    let mut seen = 0;
    client.connection.deadline.arm(house.engine.idle_ms.min(client.first_byte_ms(house)));
    loop {
        seen += framing.feed(&answer.body[seen..]).map_err(|_| malformed())?;
        if framing.is_complete() {
            break;
        }
        if seen > MOST_LIST_BYTES {
            return Err(malformed());
        }
        if !local::more(&mut answer, client.connection).await? {
            if framing.until_close() {
                break;
            }
            return Err(Fault::Engine(ErrorAnswer::engine_reset()));
        }
    }
    let local::Answer { engine, head, body: mut framed, .. } = answer;
    let until_close = framing.until_close();
    if head.keep_alive && !until_close && seen == framed.len() {
        house.engine.keep(engine, &house.clock);
    }
    framed.truncate(seen);
    let mut plain = Vec::new();
    if matches!(head.framing, Framing::Chunked(_)) {
        Dechunk::new().feed(&framed, &mut plain, MOST_LIST_BYTES).map_err(|_| malformed())?;
    } else {
        plain.clone_from(&framed);
    }
    Ok(Read { framed, plain, until_close })
}

fn entry(name: &str, model: &Model) -> Entry {
    let (policy, remote) = match &model.policy {
        Policy::Fallback { remote, .. } => (Some("fallback"), Some(remote)),
        Policy::RemoteOnly { remote } => (Some("remote_only"), Some(remote)),
        Policy::Local => (None, None),
    };
    let remote = remote.or_else(|| {
        model
            .profiles
            .values()
            .find_map(|profile| if let Profile::Remote(remote) = profile { Some(remote) } else { None })
    });
    Entry {
        name: name.to_owned(),
        policy,
        upstream_kind: remote.map(|remote| remote.upstream.kind.token()),
        remote_backed: model.remote_backed,
    }
}
