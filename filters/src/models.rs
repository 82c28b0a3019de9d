//! What does `/v1/models` say? The engine's list, with policy and upstream kind filled in and remote-backed models added.
//!
//! What the engine wrote stays the bytes it was: entries keep their order, unknown members and digits, and only `routing` is rewritten
//! (contract section 9). A list in SIE's shape gets the list of OpenAI's beside it, as SIE's gateway writes it.

mod entry;
mod list;

use crate::answer::{Content, Members};
use crate::wire::lines;
use entry::{Entry, json};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};
use spillway_policies::Routes;

/// How the engine answered when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// 200: with what it has.
    Known,
    /// 404: it has no such model, or no such list.
    Unknown,
    /// 503: it is there and serves nothing yet. Some engines refuse every path while they load.
    Loading,
    /// Nothing: it was never reached in this life.
    Starting,
    /// Nothing: it was reached before and is not there now.
    Unreachable,
}

/// What the answer is completed from.
#[derive(Clone, Copy, Debug)]
pub struct Book<'a> {
    /// The configured models.
    pub routes: &'a Routes,
    /// Whether upstreams may be asked at all.
    pub remote_serving: bool,
    /// How the engine answered.
    pub said: Said,
}

const PATH: &str = "/v1/models/";

/// What stays as it is in the path of a model.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b':');

/// The model that the path `/v1/models/{m}` names; none for the list.
#[must_use]
pub fn wanted(path: &[u8]) -> Option<String> {
    Some(percent_decode(path.strip_prefix(PATH.as_bytes())?).decode_utf8_lossy().into_owned())
}

/// The path at which an engine describes one model.
#[must_use]
pub fn path(model: &str) -> String {
    format!("{PATH}{}", encoded(model))
}

/// A model's name as it stands in a path.
pub(crate) fn encoded(model: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(model, PLAIN)
}

/// Takes out of a request's head what would make the engine answer in a form that cannot be completed, or not at all.
pub fn ask_plainly(request_head: &mut Vec<u8>) {
    drop_lines(request_head, &["Accept-Encoding", "If-Modified-Since", "If-None-Match", "If-Range", "Range"]);
}

/// The head of a completed answer: the engine's, less what it says about its own body.
pub fn complete_head(answer_head: &mut Vec<u8>, length: usize) {
    const OF_THE_BODY: [&str; 10] = [
        "Accept-Ranges",
        "Content-Digest",
        "Content-Length",
        "Content-MD5",
        "Digest",
        "ETag",
        "Last-Modified",
        "Repr-Digest",
        "Trailer",
        "Transfer-Encoding",
    ];
    drop_lines(answer_head, &OF_THE_BODY);
    crate::disclose::line(answer_head, "Content-Length", &length.to_string());
}

fn drop_lines(head: &mut Vec<u8>, names: &[&str]) {
    let first = head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    lines::retain(head, first, |name| names.iter().any(|drop| name.eq_ignore_ascii_case(drop.as_bytes())));
}

/// The completed answer to a question for one model, or for the list. None: there is nothing to add, or the body is not what it should
/// be; the engine's answer stands as it came.
#[must_use]
pub fn complete(body: &[u8], wanted: Option<&str>, book: &Book<'_>) -> Option<Vec<u8>> {
    match wanted {
        None => list::list(body, book),
        Some(name) => one(body, &Entry::wanted(name, book.routes)?, book),
    }
}

fn one(body: &[u8], entry: &Entry<'_>, book: &Book<'_>) -> Option<Vec<u8>> {
    match book.said {
        Said::Known => {}
        Said::Unknown if !entry.is_remote() => return None,
        _ => return Some(json(&entry.both(book))),
    }
    let mut model = Members::read(Content::Json, body)?;
    if model.raw("id").is_none() {
        // SIE's gateway merges the four members of OpenAI's shape into its own (contract section 1.5).
        let name: String = model.read_member("name")?;
        list::merge_openai(&mut model, &name);
    }
    model.set("routing", json(&entry.routing()));
    Some(model.to_bytes())
}
