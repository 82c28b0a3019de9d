//! Does every upgraded connection survive, whichever side speaks first, and does nothing slip past a refused upgrade?

use crate::engine::{Engine, Journal, json};
use crate::pipe::{Conn, within};
use crate::sidecar::{FRONTS, Front, Setup};
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Barrier, Semaphore};

fn upgrade(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: front.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

const AGREED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-SIE-Upstream: forged\r\n\r\n";

/// Agrees and speaks at once, in the same write; then echoes until the caller ends.
async fn eager(mut conn: Conn) {
    let head = conn.head().await;
    assert_eq!(head.one("upgrade"), Some("websocket"), "{head:?}");
    conn.send(format!("{AGREED}hello from {}", head.path())).await;
    loop {
        let message = conn.exactly(8).await;
        conn.send(&message).await;
        if message == b"the last" {
            return;
        }
    }
}

async fn converse(conn: &mut Conn, number: usize) {
    let path = format!("/socket/{number:03}");
    conn.send(upgrade(&path)).await;
    let head = conn.head().await;
    assert_eq!(head.status(), 101, "{head:?}");
    assert_eq!(head.one("upgrade").map(str::to_ascii_lowercase).as_deref(), Some("websocket"));
    assert_eq!((head.one("x-sie-served-by"), head.one("x-sie-upstream")), (Some("local"), None));
    assert_eq!(conn.exactly(22).await, format!("hello from {path}").as_bytes());
    for message in [&*format!("say{number:05}"), "\0\r\n\r\n\x01\x02\x03", "the last"] {
        conn.send(message).await;
        assert_eq!(conn.exactly(8).await, message.as_bytes());
    }
    assert!(conn.ends().await, "the engine closed");
}

async fn three_hundred(fast: bool, front: Front) {
    const BATCH: usize = 50;
    let engine = Engine::tcp(eager).await;
    let sidecar = Arc::new(Setup::new(front, &engine.place).fast_lane(fast).start().await);
    let mut survived = 0;
    for batch in 0..6 {
        let together = Arc::new(Barrier::new(BATCH));
        let callers: Vec<_> = (0..BATCH)
            .map(|caller| {
                let (sidecar, together) = (sidecar.clone(), together.clone());
                tokio::spawn(async move {
                    let mut conn = sidecar.connect().await;
                    together.wait().await;
                    converse(&mut conn, batch * BATCH + caller).await;
                })
            })
            .collect();
        for caller in callers {
            survived += usize::from(caller.await.is_ok());
        }
    }
    assert_eq!(survived, 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_of_three_hundred_over_tcp() {
    three_hundred(true, Front::Plain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_of_three_hundred_over_tls() {
    three_hundred(true, Front::Tls).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_of_three_hundred_over_a_unix_socket() {
    three_hundred(true, Front::Unix).await;
}

/// With the fast lane switched off, the stock path carries them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_of_three_hundred_on_the_full_lane() {
    for front in FRONTS {
        three_hundred(false, front).await;
    }
}

/// Large messages both ways at the same time, so that both directions fill every buffer on the way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_directions_flow_at_once() {
    const SIZE: usize = 8 << 20;
    let engine = Engine::tcp(|mut conn| async move {
        conn.head().await;
        conn.send(AGREED).await;
        let (from, to) = tokio::io::split(conn.wire);
        exchange(from, to, conn.unread, SIZE).await;
    })
    .await;
    for front in FRONTS {
        let sidecar = Setup::new(front, &engine.place).start().await;
        let mut conn = sidecar.connect().await;
        conn.send(upgrade("/flood")).await;
        assert_eq!(conn.head().await.status(), 101);
        let (from, to) = tokio::io::split(conn.wire);
        exchange(from, to, conn.unread, SIZE).await;
    }
}

/// Writes a pattern, and expects the same one from the other side.
async fn exchange<R, W>(from: R, mut to: W, mut got: Vec<u8>, size: usize)
where
    R: tokio::io::AsyncRead + Unpin + Send + 'static,
    W: tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    use tokio::io::AsyncReadExt as _;
    let pattern = crate::pipe::pattern(size);
    let expected = pattern.clone();
    let writing = tokio::spawn(async move {
        to.write_all(&pattern).await.expect("the other side reads");
        to.flush().await.expect("the other side reads");
        to
    });
    let mut from = from;
    while got.len() < size {
        let count = within("the flood", from.read_buf(&mut got)).await.expect("bytes");
        assert!(count > 0, "the tunnel ended after {} bytes", got.len());
    }
    assert!(got == expected, "the tunnel changed bytes");
    drop(within("the flood to be taken", writing).await.expect("the writer ends"));
}

#[tokio::test]
async fn a_refused_upgrade_is_relayed() {
    for (status, engine_closes) in [("200 OK", false), ("400 Bad Request", true), ("503 Service Unavailable", false)] {
        let journal = Journal::default();
        let seen = journal.clone();
        let engine = Engine::tcp(move |mut conn| {
            let seen = seen.clone();
            async move {
                while seen.next(&mut conn).await.is_some() {
                    conn.send(json(status, r#"{"no":"upgrade"}"#)).await;
                    if engine_closes {
                        return;
                    }
                }
            }
        })
        .await;
        for front in [Front::Plain, Front::Tls] {
            let sidecar = Setup::new(front, &engine.place).start().await;
            let before = journal.len();
            // What stands behind the head was meant for the other protocol and must not be taken for a request.
            let smuggled = upgrade("/socket") + "GET /smuggled HTTP/1.1\r\nHost: front.test\r\n\r\n";
            let mut conn = sidecar.connect().await;
            let (head, body) = conn.ask(smuggled).await;
            assert_eq!(head.start(), format!("HTTP/1.1 {status}"));
            assert_eq!(body, br#"{"no":"upgrade"}"#);
            assert_eq!(head.one("x-sie-served-by"), Some("local"));
            assert!(conn.ends().await, "a connection of unclear state is closed");
            assert_eq!(journal.len(), before + 1, "the engine saw more than the upgrade: {:?}", journal.all());
        }
    }
}

#[tokio::test]
async fn pipelined_bytes_wait_for_the_engine_to_agree() {
    let (told, agree) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (tell, wait) = (told.clone(), agree.clone());
    let engine = Engine::tcp(move |mut conn| {
        let (tell, wait) = (tell.clone(), wait.clone());
        async move {
            conn.head().await;
            tell.add_permits(1);
            let premature = tokio::select! {
                byte = conn.exactly(1) => Some(byte),
                permit = wait.acquire() => { permit.expect("the test lives").forget(); None }
            };
            assert_eq!(premature, None, "bytes came before the 101");
            assert!(conn.unread.is_empty());
            conn.send(AGREED).await;
            let early = conn.exactly(10).await;
            conn.send(early).await;
        }
    })
    .await;
    for front in FRONTS {
        let sidecar = Setup::new(front, &engine.place).start().await;
        let mut conn = sidecar.connect().await;
        conn.send(upgrade("/early") + "early").await;
        within("the engine to see the head", told.acquire()).await.expect("the test lives").forget();
        conn.send("birds").await;
        // Other calls go through the sidecar meanwhile, so it had every chance to pass those bytes on.
        for _ in 0..20 {
            assert_eq!(sidecar.ready().await, 200);
        }
        agree.add_permits(1);
        assert_eq!(conn.head().await.status(), 101);
        assert_eq!(conn.exactly(10).await, b"earlybirds");
    }
}

/// The caller leaving ends the engine's side of the tunnel.
#[tokio::test]
async fn a_tunnel_ends_with_its_caller() {
    let ended = Arc::new(Semaphore::new(0));
    let tell = ended.clone();
    let engine = Engine::tcp(move |mut conn| {
        let tell = tell.clone();
        async move {
            conn.head().await;
            conn.send(AGREED).await;
            assert!(conn.ends().await);
            tell.add_permits(1);
        }
    })
    .await;
    for front in FRONTS {
        let sidecar = Setup::new(front, &engine.place).start().await;
        let mut conn = sidecar.connect().await;
        conn.send(upgrade("/short")).await;
        assert_eq!(conn.head().await.status(), 101);
        drop(conn);
        within("the engine's side to end", ended.acquire()).await.expect("the test lives").forget();
    }
}
