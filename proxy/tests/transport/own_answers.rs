//! Does an HTTP/2 caller see every answer that the sidecar gives in the engine's place?

use crate::engine::{Engine, always};
use crate::http2::{Caller, call, read, value};
use crate::pipe::{CHAT, chat, post, within};
use crate::sidecar::{FRONTS, Front, Setup, Sidecar};
use bytes::Bytes;
use http::{Method, Request};
use tokio::sync::mpsc;

/// A sidecar whose engine is not there.
async fn alone(front: Front) -> Sidecar {
    let nowhere = always("").await.0.place.clone();
    Setup::new(front, &nowhere).listen("max_body_bytes = 200000").start().await
}

/// A request without a body.
fn bare(method: Method, path: &str) -> Request<()> {
    Request::builder().method(method).uri(format!("http://front.test{path}")).body(()).expect("a request")
}

/// Two answers that the sidecar makes: the engine is not there, and the caller is wrong.
const ANSWERS: [(&[(&str, &str)], u16); 2] = [(&[], 503), (&[("x-sie-remote", "allow")], 400)];

#[tokio::test]
async fn the_body_is_taken_in_before_an_answer() {
    for front in FRONTS {
        let sidecar = alone(front).await;
        let caller = Caller::connect(&sidecar).await;
        for (lines, status) in ANSWERS {
            // More than the window that HTTP/2 opens unasked.
            let (head, body) = caller.ask(call(lines), &"x".repeat(100_000)).await;
            assert_eq!(head.status, status, "{front:?}");
            assert_eq!(value(&head, "content-length"), [body.len().to_string()]);
        }
    }
}

/// Another call is answered between its head and its body, so that the sidecar has seen the one without the other.
#[tokio::test]
async fn a_body_that_comes_after_its_head_is_taken_in() {
    let sidecar = alone(Front::Plain).await;
    let mut caller = Caller::connect(&sidecar).await;
    for (lines, status) in ANSWERS {
        let (answer, mut sending) = caller.0.send_request(call(lines), false).expect("a request");
        assert_eq!(caller.ask(bare(Method::GET, "/health"), "").await.0.status, 503);
        for (piece, last) in [("{\"model\":", false), ("\"org/any\"}", true)] {
            sending.send_data(Bytes::from_static(piece.as_bytes()), last).expect("the stream is open");
        }
        let (head, body) = read(answer).await;
        assert_eq!(head.status, status);
        assert_eq!(value(&head, "content-length"), [body.len().to_string()]);
    }
}

/// Nobody is waited for without end, and what is larger than a body may be is not read.
#[tokio::test]
async fn a_body_without_an_end_is_answered_too() {
    let sidecar = alone(Front::Plain).await;
    let mut caller = Caller::connect(&sidecar).await;
    for (lines, status) in ANSWERS {
        let (answer, _sending) = caller.0.send_request(call(lines), false).expect("a request");
        assert_eq!(read(answer).await.0.status, status);
        let (answer, mut sending) = caller.0.send_request(call(lines), false).expect("a request");
        let sent = tokio::spawn(async move {
            loop {
                sending.reserve_capacity(16_384);
                let Some(Ok(room)) = std::future::poll_fn(|cx| sending.poll_capacity(cx)).await else { return };
                if sending.send_data(Bytes::from(vec![b'x'; room]), false).is_err() {
                    return;
                }
            }
        });
        assert_eq!(read(answer).await.0.status, status);
        within("the end of the stream", sent).await.expect("the caller is told to stop");
    }
}

#[tokio::test]
async fn an_answer_to_head_has_no_body() {
    let sidecar = alone(Front::Plain).await;
    let caller = Caller::connect(&sidecar).await;
    let (with, body) = caller.ask(bare(Method::GET, "/health"), "").await;
    let (without, nothing) = caller.ask(bare(Method::HEAD, "/health"), "").await;
    assert_eq!((with.status.as_u16(), without.status.as_u16()), (503, 503));
    assert_eq!(value(&without, "content-length"), [body.len().to_string()]);
    assert!(!body.is_empty() && nothing.is_empty());
    let mut conn = sidecar.connect().await;
    conn.send("HEAD /health HTTP/1.0\r\n\r\n").await;
    let head = conn.head().await;
    assert_eq!((head.status(), head.one("content-length")), (503, Some(&*body.len().to_string())));
    assert!(conn.ends().await);
}

/// A shim whose engine sleeps, and what it was told: paths and bodies.
async fn asleep() -> (Engine, mpsc::UnboundedReceiver<(String, serde_json::Value)>) {
    let (told, hears) = mpsc::unbounded_channel();
    let shim = Engine::tcp(move |mut conn| {
        let told = told.clone();
        async move {
            while let Some(head) = conn.next_head().await {
                let body = conn.body(&head).await;
                if head.path().starts_with("/state/stream") {
                    let event = "data: {\"seq\":1,\"preset\":\"sie\",\"engine\":{\"state\":\"asleep\"}}\n\n";
                    conn.send(format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{event}")).await;
                    continue;
                }
                conn.send("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}").await;
                let body = serde_json::from_slice(&body).expect("JSON");
                if told.send((head.path().to_owned(), body)).is_err() {
                    return;
                }
            }
        }
    })
    .await;
    (shim, hears)
}

/// A page asks with OPTIONS before it calls: that neither wakes an engine nor keeps it awake. The call behind it does, once.
#[tokio::test]
async fn options_is_no_work() {
    for (fast, http2) in [(true, false), (false, false), (true, true)] {
        let ((engine, _), (shim, mut hears)) = (always("").await, asleep().await);
        let setup = Setup::new(Front::Plain, &engine.place).fast_lane(fast);
        let sidecar = setup.tail(&format!("shim = \"{}\"", shim.place.url())).start().await;
        let model = chat("org/any");
        let statuses = if http2 {
            let caller = Caller::connect(&sidecar).await;
            let (options, _) = caller.ask(bare(Method::OPTIONS, CHAT), "").await;
            [options.status.as_u16(), caller.ask(call(&[]), &model).await.0.status.as_u16()]
        } else {
            let options = format!("OPTIONS {CHAT} HTTP/1.1\r\nHost: front.test\r\n\r\n");
            let (options, _) = sidecar.connect().await.ask(options).await;
            [options.status(), sidecar.connect().await.ask(post(CHAT, &model)).await.0.status()]
        };
        assert_eq!(statuses, [503, 503], "{fast} {http2}");
        let (mut wishes, mut started) = (0, 0);
        while wishes == 0 || started == 0 {
            let (path, body) = within("the shim to be told", hears.recv()).await.expect("the shim listens");
            match path.as_str() {
                "/load" => wishes += 1,
                _ => started = body["started"].as_u64().expect("a number"),
            }
        }
        assert_eq!((wishes, started, engine.connections()), (1, 1, 0), "{fast} {http2}");
    }
}
