//! `GET /v1/models`: the engine's list, with what the configuration adds.

use crate::client::{Client, Served};
use crate::house::House;
use crate::intake::Call;
use crate::local::{self, Local};
use spillway_filters::error_answer::{ErrorAnswer, reason};
use spillway_filters::models::{self, Entry};
use spillway_filters::wire::chunk::{Dechunk, Framing};
use spillway_policies::routing::{Model, Policy, Profile, Route};

/// Most bytes of a model list.
const MOST_LIST_BYTES: usize = 16 * 1024 * 1024;

/// Answers a list or one entry. An engine that is down does not hide what is configured (product section 8).
pub(crate) async fn serve<'c>(house: &'c House, mut client: Client<'c>, call: Call) -> Served {
    let name = models::wanted(call.path());
    let entries: Vec<Entry> = house
        .routes
        .iter()
        .filter(|(configured, _)| name.as_deref().is_none_or(|name| name == *configured))
        .map(|(name, model)| entry(name, model))
        .collect();
    let answer = match local::attempt(house, &mut client, &call, &Route::Local).await {
        Local::Accepted(answer) if answer.head.status == 200 || answer.head.status == 404 => answer,
        // Some engines refuse every path while they load.
        Local::Accepted(answer) if answer.head.status == 503 => {
            return configured(client, 503, name.as_deref(), &entries).await;
        }
        Local::Accepted(answer) => return client.relay(house, answer, call.held).await,
        Local::Broken(fault) => return client.fault(fault).await,
        Local::Refused(refused) => return configured(client, refused.status, name.as_deref(), &entries).await,
    };
    let status = answer.head.status;
    match body(house, &mut client, answer).await {
        Some(body) => match models::merge(&body, status, name.as_deref(), &entries) {
            Some(merged) => list(client, 200, merged).await,
            None => list(client, status, body).await,
        },
        None => client.fault(local::Fault::Engine(ErrorAnswer::engine_protocol())).await,
    }
}

/// The engine is not there: what is configured.
async fn configured(client: Client<'_>, status: u16, name: Option<&str>, entries: &[Entry]) -> Served {
    match models::merge(b"", 404, name, entries) {
        Some(merged) => list(client, 200, merged).await,
        None => {
            let answer = if status == 503 { ErrorAnswer::provisioning() } else { ErrorAnswer::engine_unreachable() };
            client.fault(local::Fault::Engine(answer)).await
        }
    }
}

async fn list(client: Client<'_>, status: u16, body: Vec<u8>) -> Served {
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        reason(status),
        body.len()
    );
    client.collected(status, head.into_bytes(), body).await
}

/// Reads the engine's list to its end.
async fn body(house: &House, client: &mut Client<'_>, mut answer: local::Answer) -> Option<Vec<u8>> {
    let mut framing = answer.head.framing;
    let mut seen = 0;
    client.connection.deadline.arm(house.engine.idle_ms);
    loop {
        seen += framing.feed(&answer.body[seen..]).ok()?;
        if framing.is_complete() {
            break;
        }
        if seen > MOST_LIST_BYTES {
            return None;
        }
        if !local::more(&mut answer, client.connection).await.ok()? {
            if framing.until_close() {
                break;
            }
            return None;
        }
    }
    let local::Answer { engine, head, mut body, .. } = answer;
    if head.keep_alive && !framing.until_close() && seen == body.len() {
        house.engine.keep(engine, &house.clock);
    }
    body.truncate(seen);
    if matches!(head.framing, Framing::Chunked(_)) {
        let mut plain = Vec::new();
        Dechunk::new().feed(&body, &mut plain, MOST_LIST_BYTES).ok()?;
        return Some(plain);
    }
    Some(body)
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
