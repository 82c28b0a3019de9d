//! `fast_lane = false`: does the stock lane keep the promises that hold on both?

use crate::engine::{Engine, Journal, always, json, loading, said};
use crate::pipe::{CHAT, chat, get, pattern, post, within};
use crate::sidecar::{Front, Setup};
use crate::versions::WRONG_REMOTE;
use std::sync::Arc;
use tokio::sync::Semaphore;

#[tokio::test]
async fn nothing_is_bridged_and_nothing_remote_is_sent_to_the_engine() {
    let ((engine, seen), (upstream, _)) = (always(loading()).await, always(said("x")).await);
    let url = format!("{}/v1", upstream.place.url());
    let sidecar = Setup::new(Front::Plain, &engine.place).models(&url, "").fast_lane(false).start().await;
    let mut conn = sidecar.connect().await;
    let (head, body) = conn.ask(post(CHAT, &chat("org/hybrid"))).await;
    assert_eq!((head.status(), head.one("x-sie-served-by")), (503, Some("local")), "{head:?}");
    assert_eq!((head.one("retry-after"), head.one("x-sie-fallback-reason")), (Some("5"), None));
    assert!(loading().ends_with(&*String::from_utf8_lossy(&body)), "the refusal passes as it came");
    for model in ["org/remote", "org/hybrid:remote"] {
        let (head, _) = sidecar.connect().await.ask(post(CHAT, &chat(model))).await;
        assert_eq!(head.status(), 503, "{head:?}");
        assert!(head.one("retry-after").is_some());
    }
    for lines in WRONG_REMOTE {
        let request = post(CHAT, &chat("org/local")).replace("Host:", &format!("{lines}Host:"));
        assert_eq!(sidecar.connect().await.ask(request).await.0.status(), 400, "{lines:?}");
    }
    assert_eq!((seen.len(), upstream.connections()), (1, 0));
}

#[tokio::test]
async fn a_large_body_of_a_configured_model_passes_whole() {
    let ((engine, seen), (upstream, _)) = (always(json("200 OK", "{}")).await, always(said("x")).await);
    let url = format!("{}/v1", upstream.place.url());
    for front in [Front::Plain, Front::Tls, Front::Unix] {
        let setup = Setup::new(front, &engine.place).models(&url, "");
        let sidecar = setup.fast_lane(false).start().await;
        let filler: String = pattern(200_000).iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        let body = format!(r#"{{"model":"org/hybrid","messages":[{{"role":"user","content":"{filler}"}}]}}"#);
        let request = post(CHAT, &body);
        let head_len = request.len() - body.len();
        for first in [0, 1, 14, 30_000, 47_000, 65_000, body.len()] {
            let mut conn = sidecar.connect().await;
            conn.send(&request[..head_len + first]).await;
            conn.send(&request[head_len + first..]).await;
            assert_eq!(conn.head().await.status(), 200, "{front:?} {first}");
            assert!(seen.last().body == body.as_bytes(), "{front:?} {first}: the body was changed");
        }
    }
}

/// An engine that was never there is starting; one that was there is unreachable. The same on both lanes.
#[tokio::test]
async fn an_engine_that_is_gone_is_told_from_one_that_never_came() {
    for fast in [true, false] {
        let journal = Journal::default();
        let seen = journal.clone();
        let engine = Engine::tcp(move |mut conn| {
            let seen = seen.clone();
            async move {
                seen.next(&mut conn).await;
                conn.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}").await;
            }
        })
        .await;
        // An address that nobody listens at: its listener was dropped.
        let nowhere = always("").await.0.place.clone();
        let never = Setup::new(Front::Plain, &nowhere).fast_lane(fast).start().await;
        let (head, body) = never.connect().await.ask(post(CHAT, &chat("org/any"))).await;
        assert_eq!((head.status(), head.one("retry-after")), (503, Some("5")), "fast {fast}: {head:?}");
        assert!(String::from_utf8_lossy(&body).contains("PROVISIONING"), "fast {fast}");
        let sidecar = Setup::new(Front::Plain, &engine.place).fast_lane(fast).start().await;
        assert_eq!(sidecar.connect().await.ask(get("/")).await.0.status(), 200);
        drop(engine);
        let (head, body) = sidecar.connect().await.ask(post(CHAT, &chat("org/any"))).await;
        assert_eq!((head.status(), head.one("x-sie-served-by")), (503, Some("local")), "fast {fast}: {head:?}");
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains("ENGINE_UNREACHABLE"), "fast {fast}: {body}");
    }
}

/// An engine that breaks off on a connection that was used before may have begun the work.
#[tokio::test]
async fn nothing_runs_twice_on_a_used_connection() {
    for fast in [true, false] {
        let journal = Journal::default();
        let seen = journal.clone();
        let engine = Engine::tcp(move |mut conn| {
            let seen = seen.clone();
            async move {
                seen.next(&mut conn).await;
                conn.send(json("200 OK", "{}")).await;
                seen.next(&mut conn).await;
            }
        })
        .await;
        for request in [post(CHAT, &chat("org/any")), get("/v1/anything")] {
            let sidecar = Setup::new(Front::Plain, &engine.place).fast_lane(fast).start().await;
            let before = journal.len();
            let mut conn = sidecar.connect().await;
            assert_eq!(conn.ask(&request).await.0.status(), 200);
            let mut conn = sidecar.connect().await;
            let (head, _) = conn.ask(&request).await;
            assert_eq!(head.status(), 502, "fast {fast}: {head:?}");
            assert_eq!(journal.len(), before + 2, "fast {fast}: a request reached the engine twice");
        }
    }
}

/// What the engine's base URL puts before every path, on both lanes and with a query.
#[tokio::test]
async fn the_engines_base_path_stands_before_every_path() {
    let (engine, seen) = always(json("200 OK", "{}")).await;
    for fast in [true, false] {
        let folder = tempfile::Builder::new().prefix("spw").tempdir().expect("a folder");
        let base_url = format!("{}/base/path", engine.place.url());
        let sidecar = Setup::in_folder(Front::Plain, &base_url, folder).fast_lane(fast).start().await;
        assert_eq!(sidecar.connect().await.ask(get("/v1/anything?a=1&b=%20")).await.0.status(), 200);
        assert_eq!(seen.last().head.path(), "/base/path/v1/anything?a=1&b=%20", "fast {fast}");
        assert_eq!(sidecar.connect().await.ask(post(CHAT, &chat("org/any"))).await.0.status(), 200);
        assert_eq!(seen.last().head.path(), "/base/path/v1/chat/completions", "fast {fast}");
    }
}

/// `max_in_flight` counts what either lane has at the engine.
#[tokio::test]
async fn the_engine_is_asked_by_no_more_than_max_in_flight() {
    for fast in [true, false] {
        let (told, release) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (tell, wait) = (told.clone(), release.clone());
        let engine = Engine::tcp(move |mut conn| {
            let (tell, wait) = (tell.clone(), wait.clone());
            async move {
                while conn.next_head().await.is_some() {
                    tell.add_permits(1);
                    wait.acquire().await.expect("the test lives").forget();
                    conn.send(json("200 OK", "{}")).await;
                }
            }
        })
        .await;
        let setup = Setup::new(Front::Plain, &engine.place).fast_lane(fast);
        let sidecar = setup.tail("max_in_flight = 1").start().await;
        let mut first = sidecar.connect().await;
        first.send(get("/slow")).await;
        within("the first to reach the engine", told.acquire()).await.expect("the test lives").forget();
        let (head, body) = sidecar.connect().await.ask(post(CHAT, &chat("org/any"))).await;
        assert_eq!((head.status(), head.one("retry-after")), (503, Some("1")), "fast {fast}: {head:?}");
        assert_eq!(head.one("x-sie-served-by"), Some("local"), "fast {fast}");
        assert!(String::from_utf8_lossy(&body).contains("QUEUE_FULL"), "fast {fast}");
        release.add_permits(2);
        assert_eq!(first.head().await.status(), 200);
        // Its place is free again, once its answer has passed.
        drop(first);
        let asked = async { while sidecar.connect().await.ask(get("/again")).await.0.status() == 503 {} };
        within("room at the engine", asked).await;
    }
}

/// An engine that takes a request and stays silent is given up, and nobody else is asked.
#[tokio::test]
async fn a_silent_engine_is_given_up() {
    for fast in [true, false] {
        let engine = Engine::tcp(|mut conn| async move {
            conn.rest().await;
        })
        .await;
        let setup = Setup::new(Front::Plain, &engine.place).fast_lane(fast);
        let sidecar = setup.tail("timeouts = { first_byte_s = 0.2, idle_s = 0.2 }").start().await;
        let (head, body) = sidecar.connect().await.ask(post(CHAT, &chat("org/any"))).await;
        assert_eq!((head.status(), head.one("x-sie-served-by")), (504, Some("local")), "fast {fast}: {head:?}");
        assert!(String::from_utf8_lossy(&body).contains("ENGINE_TIMEOUT"), "fast {fast}");
        assert_eq!(engine.connections(), 1);
    }
}
