//! Both lanes, three fronts, two ways to the engine: is what the caller gets what the engine sent, and who served it?

use crate::engine::{Engine, Journal, Socket};
use crate::pipe::{CHAT, Conn, Head, chat, get, pattern, post};
use crate::sidecar::{Front, Setup, Sidecar};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What must not get through from either side.
const FORGED: &str = "X-SIE-Served-By: remote\r\nX-SIE-Upstream: forged\r\nx-sie-fallback-reason: forged\r\n\
                      X-SIE-Fallback-Error: FORGED\r\nSpillway-Cause: forged\r\nSpillway-Equivalence: forged\r\n";
const OURS: [&str; 6] = [
    "x-sie-served-by",
    "x-sie-upstream",
    "x-sie-fallback-reason",
    "x-sie-fallback-error",
    "spillway-cause",
    "spillway-equivalence",
];
const SMALL: &str = r#"{"text":"small"}"#;
const EVENTS: usize = 5;

fn head(lines: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nX-Mixed-Case: Kept As Sent\r\n{lines}\r\n")
}

/// One engine that has an answer for each path. An event goes out only when the test has let it go.
async fn engine(socket: Socket, folder: &std::path::Path, journal: Journal, events: Arc<Semaphore>) -> Engine {
    Engine::listen(socket, folder, None, move |conn| answer(conn, journal.clone(), events.clone())).await
}

async fn answer(mut conn: Conn, journal: Journal, events: Arc<Semaphore>) {
    while let Some(seen) = journal.next(&mut conn).await {
        match seen.head.path() {
            "/big" => {
                let body = pattern(1 << 20);
                conn.send(head(&format!("{FORGED}Content-Length: {}\r\n", body.len()))).await;
                conn.send(body).await;
            }
            "/chunked" => {
                conn.send(head(&format!("Transfer-Encoding: chunked\r\n{FORGED}"))).await;
                conn.send("5;with=extension\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n").await;
            }
            "/head" => conn.send(head(&format!("Content-Length: 4242\r\n{FORGED}"))).await,
            "/events" => {
                conn.send(head("Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n")).await;
                for number in 0..EVENTS {
                    events.acquire().await.expect("the test lives").forget();
                    let event = format!("data: {number}\n\n");
                    conn.send(format!("{:x}\r\n{event}\r\n", event.len())).await;
                }
                conn.send("0\r\n\r\n").await;
            }
            _ => {
                let length = SMALL.len();
                conn.send(
                    head(&format!("{FORGED}Content-Type: application/json\r\nContent-Length: {length}\r\n")) + SMALL,
                )
                .await;
            }
        }
    }
}

/// Exactly `local` and nothing that an engine forged.
fn disclosed(head: &Head) {
    assert_eq!(head.status(), 200, "{head:?}");
    assert_eq!(head.one("x-sie-served-by"), Some("local"), "{head:?}");
    assert_eq!(head.one("x-mixed-case"), Some("Kept As Sent"));
    for name in &OURS[1..] {
        assert!(head.all(name).is_empty(), "forged {name} got through: {head:?}");
    }
}

async fn small_posts(conn: &mut Conn, journal: &Journal, fast: bool) {
    let body = chat("org/any");
    let request = post(CHAT, &body).replace("Host:", &format!("{FORGED}X-Caller: Own\r\nHost:"));
    for _ in 0..20 {
        let (head, answer) = conn.ask(&request).await;
        disclosed(&head);
        assert_eq!(answer, SMALL.as_bytes());
        if fast {
            // To the byte, case and order included.
            assert_eq!(
                head.0,
                format!(
                    "HTTP/1.1 200 OK\r\nX-Mixed-Case: Kept As Sent\r\nContent-Type: application/json\r\nContent-Length: {}\r\nX-SIE-Served-By: local\r\n\r\n",
                    SMALL.len()
                )
            );
        }
        let seen = journal.last();
        assert_eq!(seen.body, body.as_bytes());
        assert_eq!(seen.head.one("x-caller"), Some("Own"));
        assert_eq!(seen.head.one("host"), Some("front.test"));
        for name in OURS {
            assert!(seen.head.all(name).is_empty(), "the engine saw a forged {name}: {:?}", seen.head);
        }
    }
    assert_eq!(journal.len(), 20);
}

async fn answers(conn: &mut Conn) {
    let (head, body) = conn.ask(get("/big")).await;
    disclosed(&head);
    assert!(body == pattern(1 << 20), "a large answer was changed");
    let (head, body) = conn.ask(get("/chunked")).await;
    disclosed(&head);
    assert_eq!(body, b"firstsecond");
    conn.send(get("/head").replace("GET", "HEAD")).await;
    let head = conn.head().await;
    disclosed(&head);
    assert_eq!(head.one("content-length"), Some("4242"));
}

async fn large_post(conn: &mut Conn, journal: &Journal) {
    let body = pattern(8 << 20);
    let length = body.len();
    conn.send(format!("POST /upload HTTP/1.1\r\nHost: front.test\r\nContent-Length: {length}\r\n\r\n")).await;
    conn.send(&body).await;
    let head = conn.head().await;
    disclosed(&head);
    assert_eq!(conn.body(&head).await, SMALL.as_bytes());
    assert!(journal.last().body == body, "a large body was changed");
}

async fn events(conn: &mut Conn, gate: &Semaphore) {
    conn.send(get("/events")).await;
    let head = conn.head().await;
    disclosed(&head);
    for number in 0..EVENTS {
        gate.add_permits(1);
        let event = format!("data: {number}\n\n");
        let mut seen = Vec::new();
        while seen.len() < event.len() {
            seen.extend(conn.chunk().await);
        }
        assert_eq!(seen, event.as_bytes());
    }
    assert!(conn.chunk().await.is_empty());
}

async fn combination(fast: bool, front: Front, socket: Socket) {
    let folder = tempfile::Builder::new().prefix("spw").tempdir().expect("a folder");
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let engine = engine(socket, folder.path(), journal.clone(), gate.clone()).await;
    let sidecar: Sidecar = Setup::in_folder(front, &engine.place.url(), folder).fast_lane(fast).start().await;
    let mut conn = sidecar.connect().await;
    small_posts(&mut conn, &journal, fast).await;
    // Still the same connection: everything below finds it in step.
    answers(&mut conn).await;
    large_post(&mut conn, &journal).await;
    events(&mut conn, &gate).await;
    let (head, _) = conn.ask(post(CHAT, &chat("org/any"))).await;
    disclosed(&head);
    assert_eq!(engine.connections(), 1, "connections to the engine are used again");
}

async fn lane(fast: bool, front: Front) {
    combination(fast, front, Socket::Tcp).await;
    combination(fast, front, Socket::Unix).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fast_lane_over_tcp() {
    lane(true, Front::Plain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fast_lane_over_tls() {
    lane(true, Front::Tls).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fast_lane_over_a_unix_socket() {
    lane(true, Front::Unix).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_full_lane_over_tcp() {
    lane(false, Front::Plain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_full_lane_over_tls() {
    lane(false, Front::Tls).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_full_lane_over_a_unix_socket() {
    lane(false, Front::Unix).await;
}

/// Many callers at once, with one worker for each core and with two.
async fn crowd(workers: usize) {
    const CALLERS: usize = 100;
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let folder = tempfile::Builder::new().prefix("spw").tempdir().expect("a folder");
    let engine = engine(Socket::Tcp, folder.path(), journal.clone(), gate).await;
    let setup = Setup::in_folder(Front::Plain, &engine.place.url(), folder);
    let sidecar = Arc::new(setup.listen(&format!("workers = {workers}")).start().await);
    let together = Arc::new(tokio::sync::Barrier::new(CALLERS));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (sidecar, together) = (sidecar.clone(), together.clone());
            tokio::spawn(async move {
                let mut conn = sidecar.connect().await;
                together.wait().await;
                for call in 0..20 {
                    let (head, body) = conn.ask(post(CHAT, &chat(&format!("m-{caller}-{call}")))).await;
                    disclosed(&head);
                    assert_eq!(body, SMALL.as_bytes());
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("every caller is served");
    }
    assert_eq!(journal.len(), CALLERS * 20, "each call reached the engine once");
    let mut bodies: Vec<_> = journal.all().into_iter().map(|seen| seen.body).collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), CALLERS * 20, "no call was sent in place of another");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_for_each_core() {
    crowd(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers() {
    crowd(2).await;
}
