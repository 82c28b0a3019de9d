//! Server-sent events, however they are cut and whatever their line ends are.

use proptest::prelude::*;
use spillway_filters::event_stream::{Event, EventStream, EventTooLarge, write_event};

const LIMIT: usize = 1 << 20;

fn event(name: &str, data: &str) -> Event {
    Event { name: (!name.is_empty()).then(|| name.into()), data: data.into() }
}

/// The events of a stream that comes in these pieces.
fn read<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<Event> {
    let mut stream = EventStream::new(LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        stream.feed(piece);
        while let Some(event) = stream.next_event().expect("no event is too large") {
            events.push(event);
        }
    }
    events.extend(std::iter::from_fn(|| stream.finish()));
    events
}

#[test]
fn events_are_found_in_every_form() {
    for (stream, wanted) in [
        ("data: a\n\n", vec![event("", "a")]),
        ("data:a\r\n\r\ndata: b\r\n\r\n", vec![event("", "a"), event("", "b")]),
        ("data: a\r\rdata: b\r\r", vec![event("", "a"), event("", "b")]),
        ("data: a\r\n\ndata: b\n\r\n", vec![event("", "a"), event("", "b")]),
        ("\u{feff}data: a\n\n", vec![event("", "a")]),
        ("data: a\n\n\u{feff}data: b\n\n", vec![event("", "a")]),
        ("data: a\ndata:b\ndata:  c\n\n", vec![event("", "a\nb\n c")]),
        (": ping\n\ndata: a\n\n", vec![event("", "a")]),
        (": ping\ndata: a\n: ping\n\n", vec![event("", "a")]),
        ("event: error\nid: 7\nretry: 9\ndata: a\n\n", vec![event("error", "a")]),
        ("event: x\n\ndata: a\n\n", vec![event("", "a")]),
        ("event: x\nevent:\ndata: a\n\n", vec![event("", "a")]),
        ("retry: 1500\n\nid: 7\n\n\n\n", vec![]),
        ("data\n\n", vec![event("", "")]),
        ("data:\ndata:\n\n", vec![event("", "\n")]),
        ("datum: a\n data: b\n\n", vec![]),
        ("data: : keepalive\n\n", vec![event("", ": keepalive")]),
        ("data: [DONE]", vec![event("", "[DONE]")]),
        ("data: [DONE]\n", vec![event("", "[DONE]")]),
        ("data: a\n\ndata: b\r", vec![event("", "a"), event("", "b")]),
        ("\u{feff}", vec![]),
        ("", vec![]),
        (": only a comment", vec![]),
        ("data: 你好\n\n", vec![event("", "你好")]),
    ] {
        assert_eq!(read([stream.as_bytes()]), wanted, "{stream:?}");
        assert_eq!(read(stream.as_bytes().chunks(1)), wanted, "{stream:?} byte by byte");
    }
}

#[test]
fn an_event_is_there_as_soon_as_its_blank_line_is() {
    for end in ["\n\n", "\r\r", "\r\n\r"] {
        let mut stream = EventStream::new(LIMIT);
        stream.feed(format!("data: a{end}").as_bytes());
        assert_eq!(stream.next_event(), Ok(Some(event("", "a"))), "{end:?}");
        stream.feed(b"\ndata: b\n\n");
        assert_eq!(stream.next_event(), Ok(Some(event("", "b"))), "{end:?}");
        assert_eq!(stream.next_event(), Ok(None));
    }
}

#[test]
fn finish_gives_the_events_that_were_not_asked_for() {
    let mut stream = EventStream::new(LIMIT);
    stream.feed(b"data: a\n\ndata: b\n\ndata: c");
    let events: Vec<_> = std::iter::from_fn(|| stream.finish()).collect();
    assert_eq!(events, [event("", "a"), event("", "b"), event("", "c")]);
}

#[test]
fn an_event_over_the_bound_ends_the_reading() {
    let too_large = Err(EventTooLarge { limit: 16 });
    for stream in [
        "data: 12345678901\n\n",
        "data: 123456\ndata: 123456\ndata: 123456\n\n",
        "event: 1234567890\ndata: 1234567890\n\n",
        ": 123456789012345",
        "datadatadatadatada",
    ] {
        for size in [1, 3, stream.len()] {
            let mut reader = EventStream::new(16);
            let mut last = Ok(None);
            for piece in stream.as_bytes().chunks(size) {
                reader.feed(piece);
                last = reader.next_event();
                if last.is_err() {
                    break;
                }
            }
            assert_eq!(last, too_large, "{stream:?} by {size}");
            reader.feed(b"\n\ndata: a\n\n");
            assert_eq!(reader.next_event(), too_large);
            assert_eq!(reader.finish(), None);
        }
    }
    let mut reader = EventStream::new(16);
    reader.feed(b": 12345678901234\n\n: 12345678901234\n\ndata: 1234567890\n\ndata: 1234567890\n\n");
    assert_eq!(reader.next_event(), Ok(Some(event("", "1234567890"))), "comments and earlier events do not count");
    assert_eq!(reader.next_event(), Ok(Some(event("", "1234567890"))));
}

/// One line of a stream, or the start of one.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("data: x".to_owned()),
        Just("data:".to_owned()),
        Just("event: e".to_owned()),
        Just(": c".to_owned()),
        Just("id: 1".to_owned()),
        Just(String::new()),
        Just(String::new()),
        Just("\u{feff}data: ü".to_owned()),
        "[a-z: ]{0,6}",
    ]
}

proptest! {
    #[test]
    fn every_cut_gives_the_same_events(
        lines in prop::collection::vec((line(), prop_oneof![Just("\n"), Just("\r"), Just("\r\n")]), 0..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let stream: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
        let stream = stream.as_bytes();
        let whole = read([stream]);
        for at in 0..=stream.len() {
            prop_assert_eq!(&read([&stream[..at], &stream[at..]]), &whole, "cut at {}", at);
        }
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        prop_assert_eq!(&read(places.windows(2).map(|pair| &stream[pair[0]..pair[1]])), &whole);
    }

    #[test]
    fn what_is_written_is_read_back(data in "[^\r]{0,60}") {
        let mut out = Vec::new();
        write_event(data.as_bytes(), &mut out);
        prop_assert_eq!(read([out.as_slice()]), vec![event("", &data)]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
        let mut stream = EventStream::new(24);
        for piece in &pieces {
            stream.feed(piece);
            while let Ok(Some(event)) = stream.next_event() {
                prop_assert!(event.data.len() <= 24);
                let mut out = Vec::new();
                write_event(&event.data, &mut out);
            }
        }
        while stream.finish().is_some() {}
    }
}
