//! Where do bodies end, which chunk framing is refused, and what is left of a body without it?

use spillway_filters::wire::RejectKind;
use spillway_filters::wire::chunk::{ChunkState, Dechunk, DechunkError, FrameError, Framing};

use crate::laws;

fn decode(text: &str) -> Result<(String, usize, bool), DechunkError> {
    laws::chunk_laws(text.as_bytes());
    let mut body = b"head".to_vec();
    let (taken, done) = Dechunk::new().feed(text.as_bytes(), &mut body, 64)?;
    Ok((String::from_utf8(body.split_off(4)).expect("text"), taken, done))
}

fn fault(text: &str) -> FrameError {
    match decode(text) {
        Err(DechunkError::Malformed(error)) => error,
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn content_comes_out_and_the_next_message_stays() {
    let text = "5\r\nhello\r\n00a;a=b ; c=\"d\\\"\t;\" ;e\r\n, to you..\r\n0;z\r\nX-T: 1\r\nY:\r\n\r\nGET /";
    assert_eq!(decode(text), Ok(("hello, to you..".to_owned(), text.len() - 5, true)));
    assert_eq!(decode("5\r\nhel"), Ok(("hel".to_owned(), 6, false)));
    assert_eq!(decode(""), Ok((String::new(), 0, false)));
}

#[test]
fn broken_framing_is_refused_at_its_first_byte() {
    for (text, want) in [
        ("\r\n", FrameError::ChunkSize),
        (" 5\r\n", FrameError::ChunkSize),
        ("-5\r\n", FrameError::ChunkSize),
        ("0x5\r\n", FrameError::ChunkSize),
        ("5_0\r\n", FrameError::ChunkSize),
        ("00000000000000005\r\n", FrameError::ChunkSize),
        ("5\n", FrameError::LineEnding),
        ("5\rh", FrameError::LineEnding),
        ("5 \r\n", FrameError::ChunkExtension),
        ("5;\r\n", FrameError::ChunkExtension),
        ("5;a=\r\n", FrameError::ChunkExtension),
        ("5;a b\r\n", FrameError::ChunkExtension),
        ("5;a=b c\r\n", FrameError::ChunkExtension),
        ("5;a=\"b\" c\r\n", FrameError::ChunkExtension),
        ("5;a=\"b\r\n", FrameError::ChunkExtension),
        ("5;a=\"b\"c\r\n", FrameError::ChunkExtension),
        ("5;a\n", FrameError::ChunkExtension),
        ("2\r\nabc\r\n", FrameError::ChunkEnd),
        ("2\r\nab\n", FrameError::ChunkEnd),
        ("2\r\nab\rc", FrameError::ChunkEnd),
        ("0\r\nA\r\n", FrameError::TrailerSyntax),
        ("0\r\n: b\r\n", FrameError::TrailerSyntax),
        ("0\r\nA : b\r\n", FrameError::TrailerSyntax),
        ("0\r\nA: b\r\n c\r\n", FrameError::TrailerSyntax),
        ("0\r\nA: b\0\r\n", FrameError::TrailerSyntax),
        ("0\r\nA: b\n", FrameError::LineEnding),
        ("0\r\n\n", FrameError::LineEnding),
        ("0\r\n\r\r", FrameError::LineEnding),
    ] {
        assert_eq!(fault(text), want, "{text:?}");
    }
}

#[test]
fn trailers_cannot_frame_route_or_authenticate() {
    for name in [
        "Content-Length",
        "content_length",
        "Transfer-Encoding",
        "Host",
        "Authorization",
        "Cookie",
        "Set-Cookie",
        "Content-Type",
        "Content-Range",
        "Connection",
        "TE",
        "Trailer",
        "X-SIE-Remote",
        "x_sie_served_by",
        "Spillway-Cause",
        "X-Forwarded-For",
        "Content-A-Name-Longer-Than-The-Memory",
    ] {
        assert_eq!(fault(&format!("0\r\nX: y\r\n{name}: 1\r\n\r\n")), FrameError::ForbiddenTrailer, "{name}");
    }
    for name in ["ETag", "Server-Timing", "grpc-status", "Contents", "A-Name-That-Is-Longer-Than-The-Memory"] {
        assert!(decode(&format!("0\r\n{name}: 1\r\n\r\n")).is_ok_and(|(_, _, done)| done), "{name}");
    }
}

#[test]
fn extensions_and_trailers_are_bounded() {
    let extended = |bytes: usize| format!("1;{}\r\na\r\n0\r\n\r\n", "e".repeat(bytes - 2));
    assert!(decode(&extended(1024)).is_ok());
    assert_eq!(fault(&extended(1026)), FrameError::ChunkExtension);
    let paid = format!("3e8;{}\r\n{}\r\n", "e".repeat(1000), "a".repeat(1000)).repeat(100);
    assert_eq!(
        Framing::Chunked(ChunkState::new()).feed(paid.as_bytes()),
        Ok(paid.len()),
        "each chunk has its own allowance"
    );
    let debt = format!("1;{}\r\na\r\n", "e".repeat(99)).repeat(170);
    let mut framing = Framing::Chunked(ChunkState::new());
    assert_eq!(
        framing.feed(debt.as_bytes()),
        Err(FrameError::ChunkExtension),
        "more extension than content, again and again"
    );

    let lines = |count: usize| format!("0\r\n{}\r\n", "A: b\r\n".repeat(count));
    assert!(decode(&lines(32)).is_ok_and(|(_, _, done)| done));
    assert_eq!(fault(&lines(33)), FrameError::TrailersTooLarge);
    let long = |bytes: usize| format!("0\r\nA: {}\r\n\r\n", "b".repeat(bytes - 5));
    assert!(decode(&long(8192)).is_ok_and(|(_, _, done)| done));
    assert_eq!(fault(&long(8193)), FrameError::TrailersTooLarge);
}

#[test]
fn a_body_over_the_limit_is_known_by_its_chunk_size() {
    assert_eq!(decode("40\r\n").map(|_| ()), Ok(()));
    assert_eq!(decode("41\r\n"), Err(DechunkError::TooLarge));
    assert_eq!(decode("3f\r\n"), Ok((String::new(), 4, false)));
    assert_eq!(decode("FFFFFFFFFFFFFFFF\r\n"), Err(DechunkError::TooLarge));
    let two = format!("20\r\n{}\r\n21\r\n", "a".repeat(32));
    assert_eq!(decode(&two), Err(DechunkError::TooLarge), "the limit is for all chunks together");
    assert_eq!(RejectKind::from(DechunkError::TooLarge).status(), 413);
    assert_eq!(RejectKind::from(DechunkError::Malformed(FrameError::ChunkSize)).status(), 400);
}

#[test]
fn a_relay_stops_at_the_end_of_each_kind_of_body() {
    let mut done = Framing::Done;
    assert_eq!((done.feed(b"next"), done.is_complete()), (Ok(0), true));
    let mut length = Framing::Length(5);
    assert_eq!((length.feed(b"abc"), length.is_complete()), (Ok(3), false));
    assert_eq!((length.feed(b"denext"), length.is_complete()), (Ok(2), true));
    let mut chunked = Framing::Chunked(ChunkState::new());
    assert_eq!((chunked.feed(b"3\r\nab"), chunked.is_complete()), (Ok(5), false));
    assert_eq!((chunked.feed(b"c\r\n0\r\n\r\nnext"), chunked.is_complete()), (Ok(8), true));
    let mut until_close = Framing::UntilClose;
    assert_eq!((until_close.feed(b"abc"), until_close.is_complete()), (Ok(3), false));
    assert!(until_close.until_close() && !chunked.until_close());
}

#[test]
fn framing_state_is_small_enough_for_every_stream() {
    assert!(size_of::<Framing>() <= 64, "{}", size_of::<Framing>());
}
