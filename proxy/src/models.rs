//! `GET /v1/models`: the engine's list, with what the configuration adds.

use crate::client::{Client, Served, date};
use crate::house::House;
use crate::intake::Call;
use crate::local::{self, Local};
use crate::local_body;
use spillway_filters::disclose::{self, Disclosure};
use spillway_filters::models::{self, Book, Said};
use spillway_filters::names;
use spillway_policies::Trigger;
use spillway_policies::routing::Route;

/// Most bytes of a list that is completed; a longer one passes as it is.
const MOST_LIST_BYTES: usize = 16 * 1024 * 1024;

/// Answers a list or one entry. An engine that is down or loading does not hide what is configured (product section 8).
pub(crate) async fn serve<'c>(house: &'c House, mut client: Client<'c>, call: Call) -> Served {
    let wanted = models::wanted(call.path());
    let wanted = wanted.as_deref();
    let book = |said| Book { routes: &house.routes, remote_serving: house.remote_serving, said };
    // An engine that is known not to answer is not waited for: most of them hold a question, too. One that is only not well is asked.
    if let Some(seen) = house.shim.as_ref().and_then(|shim| shim.foresee(None)).filter(|seen| !seen.only_if_bridged)
        && let Some(list) = said(seen.trigger).and_then(|said| models::complete(&[], wanted, &book(said)))
    {
        client.log.foreseen = true;
        return ours(client, list).await;
    }
    models::ask_plainly(&mut client.connection.request_head);
    let (answer, said) = match local::attempt(house, &mut client, &call, &Route::Local).await {
        Local::Accepted(answer) => match answer.head.status {
            200 => (answer, Said::Known),
            404 => (answer, Said::Unknown),
            503 => (answer, Said::Loading),
            _ => return client.relay(house, answer, call.held).await,
        },
        Local::Broken(fault) => return client.fault(fault).await,
        Local::Refused(refused) => {
            let said = said(refused.meaning.trigger);
            return match said.and_then(|said| models::complete(&[], wanted, &book(said))) {
                Some(list) => ours(client, list).await,
                None => client.restore(refused, Disclosure::Local).await,
            };
        }
    };
    read(house, client, call, answer, wanted, &book(said)).await
}

/// What a refusal says of the engine's list; none: it is there, and full.
const fn said(trigger: Trigger) -> Option<Said> {
    match trigger {
        Trigger::Provisioning => Some(Said::Starting),
        Trigger::Unhealthy => Some(Said::Unreachable),
        Trigger::ModelLoading => Some(Said::Loading),
        Trigger::Saturated => None,
    }
}

/// Reads the engine's answer to its end and completes it.
async fn read<'c>(
    house: &'c House,
    client: Client<'c>,
    call: Call,
    mut answer: local::Answer,
    wanted: Option<&str>,
    book: &Book<'_>,
) -> Served {
    client.connection.deadline.arm(house.engine.idle_ms.min(client.first_byte_ms(house)));
    let seen = match local_body::whole(&mut answer, client.connection, MOST_LIST_BYTES).await {
        Ok(Some(seen)) => seen,
        Ok(None) => return client.relay(house, answer, call.held).await,
        Err(fault) => return client.fault(fault).await,
    };
    let plain = local_body::plain(&answer, seen, MOST_LIST_BYTES);
    let list = plain.and_then(|plain| models::complete(&plain, wanted, book));
    let (status, until_close) = (answer.head.status, answer.head.framing.until_close());
    let framed = local_body::take(house, answer, seen);
    let mut head = std::mem::take(&mut client.connection.answer_head);
    match list {
        Some(list) if book.said == Said::Known => {
            models::complete_head(&mut head, list.len());
            client.collected(status, head, list).await
        }
        Some(list) => ours(client, list).await,
        // Nothing to add, or not a list: the engine's answer stands as it came.
        None => {
            let client = if until_close { client.closing() } else { client };
            client.collected(status, head, framed).await
        }
    }
}

/// An answer of which the engine said nothing.
async fn ours(client: Client<'_>, list: Vec<u8>) -> Served {
    let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
    disclose::line(&mut head, "Content-Type", names::JSON);
    disclose::line(&mut head, "Content-Length", &list.len().to_string());
    date(&mut head);
    client.collected(200, head, list).await
}
