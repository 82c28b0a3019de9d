//! What the shim's socket answers, and what it asks of the loop behind it.

#[path = "socket/stage.rs"]
mod stage;

use spillway_filters::feed::{Activity, Condition, MAX_SNAPSHOT_BYTES, State, Wish};
use spillway_shim::asked::{Asked, Refused, Reply};
use spillway_shim::config::Address;
use spillway_shim::process::Process;
use spillway_shim::serve::{Socket, Told};
use stage::{Stage, post, snapshot, soon};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn the_state_is_the_newest_snapshot() {
    let stage = Stage::new();
    let answer = stage.get("/state").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(
        answer.body,
        r#"{"seq":1,"preset":"vllm","engine":{"state":"ready"},"models":{},"gates":false,"restarts":0}"#
    );
    stage.publish(2, State::Loading);
    assert_eq!(stage.get("/state").await.snapshot(), snapshot(2, State::Loading));
}

#[tokio::test(start_paused = true)]
async fn what_is_on_its_way_has_come_nearer_when_somebody_asks_later() {
    let stage = Stage::new();
    let in_ms = |state, ready_in_ms| Condition { ready_in_ms: Some(ready_in_ms), ..Condition::of(state) };
    let mut told = snapshot(2, State::Loading);
    told.engine = in_ms(State::Loading, 10_000);
    told.models.insert("on its way".into(), in_ms(State::Starting, 1_000));
    told.models.insert("asleep".into(), in_ms(State::Asleep, 1_000));
    stage.tell(told);
    tokio::time::advance(Duration::from_secs(4)).await;
    let mut caller = stage.open().await;
    caller.subscribe("/state/stream").await;
    for seen in [stage.get("/state").await.snapshot(), caller.event().await] {
        let left = |condition: &Condition| condition.ready_in_ms.expect("a time");
        assert!(left(&seen.engine) <= 6_000 && left(&seen.engine) > 0, "{seen:?}");
        assert_eq!((left(&seen.models["on its way"]), left(&seen.models["asleep"])), (0, 1_000));
    }
}

#[tokio::test]
async fn a_stream_begins_with_the_whole_state_and_tells_each_change() {
    let mut stage = Stage::new();
    let mut caller = stage.open().await;
    caller.subscribe("/state/stream?as=side-car_1.0").await;
    assert!(matches!(stage.asked().await, Asked::Subscribed(name) if name == "side-car_1.0"));
    assert_eq!(caller.event().await, snapshot(1, State::Ready));
    for (seq, state) in [(2, State::Draining), (3, State::Asleep)] {
        stage.publish(seq, state);
        assert_eq!(caller.event().await, snapshot(seq, state));
    }
    drop(caller);
    assert!(matches!(stage.asked().await, Asked::Left(name) if name == "side-car_1.0"));
}

#[tokio::test]
async fn the_loop_knows_of_a_subscriber_before_the_first_event() {
    let mut stage = Stage::with_room_for(1);
    // The one place is taken, so the subscription waits, and so does its answer.
    let mut first = stage.open().await;
    first.subscribe("/state/stream?as=first").await;
    first.event().await;
    let mut second = stage.open().await;
    second.send("GET /state/stream?as=second HTTP/1.1\r\nHost: shim\r\n\r\n").await;
    // Others are not held meanwhile.
    assert_eq!(stage.get("/state").await.status, 200);
    stage.publish(2, State::Loading);
    assert!(matches!(stage.asked().await, Asked::Subscribed(name) if name == "first"));
    assert!(second.head().await.starts_with("HTTP/1.1 200 "));
    assert_eq!(second.event().await.seq, 2);
}

#[tokio::test]
async fn a_stream_without_a_name_is_nobodys() {
    let mut stage = Stage::new();
    let mut caller = stage.open().await;
    caller.subscribe("/state/stream?other=1").await;
    assert_eq!(caller.event().await.seq, 1);
    drop(caller);
    assert_eq!(stage.post("/activity", r#"{"as":"a","seq":1,"in_flight":0,"started":0}"#).await.status, 204);
    assert!(matches!(stage.asked().await, Asked::Activity(_)), "nothing else was said before");
}

#[tokio::test]
async fn names_of_subscribers_are_short_and_plain() {
    let stage = Stage::new();
    let long = "a".repeat(65);
    for name in ["", "a%20b", "a/b", "\u{e9}", &long] {
        let answer = stage.get(&format!("/state/stream?as={name}")).await;
        assert_eq!(answer.status, 400, "{name}");
        if name != "\u{e9}" {
            assert_eq!(answer.error().0, "BAD_NAME", "{name}");
        }
    }
    let activity = format!(r#"{{"as":"{long}","seq":1,"in_flight":0,"started":0}}"#);
    assert_eq!(stage.post("/activity", &activity).await.error().0, "BAD_NAME");
    let mut caller = stage.open().await;
    caller.subscribe(&format!("/state/stream?as={}", "a".repeat(64))).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_says_that_it_lives() {
    let stage = Stage::new();
    let mut caller = stage.open().await;
    caller.subscribe("/state/stream").await;
    caller.event().await;
    assert_eq!(caller.block().await, ":");
    stage.publish(2, State::Asleep);
    assert_eq!(caller.event().await.seq, 2);
    assert_eq!(caller.block().await, ":");
}

#[tokio::test]
async fn a_slow_reader_is_given_the_newest_and_holds_nobody() {
    let stage = Stage::new();
    let (mut slow, mut quick) = (stage.open().await, stage.open().await);
    slow.subscribe("/state/stream").await;
    quick.subscribe("/state/stream").await;
    slow.event().await;
    quick.event().await;
    // Large enough to fill what the system holds for a reader that does not read.
    let progress = "x".repeat(MAX_SNAPSHOT_BYTES / 32);
    for seq in 2..=40 {
        let mut large = snapshot(seq, State::Loading);
        large.engine.progress = Some(progress.clone());
        stage.tell(large);
        assert_eq!(quick.event().await.seq, seq, "the quick one misses nothing");
    }
    let mut seen = vec![slow.event().await.seq];
    while seen.last() != Some(&40) {
        seen.push(slow.event().await.seq);
    }
    assert!(seen.len() < 10, "what was in between is left out: {seen:?}");
    assert!(seen.is_sorted(), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stalls_is_let_go() {
    let mut stage = Stage::new();
    let mut dead = stage.open().await;
    dead.send("GET /state/stream?as=dead HTTP/1.1\r\nHost: shim\r\n\r\n").await;
    assert!(matches!(stage.asked().await, Asked::Subscribed(_)));
    let mut large = snapshot(2, State::Loading);
    large.engine.progress = Some("x".repeat(MAX_SNAPSHOT_BYTES));
    stage.tell(large);
    assert!(matches!(stage.asked().await, Asked::Left(name) if name == "dead"));
}

#[tokio::test]
async fn a_wish_is_answered_by_the_loop_with_the_state_that_it_left() {
    let mut stage = Stage::new();
    for (path, body, reply, status) in [
        ("/load", "", Reply::Done, 200),
        ("/load", r#"{"model":"org/m","later":1}"#, Reply::Begun, 202),
        ("/sleep", "{}", Reply::Begun, 202),
        ("/sleep", r#"{"model":"org/m"}"#, Reply::Done, 200),
    ] {
        let mut caller = stage.open().await;
        caller.send(&post(path, body)).await;
        let (wish, answer) = match (path, stage.asked().await) {
            ("/load", Asked::Load(wish, answer)) | ("/sleep", Asked::Sleep(wish, answer)) => (wish, answer),
            (_, other) => panic!("{path} became {other:?}"),
        };
        assert_eq!(wish, Wish { model: body.contains("org/m").then(|| "org/m".into()) });
        stage.publish(7, State::Loading);
        answer.send(reply).expect("somebody waits");
        let answer = caller.answer().await;
        assert_eq!(answer.status, status, "{path} {body}");
        assert_eq!(answer.snapshot(), snapshot(7, State::Loading));
    }
}

#[tokio::test]
async fn a_wish_that_is_refused_says_why_and_when() {
    let mut stage = Stage::new();
    for retry_after_s in [Some(60), None] {
        let mut caller = stage.open().await;
        caller.send(&post("/load", "")).await;
        let Asked::Load(_, answer) = stage.asked().await else { panic!("a load") };
        let refused = Refused { status: 503, code: "LOAD_FAILED", message: "It fails \"always\".", retry_after_s };
        answer.send(Reply::Refused(refused)).expect("somebody waits");
        let answer = caller.answer().await;
        assert_eq!(answer.status, 503);
        assert_eq!(answer.body, r#"{"error":{"code":"LOAD_FAILED","message":"It fails \"always\"."}}"#);
        assert_eq!(answer.header("retry-after"), retry_after_s.map(|_| "60"));
    }
}

#[tokio::test]
async fn activity_reaches_the_loop() {
    let mut stage = Stage::new();
    let answer = stage.post("/activity", r#"{"as":"sidecar","seq":3,"in_flight":2,"started":9}"#).await;
    assert_eq!((answer.status, &*answer.body), (204, ""));
    let Asked::Activity(activity) = stage.asked().await else { panic!("an activity") };
    assert_eq!(activity, Activity { r#as: "sidecar".into(), seq: 3, in_flight: 2, started: 9 });
}

#[tokio::test]
async fn what_cannot_be_understood_is_refused_with_what_to_do_instead() {
    let stage = Stage::new();
    let large = "x".repeat(64 * 1024 + 1);
    let long = format!(r#"{{"model":"{}"}}"#, "m".repeat(513));
    for (path, body, status, code) in [
        ("/load", "{", 400, "BAD_BODY"),
        ("/load", r#"{"model":7}"#, 400, "BAD_BODY"),
        ("/sleep", "[]x", 400, "BAD_BODY"),
        ("/load", "[]", 400, "BAD_BODY"),
        ("/sleep", r#" ["m"]"#, 400, "BAD_BODY"),
        ("/load", r#"{"model":""}"#, 400, "BAD_NAME"),
        ("/sleep", &long, 400, "BAD_NAME"),
        ("/activity", r#"["a",1,0,0]"#, 400, "BAD_BODY"),
        ("/activity", "", 400, "BAD_BODY"),
        ("/activity", r#"{"as":"a"}"#, 400, "BAD_BODY"),
        ("/load", &large, 413, "BODY_TOO_LARGE"),
    ] {
        let answer = stage.post(path, body).await;
        assert_eq!((answer.status, &*answer.error().0), (status, code), "{path}");
    }
    let paths = "the paths are GET /state, GET /state/stream, GET /log, POST /load, POST /sleep and POST /activity";
    let answer = stage.get("/status").await;
    assert_eq!((answer.status, answer.error()), (404, ("NOT_FOUND".into(), paths.into())));
    let answer = stage.get("/load").await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_eq!(answer.error(), ("METHOD_NOT_ALLOWED".into(), paths.into()));
    let answer = stage.post("/state", "").await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET")));
}

#[tokio::test]
async fn a_page_in_a_browser_loads_and_reads_nothing() {
    let address = Address::Tcp("127.0.0.1:0".into());
    let mut stage = Stage::at(Socket::bind(&address, 0o600).expect("it binds"), 16);
    for (request, wanted) in [
        ("POST /load HTTP/1.1\r\nHost: 127.0.0.1:9903\r\nOrigin: https://a.example\r\nContent-Length: 0", 403),
        ("GET /log HTTP/1.1\r\nHost: 127.0.0.1:9903\r\nSec-Fetch-Site: cross-site", 403),
        ("GET /log HTTP/1.1\r\nHost: a.example:9903", 403),
        ("GET /log HTTP/1.1\r\nHost: 10.0.0.1", 403),
        ("GET /log HTTP/1.1\r\nAccept: */*", 403),
        ("GET /log HTTP/1.1\r\nHost: 127.0.0.1:9903", 200),
        ("GET /log HTTP/1.1\r\nHost: LocalHost", 200),
        ("GET /log HTTP/1.1\r\nHost: [::1]:9903", 200),
    ] {
        let answer = stage.exchange(&format!("{request}\r\n\r\n")).await;
        assert_eq!(answer.status, wanted, "{request}");
        if wanted == 403 {
            assert_eq!(answer.error().0, "FORBIDDEN");
        }
    }
    assert!(stage.asked.try_recv().is_err());
}

#[tokio::test]
async fn the_log_is_the_last_lines_as_plain_text() {
    let stage = Stage::new();
    let answer = stage.get("/log").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert_eq!(answer.body, "");
    let mut written = stage.output.changed();
    let command = ["sh", "-c", "echo one; echo two"].map(OsString::from);
    let _process = Process::start(&command, &stage.output).expect("a shell");
    soon(written.changed()).await.expect("it writes");
    assert_eq!(stage.get("/log").await.body, "one\ntwo\n");
}

#[tokio::test]
async fn without_a_loop_every_answer_is_503_and_streams_end() {
    let mut stage = Stage::new();
    let mut stream = stage.open().await;
    stream.subscribe("/state/stream").await;
    stream.event().await;
    let mut waiting = stage.open().await;
    waiting.send(&post("/load", "")).await;
    let Asked::Load(_, reply) = stage.asked().await else { panic!("a load") };
    drop(reply);
    assert_eq!(waiting.answer().await.status, 503);
    stage.asked.close();
    for answer in [stage.get("/state").await, stage.get("/state/stream?as=a").await, stage.post("/sleep", "").await] {
        assert_eq!((answer.status, answer.error().0), (503, "ENDING".into()));
    }
    stage.publish(9, State::Draining);
    let (state, _) = tokio::sync::watch::channel(Arc::new(Told::new(snapshot(0, State::Absent))));
    drop(std::mem::replace(&mut stage.state, state));
    assert_eq!(stream.event().await.seq, 9, "the last state is told");
    assert_eq!(stream.end().await, "0\r\n\r\n");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_come_is_not_waited_for() {
    let stage = Stage::new();
    for part in ["", "GET /state HTT", "POST /load HTTP/1.1\r\nHost: shim\r\nContent-Length: 5\r\n\r\n{"] {
        let mut caller = stage.open().await;
        caller.send(part).await;
        let end = caller.end().await;
        assert!(!end.contains("HTTP/1.1 2"), "{part:?}: {end}");
    }
}

#[tokio::test]
async fn one_more_connection_than_there_is_room_for_waits_and_is_served() {
    let stage = Stage::new();
    let mut streams = Vec::new();
    for _ in 0..48 {
        let mut caller = stage.open().await;
        caller.subscribe("/state/stream").await;
        streams.push(caller);
    }
    // One stream more is refused; what is short has its place.
    let refused = stage.get("/state/stream?as=late").await;
    assert_eq!((refused.status, refused.error().0.as_str()), (503, "TOO_MANY_STREAMS"));
    let mut idle = Vec::new();
    for _ in 48..64 {
        let mut caller = stage.open().await;
        caller.send("GET /state HTTP/1.1\r\nHost: shim\r\n\r\n").await;
        assert_eq!(caller.answer().await.status, 200);
        idle.push(caller);
    }
    let mut late = stage.open().await;
    late.send("GET /state/stream HTTP/1.1\r\nHost: shim\r\n\r\n").await;
    // Each of the others is still told.
    stage.publish(2, State::Loading);
    for caller in &mut streams {
        assert_eq!(caller.event().await.seq, 1);
        assert_eq!(caller.event().await.seq, 2);
    }
    drop(streams.pop());
    assert!(late.head().await.starts_with("HTTP/1.1 200 "));
    assert_eq!(late.event().await.seq, 2);
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let stage = Stage::new();
    let mut caller = stage.open().await;
    for _ in 0..3 {
        caller.send("GET /state HTTP/1.1\r\nHost: shim\r\n\r\n").await;
        assert_eq!(caller.answer().await.status, 200);
    }
}

#[tokio::test]
async fn the_socket_file_has_its_mode_and_goes_with_the_server() {
    let stage = Stage::new();
    let metadata = fs::symlink_metadata(stage.path()).expect("it is there");
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
    let path = stage.path().to_owned();
    stage.served.abort();
    assert!(soon(stage.served).await.expect_err("it was ended").is_cancelled());
    assert!(!path.exists());
}

#[tokio::test]
async fn a_live_socket_is_left_alone_and_a_stale_one_is_replaced() {
    let stage = Stage::new();
    let taken = Socket::bind(&stage.address.clone(), 0o600).err().expect("it is taken");
    assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    assert_eq!(stage.get("/state").await.status, 200);

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shim.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("it binds"));
    let socket = Socket::bind(&Address::Unix(path.clone()), 0o660).expect("the stale one is replaced");
    assert_eq!(fs::symlink_metadata(&path).expect("it is there").permissions().mode() & 0o7777, 0o660);
    assert_eq!(socket.address(), Address::Unix(path));
}

#[tokio::test]
async fn of_two_that_start_at_once_one_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, lock) = (folder.path().join("shim.sock"), folder.path().join("shim.sock.lock"));
    let address = Address::Unix(path.clone());
    // Nobody holds it.
    fs::write(&lock, "").expect("it is written");
    let first = Socket::bind(&address, 0o600).expect("it binds");
    // The other one found the file before anybody listened.
    fs::remove_file(&path).expect("it goes");
    let refused = Socket::bind(&address, 0o600).err().expect("the first one has begun");
    assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    drop(first);
    drop(Socket::bind(&address, 0o600).expect("the first one has ended"));
    assert!(lock.exists() && !path.exists());
}

#[tokio::test]
async fn files_of_others_are_neither_replaced_nor_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shim.sock");
    fs::write(&path, "mine").expect("it is written");
    let refused = Socket::bind(&Address::Unix(path.clone()), 0o600).err().expect("it is no socket");
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "mine");

    fs::remove_file(&path).expect("it goes");
    let socket = Socket::bind(&Address::Unix(path.clone()), 0o600).expect("it binds");
    fs::remove_file(&path).expect("it goes");
    let other = std::os::unix::net::UnixListener::bind(&path).expect("it binds");
    drop(socket);
    assert!(path.exists(), "the file is the other's");
    drop(other);
}

#[tokio::test]
async fn only_this_machine_reaches_a_tcp_socket() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80", "example.org:80", "127.0.0.1", ""] {
        let refused = Socket::bind(&Address::Tcp(address.into()), 0o600).err().expect(address);
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{address}");
        assert!(refused.to_string().contains("take 127.0.0.1 or a Unix socket"), "{refused}");
    }
    for address in ["127.0.0.1:0", "localhost:0"] {
        let socket = Socket::bind(&Address::Tcp(address.into()), 0o600).expect(address);
        let Address::Tcp(bound) = socket.address() else { panic!("a TCP address") };
        assert!(bound.starts_with("127.0.0.1:") && !bound.ends_with(":0"), "{bound}");
    }
}

#[tokio::test]
async fn a_client_that_goes_in_the_middle_of_its_request_disturbs_nobody() {
    let stage = Stage::new();
    let mut caller = stage.open().await;
    caller.send("POST /load HTTP/1.1\r\nHost: shim\r\nContent-Length: 100\r\n\r\n{").await;
    drop(caller);
    assert_eq!(stage.get("/state").await.status, 200);
}
