//! SIGTERM: what ends at once, what goes on to its end, and what is cut?

use crate::engine::{Engine, json};
use crate::pipe::{Conn, get, within};
use crate::sidecar::{FRONTS, Front, Setup, Sidecar};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Streams an event for each permit, and ends when `last` is let go.
async fn streaming(events: Arc<Semaphore>) -> Engine {
    Engine::tcp(move |mut conn| {
        let events = events.clone();
        async move {
            while let Some(head) = conn.next_head().await {
                if head.path() != "/events" {
                    conn.send(json("200 OK", "{}")).await;
                    continue;
                }
                conn.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                    .await;
                for _ in 0..5 {
                    events.acquire().await.expect("the test lives").forget();
                    if conn.try_send(b"9\r\ndata: x\n\n\r\n").await.is_err() {
                        return;
                    }
                }
                conn.send("0\r\n\r\n").await;
            }
        }
    })
    .await
}

async fn stream(sidecar: &Sidecar, events: &Semaphore) -> Conn {
    let mut conn = sidecar.connect().await;
    conn.send(get("/events")).await;
    assert_eq!(conn.head().await.status(), 200);
    events.add_permits(1);
    assert_eq!(conn.chunk().await, b"data: x\n\n");
    conn
}

async fn idle(sidecar: &Sidecar) -> Conn {
    let mut conn = sidecar.connect().await;
    assert_eq!(conn.ask(get("/")).await.0.status(), 200);
    conn
}

async fn until_not_ready(sidecar: &Sidecar) {
    // The signal is on its way: every answer until it has arrived is the old one.
    within("readiness to go", async { while sidecar.ready().await == 200 {} }).await;
    assert_eq!(sidecar.ready().await, 503);
}

async fn drains(fast: bool, front: Front) {
    let events = Arc::new(Semaphore::new(0));
    let engine = streaming(events.clone()).await;
    let mut sidecar = Setup::new(front, &engine.place).fast_lane(fast).start().await;
    let (mut idle_one, silent) = (idle(&sidecar).await, sidecar.connect().await);
    let mut conn = stream(&sidecar, &events).await;
    sidecar.terminate();
    until_not_ready(&sidecar).await;
    let mut silent = silent;
    assert!(idle_one.ends().await, "an idle connection closes while the stream goes on");
    assert!(silent.ends().await, "so does one that never asked");
    for _ in 1..5 {
        events.add_permits(1);
        assert_eq!(conn.chunk().await, b"data: x\n\n");
    }
    assert!(conn.chunk().await.is_empty(), "the stream came to its end");
    assert!(conn.ends().await, "no further request on this connection");
    assert_eq!(sidecar.exit().await, Some(0), "{}", sidecar.said());
    assert!(sidecar.said().contains("stopped") && !sidecar.said().contains("still in flight"), "{}", sidecar.said());
}

#[tokio::test]
async fn a_stream_goes_on_to_its_end() {
    for front in FRONTS {
        drains(true, front).await;
    }
}

#[tokio::test]
async fn a_stream_goes_on_to_its_end_on_the_full_lane() {
    for front in FRONTS {
        drains(false, front).await;
    }
}

#[tokio::test]
async fn with_nothing_in_flight_the_end_is_there_at_once() {
    let engine = streaming(Arc::new(Semaphore::new(0))).await;
    // Longer than anybody waits here: only an exit that waits for nothing passes.
    let setup = Setup::new(Front::Plain, &engine.place).tail("[drain]\nmax_s = 3600");
    let mut sidecar = setup.start().await;
    let mut idle = idle(&sidecar).await;
    sidecar.terminate();
    assert_eq!(sidecar.exit().await, Some(0));
    assert!(idle.ends().await);
}

#[tokio::test]
async fn a_second_signal_ends_everything_at_once() {
    let events = Arc::new(Semaphore::new(0));
    let engine = streaming(events.clone()).await;
    let setup = Setup::new(Front::Plain, &engine.place).tail("[drain]\nmax_s = 3600");
    let mut sidecar = setup.start().await;
    let mut conn = stream(&sidecar, &events).await;
    sidecar.terminate();
    until_not_ready(&sidecar).await;
    sidecar.terminate();
    assert_eq!(sidecar.exit().await, Some(0));
    assert!(conn.ends().await, "the stream was cut, not ended");
}

#[tokio::test]
async fn a_second_signal_ends_the_lame_duck_too() {
    let engine = streaming(Arc::new(Semaphore::new(0))).await;
    let setup = Setup::new(Front::Plain, &engine.place).tail("[drain]\nlame_duck_s = 3600");
    let mut sidecar = setup.start().await;
    sidecar.terminate();
    until_not_ready(&sidecar).await;
    // A lame duck still serves, new connections too.
    assert_eq!(sidecar.connect().await.ask(get("/")).await.0.status(), 200);
    sidecar.terminate();
    assert_eq!(sidecar.exit().await, Some(0));
}

#[tokio::test]
async fn the_deadline_cuts_an_endless_stream() {
    for fast in [true, false] {
        let events = Arc::new(Semaphore::new(0));
        let engine = streaming(events.clone()).await;
        let setup = Setup::new(Front::Plain, &engine.place).fast_lane(fast).tail("[drain]\nmax_s = 0.3");
        let mut sidecar = setup.start().await;
        let mut conn = stream(&sidecar, &events).await;
        sidecar.terminate();
        assert_eq!(sidecar.exit().await, Some(0));
        assert!(conn.ends().await, "a cut stream has no end of its own");
        assert!(sidecar.said().contains("still in flight"), "{}", sidecar.said());
    }
}

/// A tunnel is in flight too: it gets the time there is, and no more.
#[tokio::test]
async fn a_tunnel_is_cut_at_the_deadline() {
    let engine = Engine::tcp(|mut conn| async move {
        conn.head().await;
        conn.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n").await;
        let echo = conn.exactly(1).await;
        conn.send(echo).await;
        conn.rest().await;
    })
    .await;
    let setup = Setup::new(Front::Plain, &engine.place).tail("[drain]\nmax_s = 0.3");
    let mut sidecar = setup.start().await;
    let mut conn = sidecar.connect().await;
    conn.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n").await;
    assert_eq!(conn.head().await.status(), 101);
    sidecar.terminate();
    until_not_ready_or_gone(&sidecar).await;
    let _ = conn.try_send(b"x").await;
    assert_eq!(sidecar.exit().await, Some(0));
}

async fn until_not_ready_or_gone(sidecar: &Sidecar) {
    within("the signal to arrive", async {
        while let Ok(wire) = sidecar.admin.connect().await {
            let mut conn = Conn::new(wire);
            if conn.try_send(get("/readyz").as_bytes()).await.is_err() {
                return;
            }
            if conn.next_head().await.is_none_or(|head| head.status() == 503) {
                return;
            }
        }
    })
    .await;
}
