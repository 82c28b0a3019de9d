//! TLS on the front: which lane gets a connection, and who may come in.

use crate::engine::{Engine, Journal, always, json, loading, said};
use crate::pipe::{CHAT, Conn, Head, chat, get, post, within};
use crate::sidecar::{Front, Setup, Sidecar};
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

async fn hybrid(alpn: &[&str]) -> (Head, Vec<u8>) {
    let ((engine, _), (upstream, _)) = (always(loading()).await, always(said("from afar")).await);
    let base_url = format!("{}/v1", upstream.place.url());
    let sidecar = Setup::new(Front::Tls, &engine.place).models(&base_url, "").start().await;
    sidecar.connect_as(alpn).await.ask(post(CHAT, &chat("org/hybrid"))).await
}

#[tokio::test]
async fn alpn_http_1_1_bridges() {
    let (head, body) = hybrid(&["http/1.1"]).await;
    assert_eq!((head.status(), head.one("x-sie-served-by")), (200, Some("remote")), "{head:?}");
    assert!(String::from_utf8_lossy(&body).contains("from afar"));
}

#[tokio::test]
async fn no_alpn_bridges() {
    let (head, _) = hybrid(&[]).await;
    assert_eq!((head.status(), head.one("x-sie-upstream")), (200, Some("hosted")), "{head:?}");
}

/// A small answer must not wait in a buffer: the next request comes only once it is there.
#[tokio::test]
async fn small_answers_are_flushed() {
    let (engine, journal) = always(json("200 OK", "1")).await;
    for fast in [true, false] {
        let sidecar = Setup::new(Front::Tls, &engine.place).fast_lane(fast).start().await;
        let mut conn = sidecar.connect().await;
        for _ in 0..100 {
            let (head, body) = conn.ask(get("/tiny")).await;
            assert_eq!((head.status(), body.as_slice()), (200, b"1".as_slice()));
        }
        // Rejections and refusals of our own too.
        let (head, _) = conn.ask("GET / HTTP/1.1\r\nHost: a\r\nX-SIE-Remote: allow\r\n\r\n").await;
        assert_eq!(head.status(), 400);
    }
    assert_eq!(journal.len(), 200);
}

/// What a caller gets over a handshake of its own; nothing when it is shut out, during the handshake or right after it.
async fn asked(sidecar: &Sidecar, tls: TlsConnector) -> Option<u16> {
    let wire = sidecar.front.connect().await.expect("the front accepts");
    let name = ServerName::try_from("localhost").expect("a name");
    let mut conn = Conn::new(Box::new(within("a handshake", tls.connect(name, wire)).await.ok()?));
    conn.try_send(get("/").as_bytes()).await.ok()?;
    Some(conn.next_head().await?.status())
}

#[tokio::test]
async fn callers_show_a_certificate_when_asked() {
    let (engine, journal) = always(json("200 OK", "{}")).await;
    for fast in [true, false] {
        let sidecar = Setup::new(Front::Tls, &engine.place).fast_lane(fast).asks_clients().start().await;
        let authority = &sidecar.setup.authority;
        let before = journal.len();
        assert_eq!(asked(&sidecar, authority.client(&["http/1.1"], None)).await, None, "no certificate");
        let stranger = crate::certificates::Authority::new().pair("caller");
        assert_eq!(asked(&sidecar, authority.client(&["http/1.1"], Some(&stranger))).await, None, "a stranger's");
        assert_eq!(journal.len(), before, "nothing reached the engine");
        let own = authority.pair("caller");
        assert_eq!(asked(&sidecar, authority.client(&["http/1.1"], Some(&own))).await, Some(200));
    }
}

/// A caller that does not finish its handshake keeps nobody else waiting.
#[tokio::test]
async fn a_stuck_handshake_holds_nobody_up() {
    let journal = Journal::default();
    let seen = journal.clone();
    let engine = Engine::tcp(move |conn| crate::engine::repeat(conn, seen.clone(), json("200 OK", "{}"))).await;
    let sidecar = Setup::new(Front::Tls, &engine.place).start().await;
    let mut stuck = Vec::new();
    for _ in 0..20 {
        let mut conn = Conn::new(sidecar.front.connect().await.expect("the front accepts"));
        conn.send(b"\x16\x03\x01").await;
        stuck.push(conn);
    }
    assert_eq!(sidecar.connect().await.ask(get("/")).await.0.status(), 200);
}
