//! Which answers of an engine are passed on, what the caller sees of them, and where do they end?

use spillway_filters::wire::chunk::Framing;
use spillway_filters::wire::response::{ResponseFault, ResponseHead, ResponseVerdict, parse};
use spillway_filters::wire::{MAX_HEAD_BYTES, MAX_HEADERS};

use crate::laws;

fn judge(text: &[u8], request_was_head: bool) -> (ResponseVerdict, String) {
    let mut out = Vec::new();
    let verdict = parse(text, request_was_head, &mut out);
    laws::response_laws(text, request_was_head);
    (verdict, String::from_utf8_lossy(&out).into_owned())
}

fn head(text: &str) -> (ResponseHead, String) {
    match judge(text.as_bytes(), false) {
        (ResponseVerdict::Head(head), out) => (head, out),
        (other, _) => panic!("{text:?}: {other:?}"),
    }
}

fn fault(text: &str) -> ResponseFault {
    match judge(text.as_bytes(), false) {
        (ResponseVerdict::Bad(fault), _) => fault,
        (other, _) => panic!("{text:?}: {other:?}"),
    }
}

/// A 200 with these lines.
fn ok(lines: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n")
}

#[test]
fn the_caller_sees_the_engines_lines_as_they_stand() {
    let text = "HTTP/1.1 503 Not yet, sorry\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nConnection: keep-alive, X-Hop\r\nRetry-After:  5 \r\nX-Hop: 1\r\n\
                X-SIE-Served-By: remote\r\nx_sie_upstream: u\r\nSpillway-Cause: c\r\ncontent-length: 2\r\nContent-Type: application/json; a=b\r\nKeep-Alive: 5\r\n\
                Proxy-Authenticate: Basic\r\nTrailer: x\r\nUpgrade: h2c\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n{}";
    let (head, out) = head(text);
    assert_eq!(
        out,
        "HTTP/1.1 503 Not yet, sorry\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nRetry-After:  5 \r\ncontent-length: 2\r\nContent-Type: application/json; a=b\r\n\
         Proxy-Authenticate: Basic\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
    );
    assert_eq!((head.len, head.status, head.framing), (text.len() - 2, 503, Framing::Length(2)));
    assert_eq!(head.content_type.map(|range| &text[range]), Some("application/json; a=b"));
    assert!(head.keep_alive && !head.event_stream);
}

#[test]
fn what_the_answer_needs_cannot_be_nominated_away() {
    let (_, out) = head(&ok(
        "Connection: Content-Type, Content-Length, X-A\r\nContent-Type: a/b\r\nX-A: 1\r\nContent-Length: 0\r\n",
    ));
    assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 0\r\n");
}

#[test]
fn the_body_ends_where_the_head_says() {
    assert_eq!(head(&ok("Content-Length: 5\r\n")).0.framing, Framing::Length(5));
    assert!(matches!(head(&ok("Transfer-Encoding: Chunked\r\n")).0.framing, Framing::Chunked(_)));
    let until_close = head(&ok("")).0;
    assert!(until_close.framing.until_close() && !until_close.keep_alive);
    for text in [
        "HTTP/1.1 204 \r\n\r\n",
        "HTTP/1.1 204\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n",
    ] {
        assert_eq!(head(text).0.framing, Framing::Done, "{text}");
    }
    for lines in ["Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n", ""] {
        let (verdict, out) = judge(ok(lines).as_bytes(), true);
        let ResponseVerdict::Head(head) = verdict else { panic!("{verdict:?}") };
        assert_eq!((head.framing, head.keep_alive), (Framing::Done, true), "{lines}");
        assert!(out.ends_with(lines), "a HEAD answer keeps its framing lines");
    }
}

#[test]
fn an_engine_connection_is_kept_only_when_nothing_speaks_against_it() {
    assert!(head(&ok("Content-Length: 0\r\n")).0.keep_alive);
    assert!(!head(&ok("Content-Length: 0\r\nConnection: Close\r\n")).0.keep_alive);
    let (head, out) = head("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n");
    assert!(!head.keep_alive);
    assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "answers pass on as HTTP/1.1");
}

#[test]
fn interim_answers_are_skipped_and_101_is_final() {
    let text = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(judge(text, false).0, ResponseVerdict::Informational { len: 37, status: 103 });
    let text = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade, X-A\r\nUpgrade: websocket\r\nX-A: b\r\nX-SIE-Upstream: u\r\n\r\n\x01";
    let (head, out) = head(text);
    assert_eq!((head.status, head.framing, head.keep_alive, head.len), (101, Framing::Done, false, text.len() - 1));
    assert_eq!(out, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade, X-A\r\nUpgrade: websocket\r\nX-A: b\r\n");
}

#[test]
fn an_engine_that_passed_the_call_on_says_so() {
    for (lines, wanted) in [
        ("X-SIE-Served-By: remote\r\nX-SIE-Upstream: a\r\n", true),
        ("x-sie-served-by:REMOTE \r\n", true),
        ("X-SIE-Served-By: local\r\nX-SIE-Fallback-Reason: model_loading\r\n", false),
        ("X-Served-By: remote\r\n", false),
        ("", false),
    ] {
        let text = ok(lines);
        let (head, out) = head(&text);
        assert_eq!(head.served_remotely, wanted, "{lines}");
        assert!(!out.to_ascii_lowercase().contains("x-sie-"), "{out}");
    }
}

#[test]
fn event_streams_are_known_by_their_media_type() {
    for value in ["text/event-stream", "Text/Event-Stream; charset=utf-8", "text/event-stream ;a"] {
        assert!(head(&ok(&format!("Content-Type: {value}\r\n"))).0.event_stream, "{value}");
    }
    let text = ok("Content-Type: text/event-stream\r\nContent-Type: a/b\r\n");
    let first = head(&text).0;
    assert_eq!((first.event_stream, first.content_type.map(|range| &text[range])), (true, Some("text/event-stream")));
    for value in ["text/event-streams", "application/json; a=text/event-stream", ""] {
        assert!(!head(&ok(&format!("Content-Type: {value}\r\n"))).0.event_stream, "{value}");
    }
}

#[test]
fn ambiguous_answers_go_no_further() {
    for (text, want) in [
        (ok("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), ResponseFault::LengthAndCoding),
        (ok("Content-Length: 1\r\nContent-Length: 1\r\n"), ResponseFault::ContentLength),
        (ok("Content-Length: 1, 1\r\n"), ResponseFault::ContentLength),
        (ok("Content-Length: -1\r\n"), ResponseFault::ContentLength),
        (ok("Transfer-Encoding: gzip, chunked\r\n"), ResponseFault::TransferEncoding),
        (ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), ResponseFault::TransferEncoding),
        (ok("Transfer-Encoding: chunked\r\n").replace("1.1", "1.0"), ResponseFault::TransferEncoding),
        (ok("Content_Length: 1\r\n"), ResponseFault::Underscore),
        (ok("A: b\r\n c\r\n"), ResponseFault::HeaderSyntax),
        (ok("A : b\r\n"), ResponseFault::HeaderSyntax),
        (ok("A: b\n"), ResponseFault::LineEnding),
        (ok("").replacen("\r\n", "\n", 1), ResponseFault::LineEnding),
        (ok("A: b\r\n").replace("\r\n\r\n", "\r\n\n"), ResponseFault::LineEnding),
        (ok("").replace("200", "099"), ResponseFault::StatusLine),
        (ok("").replace("200", "20"), ResponseFault::StatusLine),
        (format!("\r\n{}", ok("")), ResponseFault::StatusLine),
        (ok("").replace("1.1", "2.0"), ResponseFault::Version),
        ("SSH-2.0-x\r\n".to_owned(), ResponseFault::Version),
        (ok("Transfer-Encoding: chunked\r\n").replace("200", "204"), ResponseFault::BodyAnnounced),
        (ok("Content-Length: 5\r\n").replace("200", "100"), ResponseFault::BodyAnnounced),
        (ok(&"X: y\r\n".repeat(MAX_HEADERS + 1)), ResponseFault::TooManyHeaders),
        (ok(&format!("X: {}\r\n", "y".repeat(MAX_HEAD_BYTES))), ResponseFault::HeadTooLarge),
    ] {
        assert_eq!(fault(&text), want, "{:.80}", text);
    }
}

/// Answers as engines send them; cut anywhere, they mean the same.
#[test]
fn samples_of_engines_mean_the_same_however_they_arrive() {
    for text in [
        "HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nserver: uvicorn\r\ncontent-length: 15\r\ncontent-type: application/json\r\n\r\n{\"object\":null}",
        "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n6\r\ndata: \r\n0\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end",
        "HTTP/1.1 200 \u{e9}\r\nX-Title: \u{e9}\r\n\r\n",
    ] {
        let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
        laws::response_laws(&bytes, false);
        laws::response_laws(&bytes, true);
    }
}
