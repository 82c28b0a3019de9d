//! HTTP/2 callers, in the clear and over TLS: served by the engine only, with the same checks.

use crate::engine::{Engine, Journal, always, json, loading, repeat, said};
use crate::pipe::{CHAT, chat, pattern, within};
use crate::sidecar::{FRONTS, Front, Setup, Sidecar};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::{Request, Response};

pub(crate) struct Caller(pub(crate) SendRequest<Bytes>);

impl Caller {
    /// Over TLS by ALPN, otherwise with prior knowledge.
    pub(crate) async fn connect(sidecar: &Sidecar) -> Self {
        let conn = sidecar.connect_as(&["h2", "http/1.1"]).await;
        let (sender, connection) = within("a handshake", h2::client::handshake(conn.wire)).await.expect("HTTP/2");
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn ask(&self, request: Request<()>, body: &str) -> (http::response::Parts, Vec<u8>) {
        let mut sender = within("room for a stream", self.0.clone().ready()).await.expect("a stream");
        let (answer, mut sending) = sender.send_request(request, body.is_empty()).expect("a request");
        let mut rest = Bytes::copy_from_slice(body.as_bytes());
        while !rest.is_empty() {
            sending.reserve_capacity(rest.len());
            // Many callers lose an answer that closes the window before the end of the body.
            let room = within("room for the body", std::future::poll_fn(|cx| sending.poll_capacity(cx))).await;
            let room = room.expect("room, not a reset").expect("room, not an error");
            let piece = rest.split_to(room.min(rest.len()));
            sending.send_data(piece, rest.is_empty()).expect("the body is taken whole");
        }
        read(answer).await
    }
}

/// The whole answer.
pub(crate) async fn read(answer: ResponseFuture) -> (http::response::Parts, Vec<u8>) {
    let answer = within("an answer", answer).await.expect("an answer");
    let (head, mut stream) = Response::into_parts(answer);
    let mut bytes = Vec::new();
    while let Some(piece) = within("a body", stream.data()).await {
        let piece = piece.expect("a body");
        bytes.extend_from_slice(&piece);
        stream.flow_control().release_capacity(piece.len()).expect("flow control");
    }
    (head, bytes)
}

pub(crate) fn call(lines: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::post(format!("http://front.test{CHAT}")).header("content-type", "application/json");
    for (name, value) in lines {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request")
}

pub(crate) fn value<'h>(head: &'h http::response::Parts, name: &str) -> Vec<&'h str> {
    head.headers.get_all(name).iter().map(|value| value.to_str().expect("text")).collect()
}

struct Scene {
    sidecar: Sidecar,
    engine: Engine,
    seen: Journal,
    upstream: Engine,
}

async fn scene(front: Front, fast: bool, answer: String) -> Scene {
    let ((engine, seen), (upstream, _)) = (always(answer).await, always(said("x")).await);
    let url = format!("{}/v1", upstream.place.url());
    let sidecar = Setup::new(front, &engine.place).models(&url, "").fast_lane(fast).start().await;
    Scene { sidecar, engine, seen, upstream }
}

#[tokio::test]
async fn the_engine_serves_http_2_and_nothing_is_bridged() {
    let forged = loading().replace("Retry-After", "X-SIE-Served-By: remote\r\nX-SIE-Upstream: forged\r\nRetry-After");
    for (front, fast) in FRONTS.iter().flat_map(|front| [(*front, true), (*front, false)]) {
        let Scene { sidecar, seen, upstream, engine } = scene(front, fast, forged.clone()).await;
        let caller = Caller::connect(&sidecar).await;
        for model in ["org/hybrid", "org/unknown", "org/local"] {
            let request = call(&[("x-sie-served-by", "forged"), ("spillway-cause", "forged"), ("x-caller", "own")]);
            let (head, body) = caller.ask(request, &chat(model)).await;
            assert_eq!(head.status, 503);
            assert_eq!(value(&head, "x-sie-served-by"), ["local"], "{front:?} {fast}");
            assert_eq!(value(&head, "retry-after"), ["5"]);
            assert!(value(&head, "x-sie-upstream").is_empty() && value(&head, "x-sie-fallback-reason").is_empty());
            assert!(loading().ends_with(&*String::from_utf8_lossy(&body)));
            let seen = seen.last();
            assert_eq!(seen.body, chat(model).as_bytes());
            assert_eq!(seen.head.one("x-caller"), Some("own"));
            assert!(seen.head.all("x-sie-served-by").is_empty() && seen.head.all("spillway-cause").is_empty());
        }
        assert_eq!((upstream.connections(), engine.connections()), (0, 1));
    }
}

#[tokio::test]
async fn a_wrong_x_sie_remote_is_400_over_http_2() {
    let Scene { sidecar, engine, .. } = scene(Front::Plain, true, json("200 OK", "{}")).await;
    let caller = Caller::connect(&sidecar).await;
    let wrong: [&[(&str, &str)]; 4] = [
        &[("x-sie-remote", "allow")],
        &[("x-sie-remote", "forbid"), ("x-sie-remote", "forbid")],
        &[("x_sie_remote", "forbid")],
        &[("x-sie-remote", "")],
    ];
    for lines in wrong {
        let (head, _) = caller.ask(call(lines), &chat("org/local")).await;
        assert_eq!((head.status.as_u16(), value(&head, "x-sie-served-by").len()), (400, 0), "{lines:?}");
    }
    assert_eq!(engine.connections(), 0);
    // The connection goes on, and the one right word passes.
    let (head, _) = caller.ask(call(&[("x-sie-remote", "forbid")]), &chat("org/hybrid")).await;
    assert_eq!(head.status, 200);
}

#[tokio::test]
async fn a_remote_only_model_is_503_over_http_2() {
    for front in FRONTS {
        let Scene { sidecar, engine, upstream, .. } = scene(front, true, json("200 OK", "{}")).await;
        let caller = Caller::connect(&sidecar).await;
        for model in ["org/remote", "org/remote:default", "org/hybrid:remote"] {
            let (head, body) = caller.ask(call(&[]), &chat(model)).await;
            assert_eq!((head.status.as_u16(), value(&head, "retry-after")), (503, vec!["5"]), "{model}");
            let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(body["error"]["code"], "QUEUE_FULL");
        }
        assert_eq!((engine.connections(), upstream.connections()), (0, 0));
    }
}

#[tokio::test]
async fn large_bodies_pass_whole_over_http_2() {
    let big = String::from_utf8(pattern(1 << 20).iter().map(|byte| b'a' + byte % 26).collect()).expect("text");
    let answer = json("200 OK", &big);
    for front in FRONTS {
        let Scene { sidecar, seen, engine: _engine, .. } = scene(front, true, answer.clone()).await;
        let caller = Caller::connect(&sidecar).await;
        let filler = &big[..200_000];
        let body = format!(r#"{{"model":"org/hybrid","messages":[{{"role":"user","content":"{filler}"}}]}}"#);
        for _ in 0..3 {
            let (head, answer) = caller.ask(call(&[]), &body).await;
            assert_eq!(head.status, 200);
            assert!(answer == big.as_bytes(), "{front:?}: the answer was changed");
            assert!(seen.last().body == body.as_bytes(), "{front:?}: the body was changed");
        }
    }
}

/// Many streams of one connection at once, each with its own answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_do_not_mix() {
    let engine = Engine::tcp(|mut conn| async move {
        let journal = Journal::default();
        while let Some(seen) = journal.next(&mut conn).await {
            conn.send(json("200 OK", &String::from_utf8(seen.body).expect("text"))).await;
        }
    })
    .await;
    let sidecar = Setup::new(Front::Tls, &engine.place).start().await;
    let caller = Caller::connect(&sidecar).await;
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let caller = Caller(caller.0.clone());
            tokio::spawn(async move {
                let body = chat(&format!("model-{number}"));
                let (head, answer) = caller.ask(call(&[]), &body).await;
                assert_eq!((head.status.as_u16(), answer.as_slice()), (200, body.as_bytes()));
            })
        })
        .collect();
    for call in calls {
        call.await.expect("every stream is answered");
    }
}

/// Each event is there before the next is let go.
#[tokio::test]
async fn events_are_flushed_over_http_2() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let wait = gate.clone();
    let engine = Engine::tcp(move |mut conn| {
        let wait = wait.clone();
        async move {
            conn.head().await;
            conn.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            for number in 0..5 {
                wait.acquire().await.expect("the test lives").forget();
                conn.send(format!("9\r\ndata: {number}\n\n\r\n")).await;
            }
            conn.send("0\r\n\r\n").await;
        }
    })
    .await;
    for front in FRONTS {
        let sidecar = Setup::new(front, &engine.place).start().await;
        let caller = Caller::connect(&sidecar).await;
        let mut sender = within("a stream", caller.0.clone().ready()).await.expect("a stream");
        let request = Request::get("http://front.test/events").body(()).expect("a request");
        let (answer, _) = sender.send_request(request, true).expect("a request");
        let mut stream = within("an answer", answer).await.expect("an answer").into_body();
        for number in 0..5 {
            gate.add_permits(1);
            let event = within("an event", stream.data()).await.expect("an event").expect("an event");
            assert_eq!(event, format!("data: {number}\n\n"));
        }
        // The end may come as an empty frame.
        while let Some(piece) = within("the end", stream.data()).await {
            assert_eq!(piece.expect("an end, not a reset"), "");
        }
    }
}

/// The preface may come in pieces.
#[tokio::test]
async fn a_split_preface_is_a_preface() {
    let journal = Journal::default();
    let seen = journal.clone();
    let engine = Engine::tcp(move |conn| repeat(conn, seen.clone(), json("200 OK", "{}"))).await;
    let sidecar = Setup::new(Front::Plain, &engine.place).start().await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = b"\0\0\0\x04\0\0\0\0\0";
    for split in 1..preface.len() {
        let mut conn = sidecar.connect().await;
        conn.send(&preface[..split]).await;
        conn.send([&preface[split..], settings].concat()).await;
        let frame = conn.exactly(9).await;
        assert_eq!(frame[3], 4, "the first frame is SETTINGS");
    }
}
