//! Does an upgrade become a tunnel, both ways and to the byte?

use crate::case::Case;
use crate::expect::{Verdict, same};
use crate::stage::Bench;
use crate::stage::client::Request;
use crate::stage::script::{Answer, Play};
use crate::stage::setup::Setup;

/// The case.
pub(super) const CASE: Case = Case {
    name: "websocket_upgrade_tunnels",
    clause: "an upgrade that the engine accepts is tunnelled; one that it declines is an ordinary answer",
    faults: &[],
    run: |bench| Box::pin(run(bench)),
};

fn upgrade(path: &str) -> Request {
    Request::get(path)
        .field("Connection", "Upgrade")
        .field("Upgrade", "websocket")
        .field("Sec-WebSocket-Version", "13")
        .field("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
}

async fn run(bench: Bench) -> Verdict {
    let stage = bench.stage(Setup::new()).await?;
    stage.engine.on_path("/ws/status", Play::upgrade_echo("websocket"));
    stage.engine.on_path("/ws/declined", Answer::json(403, r#"{"no":"thanks"}"#));
    let mut client = stage.client().await?;
    client.send(upgrade("/ws/status").bytes()).await?;
    let head = client.head().await?;
    same("the status", &head.status(), &101)?;
    same("the protocol", &head.field("Upgrade"), &Some("websocket".to_owned()))?;
    let every_byte: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for message in [b"\x81\x02hi".to_vec(), b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), every_byte] {
        client.send(&message).await?;
        same("the echo", &client.raw(message.len()).await?, &message)?;
    }
    drop(client);
    let heard = stage.engine.journal().heard();
    let heard: Vec<_> = heard.iter().filter(|heard| heard.path() == "/ws/status").collect();
    same("upgrades that the engine heard", &heard.len(), &1)?;
    same("the protocol asked for", &heard[0].head.field("upgrade"), &Some("websocket".to_owned()))?;
    same("the key", &heard[0].head.field("sec-websocket-key"), &Some("dGhlIHNhbXBsZSBub25jZQ==".to_owned()))?;
    stage.engine.journal().closed_by_peer(heard[0].connection).await?;

    let declined = stage.ask(&upgrade("/ws/declined")).await?;
    declined.is(403)?.carries(br#"{"no":"thanks"}"#)?;
    Ok(())
}
