//! Protocol upgrades (WebSocket): the engine decides, and after its 101 the connection is a tunnel.
//!
//! Here and not in the full lane: the stock path loses upgraded connections whose first bytes come fast (pingora section 4 item 1).

use crate::client::{Client, Served};
use crate::connection::Connection;
use crate::held::Held;
use crate::house::House;
use crate::local::{self, Fault, Local};
use crate::telemetry::Side;
use spillway_filters::disclose::Disclosure;
use spillway_filters::error_answer::ErrorAnswer;
use tokio::io::AsyncWriteExt as _;

/// Passes an upgrade request on. Nothing that was read behind its head goes out before the engine has agreed.
pub(crate) async fn serve<'c>(house: &'c House, mut client: Client<'c>) -> Served {
    let head = client.take_head();
    let pipelined = client.connection.inbox.split_off(head.len);
    let buffer = std::mem::replace(&mut client.connection.inbox, pipelined);
    let held = Held::in_place(buffer, head.len..head.len, None);
    crate::lane::prefix_target(&mut client.connection.request_head, &house.engine.path_prefix);
    client.connection.request_head.extend_from_slice(b"\r\n");
    let mut client = client.closing();
    match local::upgrade(house, &mut client, &held).await {
        Local::Accepted(answer) if answer.head.status == 101 => run(client, answer).await,
        Local::Accepted(answer) => client.relay(house, answer, held).await,
        Local::Broken(fault) => client.fault(fault).await,
        Local::Refused(_) => client.fault(Fault::Engine(ErrorAnswer::engine_unreachable())).await,
    }
}

async fn run(client: Client<'_>, answer: local::Answer) -> Served {
    let (connection, log) = client.into_parts();
    log.served(Side::Local);
    log.status = 101;
    let mut engine = answer.engine;
    Disclosure::Local.write(&mut connection.answer_head);
    connection.answer_head.extend_from_slice(b"\r\n");
    connection.deadline.arm(0);
    let Connection { stream, deadline, answer_head, inbox, .. } = connection;
    let opened = Connection::write(stream, deadline, answer_head, &answer.body).await.is_ok()
        && engine.write_all(inbox).await.is_ok()
        && engine.flush().await.is_ok();
    if opened {
        // Either side closing ends its half; an error ends both. There is nothing to answer any more.
        let _ = tokio::io::copy_bidirectional(stream, &mut engine).await;
    }
    Served::Close
}
