//! Lines, progress and bytes, without a process.

use super::{Output, Stream};
use std::io::{self, Read};
use std::sync::Arc;
use std::thread;

fn written(texts: &'static [&'static str], chunks: &[&[u8]]) -> Arc<Output> {
    let output = Output::new(texts);
    for chunk in chunks {
        output.keep(Stream::Stdout, chunk);
    }
    output
}

#[test]
fn lines_are_told_apart_wherever_the_chunks_are_cut() {
    let output = written(&[], &[b"one\ntw", b"o\r", b"\nthr", b"ee"]);
    assert_eq!(output.lines(), ["one", "two", "three"]);
}

#[test]
fn of_a_line_that_rewrites_itself_the_last_state_is_kept() {
    assert_eq!(written(&[], &[b"10%\r20%", b"\r30%\r\nnext\n"]).lines(), ["30%", "next"]);
    assert_eq!(written(&[], &[b"a\n\r10%\r", b"20%"]).lines(), ["a", "20%"]);
}

#[test]
fn the_last_64_lines_are_kept_and_at_most_1_kib_of_each() {
    let output = Output::new(&[]);
    for number in 0..200 {
        output.keep(Stream::Stderr, format!("{number}\n").as_bytes());
    }
    output.keep(Stream::Stdout, &b"x".repeat(5000));
    let lines = output.lines();
    assert_eq!((lines.len(), lines[0].as_str(), lines[62].as_str(), lines[63].len()), (64, "137", "199", 1024));
    output.keep(Stream::Stdout, &[b"\n".as_slice(), &b"\xff".repeat(1000)].concat());
    assert!(output.lines()[63].len() <= 1024, "invalid bytes are three bytes each when they are shown");
}

#[test]
fn the_two_streams_do_not_mix_within_a_line() {
    let output = Output::new(&[]);
    output.keep(Stream::Stdout, b"out");
    output.keep(Stream::Stderr, b"err\nhalf");
    output.keep(Stream::Stdout, b"put\n");
    assert_eq!(output.lines(), ["err", "output", "half"]);
    output.end(Stream::Stderr);
    output.keep(Stream::Stdout, b"last");
    assert_eq!(output.lines(), ["err", "output", "half", "last"]);
}

#[test]
fn what_is_shown_does_nothing_to_a_terminal() {
    let shown = |line: &[u8]| written(&[], &[line]).lines().concat();
    assert_eq!(shown(b"\x1b[1;31mred\x1b[0m\tand\x1b[2K plain"), "red and plain");
    assert_eq!(shown(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b(Bc\x1b7d"), "abcd");
    assert_eq!(shown(b"bell\x07 back\x08 nul\0 bad\xff"), "bell\u{fffd} back\u{fffd} nul\u{fffd} bad\u{fffd}");
    assert_eq!(shown("a\u{9b}31mb\u{85}c\u{202e}d\u{2028}e".as_bytes()), "ab\u{fffd}c\u{fffd}d\u{fffd}e");
    assert_eq!(shown(b"cut\x1b[3"), "cut");
}

#[test]
fn progress_is_the_last_line_that_tells_of_it() {
    let output = written(&["Loading", "shards"], &[b"  Loading 1\n", b"other\n"]);
    assert_eq!(output.progress().as_deref(), Some("Loading 1"));
    output.keep(Stream::Stderr, b"\x1b[32mINFO\x1b[0m Loading 2 | \x1b[1m40%\x1b[0m\rdone\n");
    assert_eq!(output.progress().as_deref(), Some("INFO Loading 2 | 40%"));
    output.keep(Stream::Stderr, b"\rshards: 50%");
    assert_eq!(output.progress().as_deref(), Some("shards: 50%"), "nothing ends the line of a bar");
    output.keep(Stream::Stderr, format!("\r{}", "shards ä".repeat(100)).as_bytes());
    assert_eq!(output.progress().map(|line| line.chars().count()), Some(200));
    output.begin();
    assert_eq!(output.progress(), None);
    assert_eq!(output.lines()[0], "  Loading 1", "a new process does not take the lines of the one before");
}

#[test]
fn changes_of_progress_are_counted_and_nothing_else() {
    let output = written(&["Loading"], &[]);
    let changed = output.changed();
    output.keep(Stream::Stdout, b"Loading 1\nother\n");
    assert_eq!(*changed.borrow(), 1);
    output.keep(Stream::Stdout, b"Loading 1\nother\n");
    assert_eq!(*changed.borrow(), 1);
    output.begin();
    output.begin();
    assert_eq!(*changed.borrow(), 2);
}

#[test]
fn bytes_come_out_as_they_went_in() {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_003).collect();
    let (mut passed, to) = io::pipe().expect("a pipe");
    let output = Output::new(&[]);
    let passing = thread::spawn({
        let (output, bytes) = (output.clone(), bytes.clone());
        move || output.pass(Stream::Stdout, bytes.as_slice(), to)
    });
    let mut seen = Vec::new();
    passed.read_to_end(&mut seen).expect("the pipe reads");
    passing.join().expect("it ends with its input");
    assert!(seen == bytes, "what came out is not what went in");
}

#[test]
fn a_reader_that_has_gone_does_not_end_the_writer() {
    let (reader, to) = io::pipe().expect("a pipe");
    drop(reader);
    let output = Output::new(&[]);
    output.pass(Stream::Stdout, io::Cursor::new(b"one\ntwo").chain(b"\nthree".as_slice()), to);
    assert_eq!(output.lines(), ["one", "two", "three"]);
}

#[test]
fn a_stream_that_does_not_block_is_waited_for() {
    let (mut from, to) = std::os::unix::net::UnixStream::pair().expect("a pair");
    to.set_nonblocking(true).expect("it can be set");
    let bytes = vec![7; 3_000_000];
    let passing = thread::spawn({
        let bytes = bytes.clone();
        move || Output::new(&[]).pass(Stream::Stderr, bytes.as_slice(), to)
    });
    let mut seen = Vec::new();
    from.read_to_end(&mut seen).expect("it reads");
    passing.join().expect("it ends with its input");
    assert!(seen == bytes, "what came out is not what went in");
}

#[test]
fn an_interrupted_read_is_tried_again() {
    struct Interrupted(bool);
    impl Read for Interrupted {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            if std::mem::take(&mut self.0) { Err(io::ErrorKind::Interrupted.into()) } else { Ok(0) }
        }
    }
    let (_reader, to) = io::pipe().expect("a pipe");
    let output = Output::new(&[]);
    output.pass(Stream::Stdout, Interrupted(true).chain(b"rest".as_slice()), to);
    assert_eq!(output.lines(), ["rest"]);
}
