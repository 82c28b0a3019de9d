//! Bodies that are too large to hold: whole to the engine for local models, refused for others, and never a second request by mistake.

use crate::engine::{Engine, Journal, always, json, said};
use crate::pipe::{CHAT, Conn, chat, get, pattern};
use crate::sidecar::{FRONTS, Front, Setup, Sidecar};
use std::sync::Arc;
use tokio::sync::Semaphore;

const LIMIT: usize = 100_000;
const SIZE: usize = 5 << 20;

struct Scene {
    sidecar: Sidecar,
    seen: Journal,
    engine: Engine,
    upstream: Engine,
}

async fn scene(front: Front) -> Scene {
    let ((engine, seen), (upstream, _)) = (always(json("200 OK", r#"{"got":"it"}"#)).await, always(said("x")).await);
    let url = format!("{}/v1", upstream.place.url());
    let setup = Setup::new(front, &engine.place).models(&url, "").listen(&format!("max_body_bytes = {LIMIT}"));
    Scene { sidecar: setup.start().await, seen, engine, upstream }
}

fn large(model: &str, size: usize) -> String {
    let filler: String = pattern(size).iter().map(|byte| char::from(b'a' + byte % 26)).collect();
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"{filler}"}}]}}"#)
}

fn head(path: &str, framing: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: front.test\r\nContent-Type: application/json\r\n{framing}\r\n\r\n")
}

async fn send_chunked(conn: &mut Conn, path: &str, body: &[u8], piece: usize) {
    conn.send(head(path, "Transfer-Encoding: chunked")).await;
    for piece in body.chunks(piece) {
        conn.send([format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()).await;
    }
    conn.send("0\r\n\r\n").await;
}

async fn answered(conn: &mut Conn) {
    let head = conn.head().await;
    assert_eq!((head.status(), head.one("x-sie-served-by")), (200, Some("local")), "{head:?}");
    assert_eq!(conn.body(&head).await, br#"{"got":"it"}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_local_models_body_streams_through_whole() {
    for front in FRONTS {
        let Scene { sidecar, seen, engine: _engine, .. } = scene(front).await;
        let mut conn = sidecar.connect().await;
        for model in ["org/local", "org/unknown"] {
            let body = large(model, SIZE);
            conn.send(head(CHAT, &format!("Content-Length: {}", body.len()))).await;
            conn.send(&body).await;
            answered(&mut conn).await;
            assert!(seen.last().body == body.as_bytes(), "{front:?} {model}: a body with a length was changed");
            assert_eq!(seen.last().head.one("content-length"), Some(&*body.len().to_string()));
            // One chunk that passes the limit at once, chunks that meet it, and many small ones.
            for piece in [body.len(), 1 << 20, LIMIT, 40_000, 4_099] {
                send_chunked(&mut conn, CHAT, body.as_bytes(), piece).await;
                answered(&mut conn).await;
                assert!(seen.last().body == body.as_bytes(), "{front:?} {model} {piece}: a chunked body was changed");
            }
        }
        // The connection is still in step.
        assert_eq!(conn.ask(get("/")).await.0.status(), 200);
    }
}

#[tokio::test]
async fn a_body_around_the_limit_passes_either_way() {
    let Scene { sidecar, seen, engine: _engine, .. } = scene(Front::Plain).await;
    let mut conn = sidecar.connect().await;
    let frame = large("org/local", 0).len();
    for size in [LIMIT - 1, LIMIT, LIMIT + 1] {
        let body = large("org/local", size - frame);
        assert_eq!(body.len(), size);
        conn.send(head(CHAT, &format!("Content-Length: {size}")) + &body).await;
        answered(&mut conn).await;
        assert!(seen.last().body == body.as_bytes(), "{size}");
        send_chunked(&mut conn, CHAT, body.as_bytes(), 1_000).await;
        answered(&mut conn).await;
        assert!(seen.last().body == body.as_bytes(), "{size} in chunks");
    }
}

#[tokio::test]
async fn a_remote_models_body_over_the_limit_is_413() {
    for front in FRONTS {
        let Scene { sidecar, engine, upstream, .. } = scene(front).await;
        for model in ["org/hybrid", "org/remote"] {
            let body = large(model, 2 * LIMIT);
            for chunked in [false, true] {
                let mut conn = sidecar.connect().await;
                if chunked {
                    // The answer may come before the end, so not every byte need be taken.
                    let mut request = head(CHAT, "Transfer-Encoding: chunked");
                    request += &format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
                    let _ = conn.try_send(request.as_bytes()).await;
                } else {
                    let request = head(CHAT, &format!("Content-Length: {}", body.len())) + &body;
                    let _ = conn.try_send(request.as_bytes()).await;
                }
                let answer = conn.head().await;
                assert_eq!((answer.status(), answer.one("x-sie-served-by")), (413, None), "{model}: {answer:?}");
                assert_eq!(answer.one("connection"), Some("close"));
            }
        }
        assert_eq!((engine.connections(), upstream.connections()), (0, 0));
    }
}

/// The engine answers while the upload is running: heard at once, and what still comes is not a request.
#[tokio::test]
async fn an_early_answer_is_heard() {
    for (front, model) in FRONTS.iter().flat_map(|front| [(*front, "org/local"), (*front, "org/hybrid")]) {
        let upload = Arc::new(Semaphore::new(0));
        let hold = upload.clone();
        let engine = Engine::tcp(move |mut conn| {
            let hold = hold.clone();
            async move {
                conn.head().await;
                conn.exactly(10).await;
                conn.send(json("503 Service Unavailable", r#"{"error":{"code":"BUSY"}}"#)).await;
                // The connection stays open, and nothing more is read from it.
                let _held = hold.acquire().await;
            }
        })
        .await;
        let limit = if model == "org/local" { LIMIT } else { 16 << 20 };
        let setup = Setup::new(front, &engine.place).listen(&format!("max_body_bytes = {limit}"));
        let sidecar = setup.models("http://127.0.0.1:9/v1", "").start().await;
        let body = large(model, 8 << 20);
        let mut conn = sidecar.connect().await;
        conn.send(head(CHAT, &format!("Content-Length: {}", body.len()))).await;
        // A hybrid model's body is held whole before the engine is asked: all of it must be sent. Of a local one a part will do.
        let part = if model == "org/local" { LIMIT } else { body.len() };
        conn.send(&body[..part]).await;
        let answer = conn.head().await;
        assert_eq!((answer.status(), answer.one("x-sie-served-by")), (503, Some("local")), "{front:?} {model}");
        assert_eq!(conn.body(&answer).await, br#"{"error":{"code":"BUSY"}}"#);
        if model == "org/local" {
            assert_eq!(answer.one("connection"), Some("close"), "the rest of the upload is not a request: {answer:?}");
        }
    }
}

/// An upload whose rest looks like a request, and an engine that never takes it: the rest must not become one.
async fn rest_of_an_upload(sidecar: &Sidecar) {
    let smuggled = get("/smuggled");
    let start = chat("org/local").replace("hello", &"x".repeat(2 * LIMIT));
    let size = start.len() + smuggled.len();
    let mut conn = sidecar.connect().await;
    conn.send(head(CHAT, &format!("Content-Length: {size}")) + &start[..20_000]).await;
    let answer = conn.head().await;
    assert!([502, 503].contains(&answer.status()), "{answer:?}");
    let _ = conn.body(&answer).await;
    assert_eq!(answer.one("connection"), Some("close"), "the upload is not over: {answer:?}");
    let _ = conn.try_send(smuggled.as_bytes()).await;
    assert!(conn.ends().await, "the rest of an upload was answered as a request");
}

#[tokio::test]
async fn an_upload_to_an_engine_that_is_not_there_ends_its_connection() {
    let nowhere = always("").await.0.place.clone();
    let setup = Setup::new(Front::Plain, &nowhere).listen(&format!("max_body_bytes = {LIMIT}"));
    rest_of_an_upload(&setup.start().await).await;
}

#[tokio::test]
async fn an_upload_to_an_engine_that_breaks_off_ends_its_connection() {
    let engine = Engine::tcp(|mut conn| async move {
        conn.head().await;
    })
    .await;
    let setup = Setup::new(Front::Plain, &engine.place).listen(&format!("max_body_bytes = {LIMIT}"));
    rest_of_an_upload(&setup.start().await).await;
}

#[tokio::test]
async fn an_upload_without_room_at_the_engine_ends_its_connection() {
    let (told, release) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (tell, wait) = (told.clone(), release.clone());
    let engine = Engine::tcp(move |mut conn| {
        let (tell, wait) = (tell.clone(), wait.clone());
        async move {
            conn.head().await;
            tell.add_permits(1);
            let _held = wait.acquire().await;
        }
    })
    .await;
    let setup = Setup::new(Front::Plain, &engine.place).listen(&format!("max_body_bytes = {LIMIT}"));
    let sidecar = setup.tail("max_in_flight = 1").start().await;
    let mut first = sidecar.connect().await;
    first.send(get("/slow")).await;
    crate::pipe::within("the first to reach the engine", told.acquire()).await.expect("the test lives").forget();
    rest_of_an_upload(&sidecar).await;
}
