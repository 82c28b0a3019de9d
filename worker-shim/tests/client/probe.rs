//! A look shows what the engine tells, part by part, and asks for no more than there is.

use super::engine::{Reply, Script, Seen};
use super::{Address, Client, TcpSocket, start};
use spillway_filters::feed::State;
use spillway_filters::presets::{Call, Flag, Health, Method, ModelList, Origin, Queue, Watch};
use spillway_filters::sighting::Model;
use spillway_shim::probe::{Prober, Reach, Sighting};
use std::sync::atomic::{AtomicBool, Ordering};

const ORIGIN: Origin = Origin::inferred("a test");

static NO_PATH: Watch = Watch::USUAL;

static FULL: Watch = Watch {
    health: Some(Health { path: "/health", loading: &[], origin: ORIGIN }),
    models: Some(ModelList {
        call: Call { method: Method::Post, path: "/index", body: "{}", already: None, origin: ORIGIN },
        list: "",
        names: &["/name"],
        state: "/state",
        states: &[("ready", State::Ready)],
        failed: "",
        unlisted: None,
        optional_ending: "",
        never_listed: &[],
        gates: true,
    }),
    queue: Some(Queue { path: "/metrics", running: &["running"], waiting: &["waiting"], wakes: false, origin: ORIGIN }),
    asleep: Some(Flag { path: "/is_sleeping", pointer: "/is_sleeping", origin: ORIGIN }),
    ..Watch::USUAL
};

const OK: Reply = Reply::Close("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
const NOT_FOUND: Reply = Reply::Close("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
const FORBIDDEN: Reply = Reply::Close("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
const LOADING: Reply = Reply::Close("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n[]");

fn well(path: &str) -> Reply {
    match path {
        "/health" => OK,
        "/index" => Reply::Close("HTTP/1.1 200 OK\r\n\r\n[{\"name\":\"m\",\"state\":\"READY\"}]"),
        "/metrics" => Reply::Close("HTTP/1.1 200 OK\r\n\r\nrunning{a=\"b\"} 2.0\nwaiting 7\n"),
        "/is_sleeping" => Reply::Close("HTTP/1.1 200 OK\r\n\r\n{\"is_sleeping\":false}"),
        _ => NOT_FOUND,
    }
}

fn whole() -> Sighting {
    Sighting {
        busy: false,
        reach: Reach::Answered(200),
        models: Some(vec![Model { name: "m".to_owned(), state: State::Ready, failed: false }]),
        running: Some(2),
        waiting: Some(7),
        asleep: Some(false),
    }
}

#[tokio::test]
async fn a_look_shows_every_part() {
    let (mut engine, client) = start(well).await;
    assert_eq!(Prober::new(client, &FULL).look(true).await, whole());
    assert_eq!(engine.paths(), ["/health", "/index", "/is_sleeping", "/metrics"]);
}

#[tokio::test]
async fn the_queue_is_asked_only_when_it_is_to_be() {
    let (mut engine, client) = start(well).await;
    let wanted = Sighting { running: None, waiting: None, ..whole() };
    assert_eq!(Prober::new(client, &FULL).look(false).await, wanted);
    assert_eq!(engine.paths(), ["/health", "/index", "/is_sleeping"]);
}

#[tokio::test]
async fn where_nobody_answers_nothing_more_is_asked() {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = Address::Tcp(socket.local_addr().expect("it is bound").to_string());
    for watch in [&FULL, &NO_PATH] {
        let mut prober = Prober::new(Client::new(address.clone(), None), watch);
        assert_eq!(prober.look(true).await, Sighting::only(Reach::Refused));
    }
    let (mut engine, client) = start(|_| Reply::Close("")).await;
    assert_eq!(Prober::new(client, &FULL).look(true).await, Sighting::only(Reach::Silent));
    assert_eq!(engine.paths(), ["/health"]);
}

#[tokio::test]
async fn without_a_health_path_a_connection_is_enough() {
    let (mut engine, client) = start(|_| Reply::Close("")).await;
    assert_eq!(Prober::new(client, &NO_PATH).look(true).await, Sighting::only(Reach::Answered(200)));
    assert_eq!(engine.next().await, Seen::Opened);
    assert_eq!(engine.next().await, Seen::Ended, "no request was made");
}

#[tokio::test]
async fn a_part_that_fails_spoils_no_other() {
    let (_engine, client) =
        start(|path| if path == "/metrics" { Reply::Close("HTTP/1.1 200") } else { well(path) }).await;
    let wanted = Sighting { running: None, waiting: None, busy: true, ..whole() };
    assert_eq!(Prober::new(client, &FULL).look(true).await, wanted);
    let (_engine, client) = start(|path| if path == "/index" { LOADING } else { well(path) }).await;
    assert_eq!(Prober::new(client, &FULL).look(true).await, Sighting { models: None, ..whole() });
    let (_engine, client) = start(|path| if path == "/health" { LOADING } else { well(path) }).await;
    assert_eq!(Prober::new(client, &FULL).look(true).await, Sighting { reach: Reach::Answered(503), ..whole() });
}

#[tokio::test]
async fn what_a_well_engine_does_not_have_is_left_alone_for_a_while() {
    let (mut engine, client) = start(|path| if path == "/is_sleeping" { NOT_FOUND } else { well(path) }).await;
    let mut prober = Prober::new(client, &FULL);
    let wanted = Sighting { asleep: None, ..whole() };
    let mut asked = Vec::new();
    for look in 0..=61 {
        assert_eq!(prober.look(true).await, wanted);
        if engine.paths().contains(&"/is_sleeping".to_owned()) {
            asked.push(look);
        }
    }
    assert_eq!(asked, [0, 61]);
}

#[tokio::test]
async fn an_engine_that_loads_is_asked_for_everything_again() {
    static LOADED: AtomicBool = AtomicBool::new(false);
    let (_engine, client) = start(|path| match (LOADED.load(Ordering::Relaxed), path) {
        (true, path) => well(path),
        (false, "/health") => LOADING,
        (false, _) => NOT_FOUND,
    })
    .await;
    let mut prober = Prober::new(client, &FULL);
    assert_eq!(prober.look(true).await, Sighting::only(Reach::Answered(503)));
    LOADED.store(true, Ordering::Relaxed);
    assert_eq!(prober.look(true).await, whole());
}

#[tokio::test]
async fn a_queue_that_answers_with_an_error_may_be_busy_and_one_that_is_off_is_not() {
    let untold = |busy| Sighting { running: None, waiting: None, busy, ..whole() };
    let scripts: [(Script, bool); 3] = [
        (|path| if path == "/metrics" { LOADING } else { well(path) }, true),
        (|path| if path == "/metrics" { NOT_FOUND } else { well(path) }, false),
        (|path| if path == "/metrics" { FORBIDDEN } else { well(path) }, false),
    ];
    for (script, busy) in scripts {
        let (_engine, client) = start(script).await;
        assert_eq!(Prober::new(client, &FULL).look(true).await, untold(busy));
    }
}
