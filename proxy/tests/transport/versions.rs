//! HTTP/1.0 callers: served by the engine only, with the same checks, whichever body they bring.

use crate::engine::{Engine, Journal, always, json, repeat, said};
use crate::pipe::{CHAT, Conn, Head, chat, pattern};
use crate::sidecar::{FRONTS, Front, Setup, Sidecar};

pub(crate) const WRONG_REMOTE: [&str; 5] = [
    "X-SIE-Remote: allow\r\n",
    "X-SIE-Remote: forbid\r\nX-SIE-Remote: forbid\r\n",
    "X_SIE_REMOTE: forbid\r\n",
    "X-SIE-Remote:\r\n",
    "Connection: X-SIE-Remote\r\nX-SIE-Remote: forbid\r\n",
];

fn old_post(path: &str, lines: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.0\r\nHost: front.test\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len())
}

struct Scene {
    sidecar: Sidecar,
    engine: Engine,
    seen: Journal,
    upstream: Engine,
}

async fn scene(front: Front) -> Scene {
    let ((engine, seen), (upstream, _)) = (always(json("200 OK", r#"{"by":"engine"}"#)).await, always(said("x")).await);
    let url = format!("{}/v1", upstream.place.url());
    let sidecar = Setup::new(front, &engine.place).models(&url, "").start().await;
    Scene { sidecar, engine, seen, upstream }
}

async fn ask(sidecar: &Sidecar, request: &str) -> (Head, Vec<u8>) {
    let mut conn = sidecar.connect().await;
    let answer = conn.ask(request).await;
    assert!(conn.ends().await, "an HTTP/1.0 connection ends with its answer");
    answer
}

#[tokio::test]
async fn the_engine_serves_http_1_0() {
    for front in FRONTS {
        let Scene { sidecar, seen, upstream, engine: _engine } = scene(front).await;
        for model in ["org/hybrid", "org/local", "org/unknown"] {
            let (head, body) = ask(&sidecar, &old_post(CHAT, "", &chat(model))).await;
            assert_eq!((head.status(), head.one("x-sie-served-by")), (200, Some("local")), "{head:?}");
            assert_eq!(body, br#"{"by":"engine"}"#);
            assert_eq!(seen.last().body, chat(model).as_bytes());
        }
        assert_eq!(upstream.connections(), 0);
    }
}

#[tokio::test]
async fn a_wrong_x_sie_remote_is_400_over_http_1_0() {
    let Scene { sidecar, engine, .. } = scene(Front::Plain).await;
    for lines in WRONG_REMOTE {
        let (head, _) = ask(&sidecar, &old_post(CHAT, lines, &chat("org/local"))).await;
        assert_eq!(head.status(), 400, "{lines:?}: {head:?}");
        assert_eq!(head.one("x-sie-served-by"), None);
    }
    assert_eq!(engine.connections(), 0);
}

#[tokio::test]
async fn a_remote_only_model_is_503_over_http_1_0() {
    for front in FRONTS {
        let Scene { sidecar, engine, upstream, .. } = scene(front).await;
        for model in ["org/remote", "org/remote:default", "org/hybrid:remote"] {
            let (head, body) = ask(&sidecar, &old_post(CHAT, "", &chat(model))).await;
            assert_eq!(head.status(), 503, "{model}: {head:?}");
            assert!(String::from_utf8_lossy(&body).contains(r#""code":"#), "typed, in the surface's shape");
            assert!(head.one("retry-after").is_some());
        }
        let (head, _) = ask(&sidecar, &old_post(CHAT, "X-SIE-Remote: forbid\r\n", &chat("org/remote"))).await;
        assert_eq!(head.status(), 400);
        assert_eq!((engine.connections(), upstream.connections()), (0, 0));
    }
}

/// A model name is looked for at the front of the body; the body reaches the engine whole all the same, in whatever pieces it comes.
#[tokio::test]
async fn a_large_body_passes_whole_over_http_1_0() {
    let Scene { sidecar, seen, engine: _engine, .. } = scene(Front::Plain).await;
    let filler: String = pattern(200_000).iter().map(|byte| char::from(b'a' + byte % 26)).collect();
    let body = format!(r#"{{"model":"org/hybrid","messages":[{{"role":"user","content":"{filler}"}}]}}"#);
    let request = old_post(CHAT, "Content-Type: application/json\r\n", &body);
    let head_len = request.len() - body.len();
    // Behind the head: nothing, a byte, a part of the name, less and more than is looked at, and everything.
    for first in [0, 1, 14, 30_000, 47_000, 60_000, 65_000, body.len()] {
        let mut conn = sidecar.connect().await;
        conn.send(&request[..head_len + first]).await;
        conn.send(&request[head_len + first..]).await;
        let head = conn.head().await;
        assert_eq!(head.status(), 200, "{first}: {head:?}");
        assert!(seen.last().body == body.as_bytes(), "{first}: the body was changed");
    }
    assert_eq!(seen.len(), 8);
}

/// What an engine frames in chunks ends, for such a caller, with the connection.
#[tokio::test]
async fn a_chunked_answer_is_plain_for_http_1_0() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n";
    let journal = Journal::default();
    let seen = journal.clone();
    let engine = Engine::tcp(move |conn| repeat(conn, seen.clone(), answer.to_owned())).await;
    for front in FRONTS {
        let sidecar = Setup::new(front, &engine.place).start().await;
        let mut conn = sidecar.connect().await;
        conn.send("GET /chunked HTTP/1.0\r\n\r\n").await;
        let head = conn.head().await;
        assert_eq!((head.status(), head.one("transfer-encoding")), (200, None), "{head:?}");
        assert_eq!(conn.rest().await, b"firstsecond");
    }
}

/// The strict gate sees the first request of a connection only, so there is no second one.
#[tokio::test]
async fn an_http_1_0_connection_carries_one_request() {
    let Scene { sidecar, seen, engine: _engine, .. } = scene(Front::Plain).await;
    let one = old_post(CHAT, "Connection: keep-alive\r\n", &chat("org/local"));
    let mut conn: Conn = sidecar.connect().await;
    let (head, _) = conn.ask(format!("{one}{one}")).await;
    assert_eq!(head.status(), 200);
    assert!(conn.ends().await);
    assert_eq!(seen.len(), 1);
}
