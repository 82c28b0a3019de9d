//! Which laws hold for inputs nobody thought of?

use proptest::prelude::*;
use spillway_filters::wire::chunk::Dechunk;
use spillway_filters::wire::request::{Remote, RequestFraming, Verdict, parse};

use crate::{fixture, laws};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn laws_hold_for_any_bytes(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        laws::check(&data);
    }

    /// Bytes that mean something to the parsers get further into them.
    #[test]
    fn laws_hold_for_likely_bytes(
        parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..24),
    ) {
        laws::check(parts.concat().as_bytes());
    }

    #[test]
    fn laws_hold_for_damaged_vectors(pick in any::<prop::sample::Index>(), damage in proptest::collection::vec(damage(), 1..4)) {
        let vectors = fixture::all();
        let mut data = pick.get(&vectors).parts().concat();
        data.truncate(2048);
        for (at, kind, byte) in damage {
            let at = at.index(data.len() + 1);
            match kind {
                0 => data.insert(at, byte),
                1 if at < data.len() => drop(data.remove(at)),
                2 if at < data.len() => data[at] = byte,
                _ => data.truncate(at),
            }
        }
        laws::check(&data);
    }

    #[test]
    fn valid_requests_pass_whole(request in request()) {
        let mut out = Vec::new();
        let wire = request.wire();
        let Verdict::Fast(head) = parse(&wire, &mut out) else { panic!("{:?}", String::from_utf8_lossy(&wire)) };
        prop_assert_eq!(&wire[head.target.clone()], request.target.as_bytes());
        prop_assert_eq!(&out, &request.engine());
        prop_assert_eq!(head.remote, if request.forbid { Remote::Forbid } else { Remote::Absent });
        let rest = &wire[head.len..];
        let mut body = Vec::new();
        let taken = match head.framing {
            RequestFraming::None => 0,
            RequestFraming::Length(length) => {
                let length = usize::try_from(length).expect("short");
                body.extend_from_slice(&rest[..length]);
                length
            }
            RequestFraming::Chunked => {
                let (taken, done) = Dechunk::new().feed(rest, &mut body, 1 << 20).expect("well-formed");
                prop_assert!(done);
                taken
            }
        };
        prop_assert_eq!(body, request.body.concat());
        prop_assert_eq!(&rest[taken..], NEXT.as_bytes());
    }
}

const NEXT: &str = "GET /next HTTP/1.1\r\n";
const PARTS: &[&str] = &[
    "GET ",
    "POST ",
    "OPTIONS ",
    "/",
    "/v1",
    "/..",
    "%2e",
    "?",
    "#",
    "*",
    "http://t",
    " HTTP/1.1\r\n",
    " HTTP/1.0\r\n",
    "HTTP/1.1 ",
    "200 OK\r\n",
    "101 x\r\n",
    "204\r\n",
    "\r\n",
    "\r",
    "\n",
    "Host: t\r\n",
    "Host: ",
    "Connection: ",
    "close",
    "upgrade",
    "X-A",
    ", ",
    "Upgrade: websocket\r\n",
    "Content-Length: ",
    "Content_Length: 1\r\n",
    "Transfer-Encoding: chunked\r\n",
    "X-SIE-Remote: forbid\r\n",
    "X-A: b\r\n",
    "Expect: 100-continue\r\n",
    "Content-Type: text/event-stream\r\n",
    ":",
    " ",
    "\t",
    "0",
    "5",
    "a",
    "hello",
    ";",
    "=",
    "\"",
    "\\",
    "\0",
    "PRI * HTTP/2.0\r\n\r\n",
    "SM\r\n\r\n",
];

fn damage() -> impl Strategy<Value = (prop::sample::Index, u8, u8)> {
    let byte = prop_oneof![any::<u8>(), proptest::sample::select(b"\r\n\t :;,%./\\#_\0\x80-0aA".as_slice()),];
    (any::<prop::sample::Index>(), 0..4u8, byte)
}

/// A request that has to pass, and what has to become of it.
#[derive(Debug)]
struct Request {
    method: &'static str,
    target: String,
    /// Lines, and whether the engine sees them.
    lines: Vec<(String, bool)>,
    forbid: bool,
    chunked: bool,
    body: Vec<Vec<u8>>,
}

impl Request {
    fn line(&self) -> String {
        format!("{} {} HTTP/1.1\r\n", self.method, self.target)
    }

    fn wire(&self) -> Vec<u8> {
        let mut wire = self.line().into_bytes();
        wire.extend(self.lines.iter().flat_map(|(line, _)| line.bytes()));
        if self.chunked {
            wire.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in self.body.iter().filter(|chunk| !chunk.is_empty()) {
                wire.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
                wire.extend_from_slice(chunk);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\n\r\n");
        } else {
            wire.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.concat().len()).as_bytes());
            wire.extend(self.body.concat());
        }
        wire.extend_from_slice(NEXT.as_bytes());
        wire
    }

    fn engine(&self) -> Vec<u8> {
        let lines = self.lines.iter().filter(|(_, kept)| *kept).flat_map(|(line, _)| line.bytes());
        self.line().into_bytes().into_iter().chain(lines).collect()
    }
}

fn request() -> impl Strategy<Value = Request> {
    let kept =
        "[Xx]-[A-Za-z0-9]{1,12}:[ \t]{0,2}([!-~]([ -~]{0,20}[!-~])?)?[ \t]{0,2}\r\n".prop_map(|line| (line, true));
    let dropped = proptest::sample::select(
        &[
            "Connection: keep-alive\r\n",
            "connection:x-hop\r\n",
            "KEEP-ALIVE: timeout=5\r\n",
            "TE: trailers\r\n",
            "x-hop: 1\r\n",
            "Upgrade: h2c\r\n",
            "x-sie-upstream: u\r\n",
            "SPILLWAY_CAUSE: c\r\n",
            "Proxy-Authorization: a\r\n",
        ][..],
    )
    .prop_map(|line| (line.to_owned(), false));
    let lines = proptest::collection::vec(prop_oneof![3 => kept, 1 => dropped], 0..12);
    let body = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..5);
    let method = proptest::sample::select(&["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"][..]);
    let target = "(/[A-Za-z0-9_~:@!$&'()*+,=-]{1,10}){1,5}(\\?[!\"$-\\[\\]-~]{0,20})?";
    (method, target, lines, any::<bool>(), any::<bool>(), body).prop_map(
        |(method, target, mut lines, forbid, chunked, body)| {
            let hop = lines.iter().any(|(line, _)| line.contains("connection:x-hop"));
            lines.iter_mut().filter(|(line, _)| line.starts_with("x-hop")).for_each(|(_, kept)| *kept = !hop);
            lines.insert(lines.len() / 2, ("Host: t\r\n".to_owned(), true));
            if forbid {
                lines.push(("X-SIE-Remote: forbid\r\n".to_owned(), true));
            }
            Request { method, target, lines, forbid, chunked, body }
        },
    )
}
