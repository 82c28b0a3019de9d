//! What holds for every input of the codec, well-formed or not. Panics where it does not.
//!
//! Property tests, the replay of the corpus and the fuzz target all come here.

use spillway_filters::wire::chunk::{Dechunk, DechunkError, Framing};
use spillway_filters::wire::request::{self, RequestFraming, RequestHead, Verdict};
use spillway_filters::wire::response::{self, ResponseVerdict};
use spillway_filters::wire::{MAX_HEAD_BYTES, MAX_HEADERS};

/// Lines that never reach an engine, however they are spelled.
const NEVER_TO_ENGINE: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "spillway-cause",
    "te",
    "transfer-encoding",
    "x-sie-served-by",
    "x-sie-upstream",
];
/// Lines that never reach a caller from an engine.
const NEVER_TO_CALLER: [&str; 6] =
    ["keep-alive", "spillway-cause", "spillway-equivalence", "te", "x-sie-fallback-reason", "x-sie-served-by"];
/// The bound of decoded bodies here.
const LIMIT: usize = 1 << 16;

/// All laws on one input.
pub(crate) fn check(data: &[u8]) {
    request_laws(data);
    response_laws(data, false);
    response_laws(data, true);
    chunk_laws(data);
}

/// A prefix is never judged differently; what passes is strict, and means the same to the engine as to us.
pub(crate) fn request_laws(data: &[u8]) {
    let (whole, engine) = judge_request(data);
    for cut in cuts(data.len()) {
        let (early, early_engine) = judge_request(&data[..cut]);
        assert!(early == Verdict::NeedMore || (early == whole && early_engine == engine), "cut {cut}: {early:?}");
    }
    match &whole {
        Verdict::Fast(head) | Verdict::Upgrade(head) => {
            strict_head(data, head.len);
            accepted_by_httparse(data, head.len);
            engine_agrees(data, head, &engine, matches!(whole, Verdict::Upgrade(_)));
        }
        Verdict::Http10(head) => {
            strict_head(data, head.len);
            accepted_by_httparse(data, head.len);
            assert_ne!(head.framing, RequestFraming::Chunked);
        }
        Verdict::Reject(reject) => {
            assert!((400..600).contains(&reject.kind.status()));
            assert!(
                reject
                    .path
                    .as_ref()
                    .is_none_or(|path| data[path.clone()].starts_with(b"/") || data[path.clone()] == *b"*")
            );
        }
        Verdict::NeedMore => assert!(data.len() < MAX_HEAD_BYTES + 4),
        Verdict::Http2Preface => {}
    }
}

/// The same for answers.
pub(crate) fn response_laws(data: &[u8], request_was_head: bool) {
    let (whole, caller) = judge_response(data, request_was_head);
    for cut in cuts(data.len()) {
        let (early, early_caller) = judge_response(&data[..cut], request_was_head);
        let same = early == whole && early_caller == caller;
        assert!(early == ResponseVerdict::NeedMore || same, "cut {cut}: {early:?}");
    }
    let ResponseVerdict::Head(head) = whole else { return };
    strict_head(data, head.len);
    let again = [caller.as_slice(), b"\r\n"].concat();
    let (reread, recopied) = judge_response(&again, request_was_head);
    let ResponseVerdict::Head(reread) = reread else { panic!("the caller cannot read {reread:?}") };
    assert_eq!((reread.status, reread.framing, reread.event_stream), (head.status, head.framing, head.event_stream));
    assert_eq!(reread.content_type.map(|range| &again[range]), head.content_type.map(|range| &data[range]));
    assert_eq!(recopied, caller, "rewriting twice changes nothing");
    if head.status != 101 {
        assert_absent(&caller, &NEVER_TO_CALLER);
        assert_absent(&caller, &["connection", "upgrade"]);
    }
}

/// A body decodes to the same bytes however it arrives, ends at the same place for the relay, and as a plain reading of it says.
pub(crate) fn chunk_laws(data: &[u8]) {
    let whole = dechunk(data.chunks(data.len().max(1)));
    assert_eq!(whole, dechunk(data.chunks(1)), "byte by byte");
    for cut in cuts(data.len()) {
        let (front, back) = data.split_at(cut);
        assert_eq!(whole, dechunk([front, back].into_iter()), "cut {cut}");
    }
    let mut framing = Framing::from(RequestFraming::Chunked);
    let relayed = framing.feed(data);
    match whole {
        Ok((body, taken, done)) => {
            assert!(body.len() <= LIMIT);
            assert_eq!((relayed, framing.is_complete()), (Ok(taken), done));
            if done {
                assert_eq!(plain_reading(data), Some((body, taken)));
            }
        }
        Err(DechunkError::Malformed(error)) => assert_eq!(relayed, Err(error)),
        Err(DechunkError::TooLarge) => {}
    }
}

fn judge_request(data: &[u8]) -> (Verdict, Vec<u8>) {
    let mut out = b"left over".to_vec();
    let verdict = request::parse(data, &mut out);
    let kept = matches!(verdict, Verdict::Fast(_) | Verdict::Upgrade(_));
    (verdict, if kept { out } else { Vec::new() })
}

fn judge_response(data: &[u8], request_was_head: bool) -> (ResponseVerdict, Vec<u8>) {
    let mut out = b"left over".to_vec();
    let verdict = response::parse(data, request_was_head, &mut out);
    let kept = matches!(verdict, ResponseVerdict::Head(_));
    (verdict, if kept { out } else { Vec::new() })
}

/// Where to cut an input in two: everywhere if it is short, else near its ends and here and there.
fn cuts(len: usize) -> impl Iterator<Item = usize> {
    let step = if len <= 512 { 1 } else { len / 64 };
    (0..len).step_by(step).chain(len.saturating_sub(4)..len)
}

/// No bare CR or LF, no NUL, nothing folded, and an empty line at the end.
fn strict_head(data: &[u8], len: usize) {
    assert!(len <= MAX_HEAD_BYTES + 4 && len <= data.len());
    let head = data[..len].strip_suffix(b"\r\n\r\n").expect("ends with an empty line");
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        assert!(!line.contains(&b'\r') && !line.contains(&0) && !line.starts_with(b" ") && !line.starts_with(b"\t"));
    }
    assert_eq!(
        head.iter().filter(|byte| **byte == b'\n').count(),
        head.windows(2).filter(|pair| pair == b"\r\n").count()
    );
}

fn accepted_by_httparse(data: &[u8], len: usize) {
    let mut slots = [httparse::EMPTY_HEADER; MAX_HEADERS];
    assert_eq!(httparse::Request::new(&mut slots).parse(data), Ok(httparse::Status::Complete(len)));
}

/// The engine's head, read by the same codec, is the same request; reading it again changes nothing.
fn engine_agrees(data: &[u8], head: &RequestHead, engine: &[u8], upgrade: bool) {
    let mut fixed = engine.to_vec();
    request::finish_fixed(&mut fixed, 7);
    let (reread, again) = judge_request(&fixed);
    if upgrade {
        let mut none = engine.to_vec();
        request::finish_none(&mut none);
        assert_eq!(judge_request(&none).1, engine, "rewriting twice changes nothing");
        return;
    }
    let Verdict::Fast(reread) = reread else { panic!("the engine cannot read {reread:?}") };
    assert_eq!(again, engine, "rewriting twice changes nothing");
    assert_eq!(reread.framing, RequestFraming::Length(7));
    assert_eq!(
        (reread.method, reread.remote, reread.content_encoded),
        (head.method, head.remote, head.content_encoded)
    );
    assert_eq!(fixed[reread.target.clone()], data[head.target.clone()]);
    assert_eq!(fixed[reread.path.clone()], data[head.path.clone()]);
    assert_eq!(reread.content_type.map(|range| &fixed[range]), head.content_type.clone().map(|range| &data[range]));
    assert_absent(engine, &NEVER_TO_ENGINE);
}

fn assert_absent(lines: &[u8], names: &[&str]) {
    for line in lines.split(|byte| *byte == b'\n').skip(1) {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        assert!(!names.contains(&name.as_str()), "{name}");
    }
}

type Decoded = Result<(Vec<u8>, usize, bool), DechunkError>;

fn dechunk<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Decoded {
    let (mut dechunk, mut body, mut taken, mut done) = (Dechunk::new(), Vec::new(), 0, false);
    for part in parts {
        let (now, ended) = dechunk.feed(part, &mut body, LIMIT)?;
        taken += now;
        done = ended;
        if ended {
            break;
        }
        assert_eq!(now, part.len(), "an unfinished body takes everything");
    }
    Ok((body, taken, done))
}

/// A second reader of chunked bodies, on httparse's chunk sizes.
fn plain_reading(data: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Ok(httparse::Status::Complete((line, size))) = httparse::parse_chunk_size(&data[at..]) else { return None };
        at += line;
        if size == 0 {
            let empty_line = data[at - 2..].windows(4).position(|four| four == b"\r\n\r\n")?;
            return Some((body, at - 2 + empty_line + 4));
        }
        let end = at + usize::try_from(size).ok()?;
        body.extend_from_slice(data.get(at..end)?);
        at = end + 2;
    }
}
