//! TLS to an upstream: whom do we trust, who are we, and which key do we bring?

use crate::certificates::Authority;
use crate::engine::{Engine, Journal, always, loading, repeat, said};
use crate::pipe::{CHAT, Head, Place, chat, post};
use crate::sidecar::{Front, Setup, Sidecar};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// An upstream behind TLS, and what it saw.
async fn upstream(authority: &Authority, name: &str, asks: bool) -> (Engine, Journal, u16) {
    let journal = Journal::default();
    let seen = journal.clone();
    let acceptor = authority.server(&authority.pair(name), asks);
    let upstream = Engine::tls(acceptor, move |conn| repeat(conn, seen.clone(), said("over tls"))).await;
    let Place::Tcp(address) = upstream.place else { unreachable!("it listens on TCP") };
    (upstream, journal, address.port())
}

async fn call(sidecar: &Sidecar) -> (Head, Vec<u8>) {
    sidecar.connect().await.ask(post(CHAT, &chat("org/hybrid"))).await
}

fn served_remotely((head, body): &(Head, Vec<u8>)) {
    assert_eq!((head.status(), head.one("x-sie-served-by")), (200, Some("remote")), "{head:?}");
    assert_eq!(head.one("x-sie-fallback-reason"), Some("model_loading"));
    assert!(String::from_utf8_lossy(body).contains("over tls"));
}

/// The refusal as the engine gave it, and why nobody else helped.
fn restored((head, body): &(Head, Vec<u8>), cause: &str) {
    assert_eq!((head.status(), head.one("x-sie-served-by")), (503, Some("local")), "{head:?}");
    assert_eq!(head.one("spillway-cause"), Some(cause), "{head:?}");
    assert_eq!(head.one("retry-after"), Some("5"));
    assert_eq!(head.one("x-sie-fallback-reason"), Some("model_loading"));
    assert!(loading().ends_with(&*String::from_utf8_lossy(body)));
}

struct Scene {
    setup: Setup,
    upstream: Engine,
    seen: Journal,
    port: u16,
    _engine: Engine,
}

/// A cold engine, an upstream with a certificate for `name` by the setup's authority, and a setup without models yet.
async fn scene(name: &str, asks: bool) -> Scene {
    let (engine, _) = always(loading()).await;
    let setup = Setup::new(Front::Plain, &engine.place);
    let (upstream, seen, port) = upstream(&setup.authority, name, asks).await;
    Scene { setup, upstream, seen, port, _engine: engine }
}

#[tokio::test]
async fn an_upstream_of_the_named_authority_is_trusted() {
    let Scene { setup, upstream, seen, port, _engine } = scene("localhost", false).await;
    let ca = setup.authority.write(setup.folder.path(), "ca");
    let tls = format!("tls = {{ ca_file = {ca:?} }}");
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), &tls).start().await;
    for _ in 0..3 {
        served_remotely(&call(&sidecar).await);
    }
    assert_eq!(upstream.connections(), 1, "the connection is used again");
    assert_eq!(seen.last().head.one("host"), Some(&*format!("localhost:{port}")));
    assert_eq!(seen.last().head.path(), "/v1/chat/completions");
}

#[tokio::test]
async fn an_upstream_of_another_authority_is_refused() {
    let Scene { setup, upstream, port, _engine, .. } = scene("localhost", false).await;
    let other = Authority::new().write(setup.folder.path(), "other");
    let tls = format!("tls = {{ ca_file = {other:?} }}");
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), &tls).start().await;
    restored(&call(&sidecar).await, "tls");
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn without_ca_file_a_private_authority_is_refused() {
    let Scene { setup, upstream, port, _engine, .. } = scene("localhost", false).await;
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), "").start().await;
    restored(&call(&sidecar).await, "tls");
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let Scene { setup, upstream, port, _engine, .. } = scene("elsewhere.test", false).await;
    let ca = setup.authority.write(setup.folder.path(), "ca");
    let tls = format!("tls = {{ ca_file = {ca:?} }}");
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), &tls).start().await;
    restored(&call(&sidecar).await, "tls");
    assert_eq!(upstream.connections(), 0);
}

/// Plain text where TLS should be.
#[tokio::test]
async fn an_upstream_without_tls_is_refused() {
    let (engine, _) = always(loading()).await;
    let plain = Engine::tcp(|mut conn| async move {
        assert_eq!(conn.exactly(1).await, b"\x16", "a handshake, not a request");
        conn.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        conn.rest().await;
    })
    .await;
    let setup = Setup::new(Front::Plain, &engine.place);
    let ca = setup.authority.write(setup.folder.path(), "ca");
    let url = plain.place.url().replace("http://127.0.0.1", "https://localhost") + "/v1";
    let sidecar = setup.models(&url, &format!("tls = {{ ca_file = {ca:?} }}")).start().await;
    restored(&call(&sidecar).await, "tls");
}

#[tokio::test]
async fn an_upstream_that_asks_gets_our_certificate() {
    let Scene { setup, seen, port, _engine, upstream } = scene("localhost", true).await;
    let ca = setup.authority.write(setup.folder.path(), "ca");
    let (cert, key) = setup.authority.pair("spillway").write(setup.folder.path(), "own");
    let tls = format!("tls = {{ ca_file = {ca:?}, client_cert_file = {cert:?}, client_key_file = {key:?} }}");
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), &tls).start().await;
    served_remotely(&call(&sidecar).await);
    assert_eq!((seen.len(), upstream.connections()), (1, 1));
}

#[tokio::test]
async fn an_upstream_that_asks_in_vain_is_a_failure() {
    let Scene { setup, seen, port, _engine, upstream: _upstream } = scene("localhost", true).await;
    let ca = setup.authority.write(setup.folder.path(), "ca");
    let tls = format!("tls = {{ ca_file = {ca:?} }}");
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), &tls).start().await;
    restored(&call(&sidecar).await, "tls");
    assert_eq!(seen.len(), 0);
}

#[tokio::test]
async fn a_key_file_is_read_again_when_it_changes() {
    let Scene { setup, seen, port, _engine, upstream: _upstream } = scene("localhost", false).await;
    let ca = setup.authority.write(setup.folder.path(), "ca");
    let key = setup.path("key");
    std::fs::write(&key, "first-key\n").expect("a file");
    let more = format!("api_key_file = {key:?}\ntls = {{ ca_file = {ca:?} }}");
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), &more).start().await;
    served_remotely(&call(&sidecar).await);
    assert_eq!(seen.last().head.one("authorization"), Some("Bearer first-key"));
    // As secret mounts do: another file takes the name.
    let next = sidecar.setup.path("key.next");
    std::fs::write(&next, "other-key\n").expect("a file");
    std::fs::rename(&next, &key).expect("a file");
    served_remotely(&call(&sidecar).await);
    assert_eq!(seen.last().head.one("authorization"), Some("Bearer other-key"));
    std::fs::remove_file(&key).expect("a file");
    let before = seen.len();
    restored(&call(&sidecar).await, "credential");
    assert_eq!(seen.len(), before, "without a key nobody is asked");
    assert!(!sidecar.said().contains("-key"), "a key was logged");
}

/// The configured proxy sees the upstream's name and port, and ciphertext.
#[tokio::test]
async fn an_egress_proxy_carries_the_tunnel() {
    let Scene { setup, seen, port, _engine, upstream: _upstream } = scene("localhost", false).await;
    let ca = setup.authority.write(setup.folder.path(), "ca");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let proxy = listener.local_addr().expect("an address");
    let asked = tokio::spawn(async move {
        let (mut caller, _) = listener.accept().await.expect("a caller");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(caller.read_u8().await.expect("a head"));
        }
        let mut target = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("the upstream");
        caller.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.expect("a caller");
        tokio::io::copy_bidirectional(&mut caller, &mut target).await.ok();
        String::from_utf8(head).expect("a head")
    });
    let more = format!("tls = {{ ca_file = {ca:?} }}\nproxy_url = \"http://{proxy}\"");
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), &more).start().await;
    served_remotely(&call(&sidecar).await);
    assert_eq!(seen.len(), 1);
    drop(sidecar);
    let head = asked.await.expect("the proxy");
    assert!(head.starts_with(&format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n")), "{head}");
}

/// A proxy that refuses the tunnel is an upstream that cannot be reached.
#[tokio::test]
async fn an_egress_proxy_that_refuses_is_a_failed_connection() {
    let (proxy, _) = always("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").await;
    let Scene { setup, seen, port, _engine, upstream: _upstream } = scene("localhost", false).await;
    let more = format!("proxy_url = \"{}\"", proxy.place.url());
    let sidecar = setup.models(&format!("https://localhost:{port}/v1"), &more).start().await;
    restored(&call(&sidecar).await, "connect");
    assert_eq!(seen.len(), 0);
}

/// Variables that other programs obey lead nowhere: neither to the engine nor to an upstream, in the clear or over TLS.
#[tokio::test]
async fn proxy_variables_have_no_effect() {
    let (trap, trapped) = always("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").await;
    let Scene { setup, port, _engine, upstream: _upstream, .. } = scene("localhost", false).await;
    let ca = setup.authority.write(setup.folder.path(), "ca");
    let mut setup = setup.models(&format!("https://localhost:{port}/v1"), &format!("tls = {{ ca_file = {ca:?} }}"));
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        setup = setup.env(name, &trap.place.url());
    }
    let sidecar = setup.env("no_proxy", "").start().await;
    served_remotely(&call(&sidecar).await);
    let (plain, _) = always(said("over tls")).await;
    let ((engine, _), url) = (always(loading()).await, format!("{}/v1", plain.place.url()));
    let setup = Setup::new(Front::Plain, &engine.place).models(&url, "");
    let sidecar = setup.env("http_proxy", &trap.place.url()).env("ALL_PROXY", &trap.place.url()).start().await;
    served_remotely(&call(&sidecar).await);
    assert_eq!((trapped.len(), trap.connections()), (0, 0), "something went through the proxy");
}
