//! Does the codec, used as a server would, give every HTTP/1.1 vector the verdict it has to get?

use spillway_filters::wire::RejectKind;
use spillway_filters::wire::chunk::Dechunk;
use spillway_filters::wire::request::{Remote, RequestFraming, RequestHead, Verdict, finish_fixed, parse};

use crate::fixture::{self, Expect, Vector};

const LIMIT: usize = 1 << 20;

/// A request that arrived whole.
struct Taken {
    target: String,
    body: Vec<u8>,
    remote: Remote,
}

/// One connection, served without an engine: requests are taken one after the other, and every upgrade is declined.
#[derive(Default)]
struct Front {
    buf: Vec<u8>,
    current: Option<(RequestHead, Vec<u8>, Dechunk, Vec<u8>)>,
    taken: Vec<Taken>,
    rejected: Option<RejectKind>,
    closed: bool,
}

impl Front {
    fn receive(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
        while !self.closed && self.advance() {}
    }

    /// One head or the rest of one body; false when more bytes are needed.
    fn advance(&mut self) -> bool {
        let Some((head, engine, mut dechunk, mut body)) = self.current.take() else { return self.head() };
        let (used, done) = match head.framing {
            RequestFraming::None => (0, true),
            RequestFraming::Length(length) => {
                let rest = usize::try_from(length).expect("short") - body.len();
                let used = rest.min(self.buf.len());
                body.extend_from_slice(&self.buf[..used]);
                (used, used == rest)
            }
            RequestFraming::Chunked => match dechunk.feed(&self.buf, &mut body, LIMIT) {
                Ok(step) => step,
                Err(error) => return self.reject(error.into()),
            },
        };
        self.buf.drain(..used);
        if done {
            self.finish(&head, engine, body);
        } else {
            self.current = Some((head, engine, dechunk, body));
        }
        done
    }

    fn head(&mut self) -> bool {
        let mut engine = Vec::new();
        match parse(&self.buf, &mut engine) {
            Verdict::NeedMore => false,
            Verdict::Fast(head) | Verdict::Upgrade(head) | Verdict::Http10(head) => {
                let target = self.buf[head.target.clone()].to_vec();
                self.buf.drain(..head.len);
                // The target is carried in place of the engine's head where there is none.
                let engine = if engine.is_empty() { [b"GET ", &*target, b" HTTP/1.1\r\n"].concat() } else { engine };
                self.current = Some((head, engine, Dechunk::new(), Vec::new()));
                true
            }
            Verdict::Http2Preface => self.reject(RejectKind::Version),
            Verdict::Reject(reject) => self.reject(reject.kind),
        }
    }

    fn reject(&mut self, kind: RejectKind) -> bool {
        (self.rejected, self.closed) = (Some(kind), true);
        false
    }

    fn finish(&mut self, head: &RequestHead, mut engine: Vec<u8>, body: Vec<u8>) {
        finish_fixed(&mut engine, body.len() as u64);
        let mut slots = [httparse::EMPTY_HEADER; 100];
        let mut view = httparse::Request::new(&mut slots);
        assert_eq!(view.parse(&engine), Ok(httparse::Status::Complete(engine.len())), "the engine reads one head");
        let target = view.path.expect("a target").to_owned();
        self.taken.push(Taken { target, body, remote: head.remote });
        self.closed = !head.keep_alive;
    }
}

fn serve(vector: &Vector) -> Front {
    let mut front = Front::default();
    for part in vector.parts() {
        front.receive(&part);
    }
    front
}

#[test]
fn every_vector_gets_its_verdict() {
    let vectors = fixture::all();
    assert_eq!(vectors.len(), 200);
    for vector in &vectors {
        let front = serve(vector);
        let title = vector.title();
        match vector.expect {
            Expect::Accept => {
                assert_eq!((front.taken.len(), front.rejected), (vector.requests, None), "{title}");
                assert!(front.taken.iter().all(body_is_whole), "{title}");
            }
            Expect::Refuse => {
                assert!(front.taken.is_empty() && front.rejected.is_some(), "{title}: {:?}", front.rejected);
            }
            Expect::Either => assert!(front.taken.len() <= vector.requests, "{title}"),
            Expect::NeverUpstream => {
                assert!(front.taken.iter().all(|taken| taken.remote == Remote::Forbid), "{title}");
                assert_eq!(front.taken.is_empty(), front.rejected.is_some(), "{title}");
            }
        }
        let smuggled = front.taken.iter().filter(|taken| taken.target == "/smuggled").count();
        assert_eq!(smuggled, usize::from(vector.requests == 2 && vector.expect == Expect::Either), "{title}");
    }
}

fn body_is_whole(taken: &Taken) -> bool {
    let Ok(body) = serde_json::from_slice::<serde_json::Value>(&taken.body) else {
        return taken.body.is_empty() && taken.target == "/v1/models";
    };
    body["model"] == "org/chat" && body["max_tokens"] == 16
}

/// Where the vectors leave a choice, this is ours; a change here is a change of behaviour.
#[test]
fn the_choices_are_these() {
    use RejectKind::{Method, RepeatedContentType, TooManyHeaders, TransferCoding, Underscore};
    let refused = [
        ("te leading comma", TransferCoding),
        ("content type twice", RepeatedContentType),
        ("lower-case method", Method),
        ("300 headers", TooManyHeaders),
        ("underscore Content_Length", Underscore),
        ("underscore Transfer_Encoding", Underscore),
    ];
    // Their bodies never end, so they never become requests.
    let unfinished = ["cl too long, then silence", "chunk no end", "chunk last without final CRLF"];
    for vector in fixture::all().iter().filter(|vector| vector.expect == Expect::Either) {
        let front = serve(vector);
        let expected = refused.iter().find(|(name, _)| *name == vector.name).map(|(_, kind)| *kind);
        assert_eq!(front.rejected, expected, "{}", vector.title());
        let taken = if expected.is_some() || unfinished.contains(&vector.name.as_str()) { 0 } else { vector.requests };
        assert_eq!(front.taken.len(), taken, "{}", vector.title());
    }
}

#[test]
fn consent_is_read_or_the_request_is_refused_for_it() {
    let vectors = fixture::all();
    let outcome = |name: &str| {
        let front =
            serve(vectors.iter().find(|v| v.family == "consent" && v.name == name).expect("there is such a vector"));
        (front.rejected, front.taken.first().map(|taken| taken.remote))
    };
    assert_eq!(outcome("no space"), (None, Some(Remote::Forbid)));
    assert_eq!(outcome("http/1.0"), (None, Some(Remote::Forbid)));
    let ours = [
        "twice",
        "list",
        "forbid then allow",
        "allow then forbid",
        "Forbid",
        "quoted",
        "semicolon",
        "nominated",
        "nominated lower case",
        "nominated after",
    ];
    for name in ours {
        assert_eq!(outcome(name), (Some(RejectKind::Remote), None), "{name}");
    }
    assert_eq!(outcome("space colon"), (Some(RejectKind::HeaderSyntax), None));
    assert_eq!(outcome("after bare LF"), (Some(RejectKind::LineEnding), None));
}

/// However the bytes of a vector are cut in two, the front sees the same.
#[test]
fn arrival_makes_no_difference() {
    for vector in fixture::all() {
        let bytes = vector.parts().concat();
        let whole = serve(&vector);
        let seen = |front: &Front| {
            let taken: Vec<_> = front.taken.iter().map(|taken| (taken.target.clone(), taken.body.clone())).collect();
            (taken, front.rejected)
        };
        for cut in 0..bytes.len() {
            let mut front = Front::default();
            front.receive(&bytes[..cut]);
            assert!(front.rejected.is_none() || front.rejected == whole.rejected, "{} at {cut}", vector.title());
            front.receive(&bytes[cut..]);
            assert_eq!(seen(&front), seen(&whole), "{} at {cut}", vector.title());
        }
    }
}
