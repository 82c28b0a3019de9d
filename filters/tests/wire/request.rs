//! What passes the front gate, what the engine gets to see of it, and what is refused?

use spillway_filters::wire::request::{
    Method, Remote, RequestFraming, RequestHead, Verdict, finish_chunked, finish_fixed, finish_none, parse,
};
use spillway_filters::wire::{MAX_HEAD_BYTES, MAX_HEADERS, MAX_TARGET_BYTES, Reject, RejectKind};

fn judge(text: &[u8]) -> (Verdict, String) {
    let mut out = Vec::new();
    let verdict = parse(text, &mut out);
    (verdict, String::from_utf8_lossy(&out).into_owned())
}

fn fast(text: &str) -> (RequestHead, String) {
    match judge(text.as_bytes()) {
        (Verdict::Fast(head), out) => (head, out),
        (other, _) => panic!("{text:?}: {other:?}"),
    }
}

/// A GET with these lines after Host.
fn get(lines: &str) -> String {
    format!("GET /v1/models HTTP/1.1\r\nHost: t\r\n{lines}\r\n")
}

fn refusal(text: &str) -> RejectKind {
    match judge(text.as_bytes()) {
        (Verdict::Reject(reject), _) => reject.kind,
        (other, _) => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn the_engine_sees_the_callers_lines_as_they_stand() {
    let text = "POST /v1/score/org/m?x=1 HTTP/1.1\r\nhOsT:  t \r\nauthorization: Bearer k\r\nContent-Length: 2\r\nContent-Type:application/json \r\n\
                X-SIE-Remote: forbid\r\nX-A: \t b\r\nConnection: keep-alive\r\nTE: trailers\r\nTrailer: x\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\n\
                Proxy-Authorization: Basic eA==\r\nExpect: 100-continue\r\nUpgrade: websocket\r\nX-B:\r\n\r\n{}GET / HTTP/1.1";
    let (head, out) = fast(text);
    assert_eq!(
        out,
        "POST /v1/score/org/m?x=1 HTTP/1.1\r\nhOsT:  t \r\nauthorization: Bearer k\r\nContent-Type:application/json \r\nX-SIE-Remote: forbid\r\n\
         X-A: \t b\r\nX-B:\r\n"
    );
    let body_at = text.find("{}").expect("a body");
    assert_eq!((head.len, head.method, head.framing), (body_at, Method::Post, RequestFraming::Length(2)));
    assert_eq!(&text[head.path.clone()], "/v1/score/org/m");
    assert_eq!(&text[head.target.clone()], "/v1/score/org/m?x=1");
    assert_eq!(head.content_type.map(|range| &text[range]), Some("application/json"));
    assert!(head.keep_alive && head.expects_continue && !head.content_encoded);
    assert_eq!(head.remote, Remote::Forbid);
}

#[test]
fn heads_end_with_the_framing_that_was_asked_for() {
    let end = |finish: fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        finish(&mut out);
        String::from_utf8(out).expect("ascii")
    };
    assert_eq!(end(finish_none), "\r\n");
    assert_eq!(end(finish_chunked), "Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(end(|out| finish_fixed(out, 0)), "Content-Length: 0\r\n\r\n");
    assert_eq!(end(|out| finish_fixed(out, u64::MAX)), "Content-Length: 18446744073709551615\r\n\r\n");
}

#[test]
fn forged_disclosure_is_dropped_however_it_is_spelled() {
    for name in [
        "X-SIE-Served-By",
        "X-SIE-Upstream",
        "X-SIE-Fallback-Reason",
        "X-SIE-Fallback-Error",
        "Spillway-Cause",
        "Spillway-Equivalence",
    ] {
        for name in [name.to_owned(), name.to_ascii_lowercase(), name.replace('-', "_"), name.replacen('-', "_", 1)] {
            let (_, out) = fast(&get(&format!("A: b\r\n{name}: remote\r\nC: d\r\n")));
            assert_eq!(out, "GET /v1/models HTTP/1.1\r\nHost: t\r\nA: b\r\nC: d\r\n", "{name}");
        }
    }
}

#[test]
fn consent_has_one_spelling_and_one_value() {
    assert_eq!(fast(&get("")).0.remote, Remote::Absent);
    for lines in ["X-SIE-Remote: forbid\r\n", "x-sie-remote:\t forbid \t\r\n"] {
        assert_eq!(fast(&get(lines)).0.remote, Remote::Forbid, "{lines}");
    }
    for lines in [
        "X-SIE-Remote: \r\n",
        "X-SIE-Remote: allow\r\n",
        "X-SIE-Remote: forbid\r\nx-sie-remote: forbid\r\n",
        "X_SIE_REMOTE: forbid\r\n",
        "X-SIE_Remote: forbid\r\n",
        "Connection: X_SIE-Remote\r\n",
        "Connection: x-sie-remote\r\n",
    ] {
        assert_eq!(refusal(&get(lines)), RejectKind::Remote, "{lines}");
        assert_eq!(refusal(&get(lines).replace("HTTP/1.1", "HTTP/1.0")), RejectKind::Remote, "{lines}");
    }
}

#[test]
fn a_rejection_knows_the_path_once_the_request_line_is_read() {
    let path = |text: &str| match judge(text.as_bytes()) {
        (Verdict::Reject(Reject { path, .. }), _) => path.map(|range| text[range].to_owned()),
        (other, _) => panic!("{other:?}"),
    };
    assert_eq!(path(&get("X-SIE-Remote: no\r\n")).as_deref(), Some("/v1/models"));
    assert_eq!(path("\r\nGET http://t/v1/x?y HTTP/1.1\r\nHost: u\r\n\r\n").as_deref(), Some("/v1/x"));
    assert_eq!(path("GET /v1/x HTTP/1.1\r\nA b\r\n").as_deref(), Some("/v1/x"));
    assert_eq!(path("GET /v1/x HTTP/3.0").as_deref(), Some("/v1/x"));
    assert_eq!(path("GET /../x HTTP/1.1"), None);
}

#[test]
fn nominated_extension_headers_stay_on_this_hop() {
    let (_, out) = fast(&get("X-Hop: 1\r\nA: b\r\nConnection: x-hop, close,, TE\r\nx-HOP: 2\r\nX-Hops: 3\r\n"));
    assert_eq!(out, "GET /v1/models HTTP/1.1\r\nHost: t\r\nA: b\r\nX-Hops: 3\r\n");
    let (_, out) = fast("GET http://t/v1 HTTP/1.1\r\nX-Hop: 1\r\nHost: t\r\nConnection: X-Hop\r\n\r\n");
    assert_eq!(out, "GET /v1 HTTP/1.1\r\nHost: t\r\n");
}

#[test]
fn nobody_nominates_what_the_engine_needs() {
    for name in [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Content-Type",
        "content_type",
        "Content-Encoding",
        "Content-Language",
        "Authorization",
        "Cookie",
        "Expect",
        "X-Forwarded-For",
        "X-SIE-Pool",
        "X-SIE-Upstream",
        "Accept",
        "X-API-Key",
        "traceparent",
        "a b",
        "a\u{e9}",
        "a;q=1",
        "\"a\"",
    ] {
        assert_eq!(refusal(&get(&format!("Connection: close, {name}\r\n"))), RejectKind::Connection, "{name}");
    }
    let many = (0..17).map(|n| format!("x{n}")).collect::<Vec<_>>().join(",");
    assert_eq!(refusal(&get(&format!("Connection: {many}\r\n"))), RejectKind::Connection);
}

#[test]
fn the_connection_lives_unless_someone_says_close() {
    assert!(fast(&get("")).0.keep_alive);
    assert!(fast(&get("Connection: Keep-Alive\r\n")).0.keep_alive);
    assert!(!fast(&get("Connection: keep-alive, CLOSE\r\n")).0.keep_alive);
    assert!(!fast(&get("Connection: close\r\nConnection: keep-alive\r\n")).0.keep_alive);
    let http10 = |lines: &str| match judge(get(lines).replace("HTTP/1.1", "HTTP/1.0").as_bytes()).0 {
        Verdict::Http10(head) => head.keep_alive,
        other => panic!("{other:?}"),
    };
    assert!(!http10("") && http10("Connection: keep-alive\r\n") && !http10("Connection: close, keep-alive\r\n"));
}

#[test]
fn framing_is_one_length_or_one_coding() {
    assert_eq!(fast(&get("")).0.framing, RequestFraming::None);
    assert_eq!(fast(&get("Content-Length: 007\r\n")).0.framing, RequestFraming::Length(7));
    let most = 9_999_999_999_999_999_999;
    assert_eq!(fast(&get(&format!("Content-Length: {most}\r\n"))).0.framing, RequestFraming::Length(most));
    assert_eq!(fast(&get("Transfer-Encoding: \tCHUNKED \r\n")).0.framing, RequestFraming::Chunked);
    for (lines, kind) in [
        ("Content-Length: 1\r\nContent-Length: 1\r\n", RejectKind::ContentLength),
        ("Content-Length: 1, 1\r\n", RejectKind::ContentLength),
        ("Content-Length: 99999999999999999999\r\n", RejectKind::ContentLength),
        ("Content_Length: 1\r\n", RejectKind::Underscore),
        ("Content_Type: a/b\r\n", RejectKind::Underscore),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", RejectKind::TransferEncoding),
        ("Transfer-Encoding: gzip, chunked\r\n", RejectKind::TransferCoding),
        ("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", RejectKind::LengthAndCoding),
        ("Content-Type: a/b\r\nContent-Type: a/b\r\n", RejectKind::RepeatedContentType),
    ] {
        assert_eq!(refusal(&get(lines)), kind, "{lines}");
    }
}

#[test]
fn continue_is_expected_only_before_a_body() {
    assert!(fast(&get("Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n")).0.expects_continue);
    assert!(!fast(&get("Expect: 100-continue\r\n")).0.expects_continue);
    assert!(!fast(&get("Expect: 100-continue\r\nContent-Length: 0\r\n")).0.expects_continue);
    assert_eq!(refusal(&get("Expect: 100-continue, x\r\n")), RejectKind::Expectation);
}

#[test]
fn content_encodings_other_than_identity_are_seen() {
    assert!(!fast(&get("Content-Encoding: Identity\r\nContent-Encoding:\r\n")).0.content_encoded);
    assert!(fast(&get("Content-Encoding: identity\r\nContent-Encoding: gzip\r\n")).0.content_encoded);
    assert!(fast(&get("Content-Encoding: gzip\r\nContent-Encoding: identity\r\n")).0.content_encoded);
}

#[test]
fn a_proper_wish_to_leave_http_keeps_its_upgrade_line() {
    let text = get("connection: keep-alive, upgrade\r\nUpgrade:  websocket\r\nSec-WebSocket-Key: k\r\n");
    let (verdict, out) = judge(text.as_bytes());
    let Verdict::Upgrade(head) = verdict else { panic!("{verdict:?}") };
    assert_eq!((head.len, head.framing), (text.len(), RequestFraming::None));
    assert_eq!(
        out,
        "GET /v1/models HTTP/1.1\r\nHost: t\r\nSec-WebSocket-Key: k\r\nUpgrade:  websocket\r\nConnection: Upgrade\r\n"
    );
}

#[test]
fn any_other_wish_to_upgrade_is_ignored() {
    let plain = "GET /v1/models HTTP/1.1\r\nHost: t\r\n";
    for lines in [
        "Upgrade: websocket\r\n",
        "Connection: upgrade\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
        "Connection: upgrade\r\nUpgrade: H2C\r\n",
        "Connection: upgrade\r\nUpgrade: HTTP/2.0\r\n",
        "Connection: upgrade\r\nUpgrade: TLS/1.2\r\n",
        "Connection: upgrade\r\nUpgrade: websocket, h2c\r\n",
        "Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: websocket\r\n",
        "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n",
        "Connection: upgrade\r\nUpgrade:\r\n",
        "Connection: upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n",
    ] {
        assert_eq!(fast(&get(lines)).1, plain, "{lines}");
    }
    let post = get("Connection: upgrade\r\nUpgrade: websocket\r\n").replace("GET", "POST");
    assert_eq!(fast(&post).1, plain.replace("GET", "POST"));
}

#[test]
fn absolute_targets_become_paths_when_they_name_the_host() {
    let text = "\r\nPOST HTTP://T:1/v1/x?y HTTP/1.1\r\nhost: t:1\r\nA: b\r\n\r\n";
    let (head, out) = fast(text);
    assert_eq!(out, "POST /v1/x?y HTTP/1.1\r\nhost: t:1\r\nA: b\r\n");
    assert_eq!((&text[head.path], &text[head.target], head.len), ("/v1/x", "/v1/x?y", text.len()));
    for host in ["Host: t\r\n", "Host: evil:1\r\n", "Host:\r\n"] {
        let text = format!("GET http://t:1/v1 HTTP/1.1\r\n{host}\r\n");
        assert_eq!(refusal(&text), RejectKind::AbsoluteTarget, "{host}");
    }
    assert_eq!(refusal("GET http://t/v1 HTTP/1.0\r\n\r\n"), RejectKind::AbsoluteTarget);
}

#[test]
fn http_1_0_may_leave_out_host_and_never_chunks() {
    let text = "GET /v1 HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    let (verdict, out) = judge(text.as_bytes());
    let Verdict::Http10(head) = verdict else { panic!("{verdict:?}") };
    assert_eq!((head.len, head.framing, head.expects_continue), (text.len(), RequestFraming::Length(3), false));
    assert!(out.is_empty());
    assert_eq!(refusal("GET /v1 HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), RejectKind::TransferEncoding);
    assert_eq!(refusal("GET /v1 HTTP/1.0\r\nHost: a b\r\n\r\n"), RejectKind::Host);
    assert_eq!(refusal("GET /v1 HTTP/1.1\r\n\r\n"), RejectKind::Host);
}

#[test]
fn the_http_2_preface_is_recognised_whole_and_only_whole() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for cut in 0..preface.len() {
        assert_eq!(judge(&preface[..cut]).0, Verdict::NeedMore, "{cut}");
    }
    assert_eq!(judge(&[preface.as_slice(), b"\0\0"].concat()).0, Verdict::Http2Preface);
    assert_eq!(refusal("PRI * HTTP/2.0\r\n\r\nXX"), RejectKind::Target);
}

#[test]
fn broken_starts_are_refused_without_waiting_for_the_rest() {
    for (start, kind) in [
        ("\u{1}", RejectKind::Method),
        ("G\u{1}", RejectKind::Method),
        (" GET", RejectKind::Method),
        ("get ", RejectKind::Method),
        ("TRACE ", RejectKind::MethodUnsupported),
        ("\n", RejectKind::RequestLine),
        ("\r\n\r\n\r", RejectKind::RequestLine),
        ("\r\n\r\n\r\nGET", RejectKind::RequestLine),
        ("\rGET", RejectKind::RequestLine),
        ("GET /x\r", RejectKind::Target),
        ("GET /a/../b ", RejectKind::Target),
        ("GET /x HTTP/2", RejectKind::Version),
        ("GET /x HTTP/1.1\r\n X", RejectKind::HeaderSyntax),
        ("GET /x HTTP/1.1\r\nX :", RejectKind::HeaderSyntax),
        ("GET /x HTTP/1.1\r\nX: a\0", RejectKind::HeaderSyntax),
    ] {
        assert_eq!(refusal(start), kind, "{start:?}");
    }
    let long = "A".repeat(33);
    assert_eq!(refusal(&long), RejectKind::Method);
    assert_eq!(judge(&long.as_bytes()[..32]).0, Verdict::NeedMore);
}

#[test]
fn limits_hold_to_the_byte() {
    let path = |bytes: usize| format!("GET /{} HTTP/1.1\r\nHost: t\r\n\r\n", "a".repeat(bytes - 1));
    fast(&path(MAX_TARGET_BYTES));
    assert_eq!(refusal(&path(MAX_TARGET_BYTES + 1)), RejectKind::TargetTooLong);
    let open = path(MAX_TARGET_BYTES + 1);
    assert_eq!(refusal(&open[..4 + MAX_TARGET_BYTES + 1]), RejectKind::TargetTooLong, "before it ends");
    assert_eq!(judge(&open.as_bytes()[..4 + MAX_TARGET_BYTES]).0, Verdict::NeedMore);

    let headers = |count: usize| get(&"X: y\r\n".repeat(count - 1));
    fast(&headers(MAX_HEADERS));
    assert_eq!(refusal(&headers(MAX_HEADERS + 1)), RejectKind::TooManyHeaders);

    let sized = |bytes: usize| get(&format!("X: {}\r\n", "y".repeat(bytes - get("X: \r\n").len())));
    let (head, _) = fast(&sized(MAX_HEAD_BYTES));
    assert_eq!(head.len, MAX_HEAD_BYTES);
    assert_eq!(refusal(&sized(MAX_HEAD_BYTES + 1)), RejectKind::HeadTooLarge);
    fast(&format!("\r\n\r\n{}", sized(MAX_HEAD_BYTES)));
    assert_eq!(judge(&sized(MAX_HEAD_BYTES).as_bytes()[..MAX_HEAD_BYTES - 1]).0, Verdict::NeedMore);
}

#[test]
fn opaque_bytes_pass_where_nothing_is_read_and_are_refused_where_something_is() {
    let line = |name: &str| [get("").trim_end().as_bytes(), b"\r\n", name.as_bytes(), b": \xff\xa0x\r\n\r\n"].concat();
    let mut out = Vec::new();
    assert!(matches!(parse(&line("X-Title"), &mut out), Verdict::Fast(_)));
    assert!(out.ends_with(b"X-Title: \xff\xa0x\r\n"));
    for name in ["Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", "X-SIE-Remote"] {
        assert!(matches!(judge(&line(name)).0, Verdict::Reject(_)), "{name}");
    }
}

#[test]
fn options_may_ask_about_the_server_as_a_whole() {
    let (head, out) = fast("OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n");
    assert_eq!((head.method, head.path, out.as_str()), (Method::Other, 8..9, "OPTIONS * HTTP/1.1\r\nHost: t\r\n"));
}

#[test]
fn rejections_carry_their_status() {
    for (kind, status) in [
        (RejectKind::Remote, 400),
        (RejectKind::HeadTimeout, 408),
        (RejectKind::BodyTooLarge, 413),
        (RejectKind::TargetTooLong, 414),
        (RejectKind::Expectation, 417),
        (RejectKind::TooManyHeaders, 431),
        (RejectKind::TransferCoding, 501),
        (RejectKind::Version, 505),
    ] {
        assert_eq!(kind.status(), status, "{kind:?}");
        assert_eq!(kind.to_string(), kind.message());
    }
}
