//! A caller that does not read: what does it cost the process, and whom does it hold up?

use crate::engine::{Engine, json};
use crate::pipe::{Conn, get, pattern};
use crate::sidecar::{Front, Setup, Sidecar};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const SIZE: usize = 64 << 20;
const MOST_GROWTH: usize = 40 << 20;
const PIECE: usize = 64 << 10;

/// Answers `/flood` with 64 MB, counted as they are taken, and everything else at once.
async fn flood(taken: Arc<AtomicUsize>) -> Engine {
    Engine::tcp(move |mut conn| {
        let taken = taken.clone();
        async move {
            let piece = pattern(PIECE);
            while let Some(head) = conn.next_head().await {
                if head.path() != "/flood" {
                    conn.send(json("200 OK", "{}")).await;
                    continue;
                }
                conn.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n")).await;
                for _ in 0..SIZE / PIECE {
                    if conn.try_send(&piece).await.is_err() {
                        return;
                    }
                    taken.fetch_add(PIECE, Ordering::SeqCst);
                }
            }
        }
    })
    .await
}

/// Calls of another caller, until nothing of the flood has moved for many of them in a row.
async fn serve_others_until_still(sidecar: &Sidecar, taken: &AtomicUsize) {
    let mut conn = sidecar.connect().await;
    let (mut before, mut still) = (0, 0);
    while still < 200 {
        assert_eq!(conn.ask(get("/other")).await.0.status(), 200, "another caller is served meanwhile");
        let now = taken.load(Ordering::SeqCst);
        still = if now == before && now > 0 { still + 1 } else { 0 };
        before = now;
    }
}

async fn unread(fast: bool, front: Front) {
    let taken = Arc::new(AtomicUsize::new(0));
    let engine = flood(taken.clone()).await;
    let sidecar = Setup::new(front, &engine.place).fast_lane(fast).start().await;
    assert_eq!(sidecar.connect().await.ask(get("/other")).await.0.status(), 200);
    let before = sidecar.resident();
    let mut lazy = sidecar.connect().await;
    lazy.send(get("/flood")).await;
    serve_others_until_still(&sidecar, &taken).await;
    let growth = sidecar.resident().saturating_sub(before);
    assert!(growth < MOST_GROWTH, "{growth} bytes more are held for a caller that does not read");
    assert!(taken.load(Ordering::SeqCst) < SIZE, "the engine was read although nobody takes its answer");
    // It was only lazy: the rest is all there.
    let head = lazy.head().await;
    assert_eq!(head.one("content-length"), Some(&*SIZE.to_string()));
    read_flood(&mut lazy).await;
    let growth = sidecar.resident().saturating_sub(before);
    assert!(growth < MOST_GROWTH, "{growth} bytes more are held after the flood");
}

async fn read_flood(conn: &mut Conn) {
    let piece = pattern(PIECE);
    for _ in 0..SIZE / PIECE {
        assert!(conn.exactly(PIECE).await == piece, "the flood was changed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lazy_reader_over_tcp() {
    unread(true, Front::Plain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lazy_reader_over_tls() {
    unread(true, Front::Tls).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lazy_reader_over_a_unix_socket() {
    unread(true, Front::Unix).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lazy_reader_on_the_full_lane() {
    unread(false, Front::Plain).await;
}
