//! How does a caller learn that the engine broke its stream off in the middle? By the error of its own surface, once and last.
//!
//! Nothing is parsed for this while a stream is healthy: where its framing stands is known to the relay anyway, and of each piece only the
//! end is looked at. A stream that has said `[DONE]` is whole, whatever the engine does next: it is ended, and no error follows.

use super::{LAST_CHUNK, append_chunk};
use spillway_filters::stream_error;
use spillway_filters::wire::chunk::Framing;
use spillway_filters::wire::response::ResponseHead;
use spillway_policies::Surface;

/// A chunk of which more than this is missing is not filled up.
const MOST_FILL: usize = 64 * 1024;

/// The surface in whose words a stream can be told to have failed: it must be one of events, plain, and in chunks, for a length leaves no
/// room. `head` holds the header lines of the answer.
pub(super) fn teller(surface: Option<Surface>, answer: &ResponseHead, head: &[u8]) -> Option<Surface> {
    let chunked = matches!(answer.framing, Framing::Chunked(_) | Framing::UntilClose);
    surface.filter(|_| answer.status == 200 && answer.event_stream && chunked && !is_encoded(head))
}

fn is_encoded(head: &[u8]) -> bool {
    const NAME: &[u8] = b"content-encoding:";
    let mut lines = head.split(|byte| *byte == b'\n');
    lines.any(|line| line.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)))
}

/// Whether a stream is `done` after this piece of it, chunk framing included: its last line then was `[DONE]`. An end that comes in two
/// pieces may be missed; then the error follows it.
pub(super) fn is_done(done: bool, piece: &[u8]) -> bool {
    let text = piece.trim_ascii_end();
    if text.is_empty() {
        // The rest of line ends and of a chunk.
        return done;
    }
    let behind = &piece[text.len()..];
    // A chunk may end anywhere, a text with these words in it has no line end behind them.
    let line_ends = behind.starts_with(b"\n") || behind.starts_with(b"\r\n\r\n");
    line_ends && text.strip_suffix(b"[DONE]").is_some_and(|rest| rest.trim_ascii_end().ends_with(b"data:"))
}

/// The bytes that end the caller's stream, which stands at `framing` and has said `[DONE]`; none where nothing can follow.
pub(super) fn last(framing: Framing) -> Option<Vec<u8>> {
    let mut bytes = framed(framing, b"\n\n")?;
    bytes.extend_from_slice(LAST_CHUNK);
    Some(bytes)
}

/// The bytes that end the caller's stream, which stands at `framing`; none where nothing can follow.
pub(super) fn ending(surface: Surface, framing: Framing, silent: bool) -> Option<Vec<u8>> {
    let mut bytes = framed(framing, &stream_error::engine_broke_off(surface, silent))?;
    if stream_error::ends_whole(surface) {
        bytes.extend_from_slice(LAST_CHUNK);
    }
    Some(bytes)
}

/// The bytes that carry `text` where the framing stands: in what is left of a chunk that the engine began, and in one of ours. None when
/// the engine left off where nothing can follow.
fn framed(framing: Framing, text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let rest = match framing {
        Framing::Chunked(state) => {
            let owed = state.owed()?;
            let missing = usize::try_from(owed.content).ok().filter(|missing| *missing <= MOST_FILL)?;
            let (fill, rest) = text.split_at(missing.min(text.len()));
            out.extend_from_slice(fill);
            // Empty lines between events mean nothing.
            out.resize(missing, b'\n');
            out.extend_from_slice(owed.then.as_bytes());
            rest
        }
        Framing::UntilClose => text,
        Framing::Done | Framing::Length(_) => return None,
    };
    append_chunk(&mut out, rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillway_filters::wire::chunk::{ChunkState, Dechunk};

    const ERROR: &[u8] = b"\n\ndata: {\"error\":{}}\n\n";

    /// Wherever the engine leaves off between two bytes of content or of a chunk's end, what follows is one well-formed body.
    #[test]
    fn the_error_follows_wherever_a_chunk_was_left() {
        let large = String::from_utf8(crate::relay::chunk(br#"data: {"text":"a chunk larger than ours"}"#)).unwrap();
        for whole in ["2\r\nab\r\n3\r\ncde\r\n", &large] {
            for left_at in 0..=whole.len() {
                let mut framing = Framing::Chunked(ChunkState::new());
                let begun = &whole.as_bytes()[..left_at];
                assert_eq!(framing.feed(begun), Ok(left_at));
                let Some(end) = framed(framing, ERROR) else { continue };
                let mut plain = Vec::new();
                let all = [begun, &end, LAST_CHUNK].concat();
                assert_eq!(Dechunk::new().feed(&all, &mut plain, 1024), Ok((all.len(), true)), "{left_at}");
                let text = String::from_utf8(plain).unwrap();
                assert!(text.trim_end_matches('\n').ends_with(r#"data: {"error":{}}"#), "{left_at}: {text}");
                assert!(text.ends_with("\n\n"), "{left_at}: {text}");
            }
        }
    }

    #[test]
    fn a_stream_is_done_when_its_last_line_was() {
        let done = ["data: [DONE]\n\n", "e\r\ndata: [DONE]\n\n\r\n", "data:[DONE]\r\n\r\n", "x\n\ndata: [DONE]\n"];
        assert!(done.iter().all(|piece| is_done(false, piece.as_bytes())));
        let not = ["data: {}\n\n", "data: [DONE]", "4\r\ndata: [DONE]\r\n", "[DONE]\n\n", "data: [DONE]\n\ndata: {\n"];
        assert!(!not.iter().any(|piece| is_done(true, piece.as_bytes())));
        assert!(is_done(true, b"\n\r\n") && !is_done(false, b"\n\r\n"));
    }

    #[test]
    fn nothing_follows_inside_a_chunk_size_a_length_or_a_huge_chunk() {
        for begun in ["2", "2;x", "2\r", "0\r\n", "fffff\r\nab"] {
            let mut framing = Framing::Chunked(ChunkState::new());
            assert_eq!(framing.feed(begun.as_bytes()), Ok(begun.len()));
            assert_eq!(framed(framing, ERROR), None, "{begun:?}");
        }
        assert_eq!(framed(Framing::Length(5), ERROR), None);
    }

    #[test]
    fn a_compressed_stream_cannot_be_added_to() {
        assert!(is_encoded(b"HTTP/1.1 200 OK\r\nContent-encoding: gzip\r\n"));
        assert!(!is_encoded(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
    }
}
