//! The engine is asked once per question, within bounds, and nothing is left behind.

#[path = "client/engine.rs"]
mod engine;
#[path = "client/probe.rs"]
mod probe;

use engine::{Engine, LONG, Reply, Seen};
use spillway_filters::presets::Method;
use spillway_shim::client::{Answer, Client, NoAnswer};
use spillway_shim::config::{Address, ApiKey};
use std::time::Duration;
use tokio::net::{TcpSocket, UnixListener};

/// For what is meant to run out.
const SHORT: Duration = Duration::from_millis(20);

const MIB: usize = 1024 * 1024;

async fn get(client: &Client, path: &str) -> Result<(u16, String), NoAnswer> {
    let text = |answer: Answer| (answer.status, String::from_utf8_lossy(&answer.body).into_owned());
    client.ask(Method::Get, path, "", LONG).await.map(text)
}

async fn start(script: engine::Script) -> (Engine, Client) {
    let engine = Engine::start(script).await;
    let client = Client::new(Address::Tcp(engine.authority.clone()), None);
    (engine, client)
}

#[tokio::test]
async fn where_nobody_listens_it_is_refused() {
    // Bound and not listening: vLLM while it loads.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let bound = Address::Tcp(socket.local_addr().expect("it is bound").to_string());
    let folder = tempfile::tempdir().expect("a folder");
    let dead = folder.path().join("dead.sock");
    drop(UnixListener::bind(&dead).expect("a socket"));
    assert!(dead.exists());
    let missing = folder.path().join("missing.sock");
    for address in [bound, Address::Unix(dead), Address::Unix(missing)] {
        let client = Client::new(address.clone(), None);
        assert_eq!(get(&client, "/health").await, Err(NoAnswer::Refused), "{address}");
        assert!(!client.is_there().await, "{address}");
    }
}

#[tokio::test]
async fn an_engine_that_does_not_answer_in_time_is_silent_and_rid_of_the_connection() {
    let (mut engine, client) = start(|path| match path {
        "/half" => Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha"),
        "/head" => Reply::Keep("HTTP/1.1 200 OK\r\nContent-"),
        _ => Reply::Keep(""),
    })
    .await;
    for path in ["/", "/half", "/head"] {
        assert_eq!(client.ask(Method::Get, path, "", SHORT).await, Err(NoAnswer::Silent), "{path}");
    }
    engine.ended(3).await;
    assert!(client.is_there().await);
}

#[tokio::test]
async fn what_breaks_off_or_is_not_http_is_broken() {
    let (_engine, client) = start(|path| match path {
        "/nothing" => Reply::Close(""),
        "/text" => Reply::Close("hello, who is there?\r\n\r\n"),
        "/head" => Reply::Close("HTTP/1.1 200 OK\r\nContent-Le"),
        "/short" => Reply::Close("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"),
        "/chunk" => Reply::Close("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
        "/open" => Reply::Close("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        "/large" => Reply::Chunked(MIB + 1),
        _ => Reply::Chunked(MIB),
    })
    .await;
    for path in ["/nothing", "/text", "/head", "/short", "/chunk", "/open", "/large", "no path"] {
        assert_eq!(get(&client, path).await, Err(NoAnswer::Broken), "{path}");
    }
    assert_eq!(get(&client, "/whole").await.map(|(status, body)| (status, body.len())), Ok((200, MIB)));
}

#[tokio::test]
async fn answers_are_read_however_they_are_framed() {
    let (_engine, client) = start(|path| match path {
        "/length" => Reply::Close("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 7\r\n\r\nloading"),
        "/kept" => Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok"),
        "/chunks" => {
            Reply::Keep("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na \r\n4;x=y\r\nbody\r\n0\r\n\r\n")
        }
        "/close" => Reply::Close("HTTP/1.1 200 OK\r\n\r\nuntil the end"),
        "/old" => Reply::Close("HTTP/1.0 200 OK\r\n\r\nold"),
        "/none" => Reply::Keep("HTTP/1.1 204 No Content\r\n\r\n"),
        "/later" => Reply::Keep("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        _ => Reply::Close("HTTP/1.1 302 Found\r\nLocation: /length\r\nContent-Length: 0\r\n\r\n"),
    })
    .await;
    let rows = [
        ("/length", 503, "loading"),
        ("/kept", 200, "ok"),
        ("/chunks", 200, "a body"),
        ("/close", 200, "until the end"),
        ("/old", 200, "old"),
        ("/none", 204, ""),
        ("/later", 200, "ok"),
        ("/moved", 302, ""),
    ];
    for (path, status, body) in rows {
        assert_eq!(get(&client, path).await, Ok((status, body.to_owned())), "{path}");
    }
}

#[tokio::test]
async fn a_request_is_these_bytes() {
    let (mut engine, client) = start(|_| Reply::Close("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")).await;
    let host = engine.authority.clone();
    get(&client, "/v1/models?x=%20").await.expect("it answers");
    let wanted = format!("GET /v1/models?x=%20 HTTP/1.1\r\nhost: {host}\r\naccept: */*\r\nconnection: close\r\n\r\n");
    assert_eq!(engine.asked().await, wanted);

    let client = Client::new(Address::Tcp(host.clone()), Some(ApiKey("s3cret".to_owned())));
    assert!(!format!("{client:?}").contains("s3cret"));
    client.ask(Method::Post, "/load", r#"{"model":"é"}"#, LONG).await.expect("it answers");
    let wanted = format!(
        "POST /load HTTP/1.1\r\nhost: {host}\r\naccept: */*\r\nconnection: close\r\nauthorization: Bearer s3cret\r\n\
         content-length: 14\r\ncontent-type: application/json\r\n\r\n{{\"model\":\"é\"}}"
    );
    assert_eq!(engine.asked().await, wanted);

    client.ask(Method::Post, "/sleep?level=1", "", LONG).await.expect("it answers");
    let request = engine.asked().await;
    assert!(request.contains("content-length: 0\r\n") && !request.contains("content-type"), "{request}");

    let client = Client::new(Address::Tcp(host), Some(ApiKey("two\nlines".to_owned())));
    get(&client, "/").await.expect("it answers");
    assert!(!engine.asked().await.contains("authorization"));
}

#[tokio::test]
async fn an_engine_on_a_unix_socket_is_asked_the_same_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("engine.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let mut engine = Engine::start_unix(listener, |_| Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    let client = Client::new(Address::Unix(path), None);
    assert_eq!(get(&client, "/health").await, Ok((200, "ok".to_owned())));
    let wanted = "GET /health HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\nconnection: close\r\n\r\n";
    assert_eq!(engine.next().await, Seen::Opened);
    assert_eq!(engine.next().await, Seen::Asked(wanted.to_owned()));
    assert_eq!(engine.next().await, Seen::Ended);
    assert!(client.is_there().await);
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_its_connection_with_it() {
    let (mut engine, client) = start(|_| Reply::Keep("")).await;
    let call = tokio::spawn(async move { client.ask(Method::Post, "/load", "{}", LONG).await });
    assert!(engine.asked().await.starts_with("POST /load "));
    call.abort();
    engine.ended(1).await;
}

#[tokio::test]
async fn thousands_of_calls_leave_no_connection_behind() {
    let (mut engine, client) = start(|path| match path {
        "/0" | "/0?last" => Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        "/1" => Reply::Close("HTTP/1.1 200 OK\r\n\r\nok"),
        "/2" => Reply::Close("nonsense\r\n\r\n"),
        "/3" => Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha"),
        _ => Reply::Keep(""),
    })
    .await;
    for call in 0..2_500 {
        // The last two run out, somewhere between the connection and the answer, or before both.
        let answers = call % 5 < 2;
        let limit = if call % 5 < 3 { LONG } else { Duration::from_millis(1) };
        let answered = client.ask(Method::Get, &format!("/{}", call % 5), "", limit).await;
        assert_eq!(answered.is_ok(), answers, "call {call}");
    }
    // Connections are accepted in their order, so that all are known when this one is.
    get(&client, "/0?last").await.expect("it answers");
    let (mut opened, mut ended, mut known) = (0, 0, false);
    while !known || ended < opened {
        match engine.next().await {
            Seen::Opened => opened += 1,
            Seen::Ended => ended += 1,
            Seen::Asked(request) => known |= request.contains("?last"),
        }
    }
    assert!(opened > 1_500, "{opened}");
}
