//! The requests an upstream gets: our own headers only, framing rebuilt, bodies as `dialect` writes them.

use super::outlet;
use crate::budget::Share;
use crate::intake::Call;
use bytes::Bytes;
use pingora_http::RequestHeader;
use spillway_filters::answer::Content;
use spillway_filters::dialect::{Asked, Caller};
use spillway_filters::edit::Piece;
use spillway_filters::validate::Dialect;
use spillway_policies::url::BaseUrl;
use spillway_policies::{Cause, Class, Failure, Surface};

const USER_AGENT: &str = concat!("spillway/", env!("CARGO_PKG_VERSION"));

/// One request, ready to be sent.
pub(super) struct Outgoing {
    pub(super) header: Box<RequestHeader>,
    pub(super) pieces: Vec<Bytes>,
    /// What the held body takes of the budget of held bytes; it goes with the last request.
    pub(super) share: Option<Share>,
}

/// The call as `dialect` wants it. Invariant: no header of the caller is looked at but its formats.
pub(super) fn caller(call: &Call, dialect: Dialect) -> Caller<'_> {
    Caller {
        surface: call.surface.expect("only inference is asked of an upstream"),
        dialect,
        format: call.format,
        content_type: call.content_type().unwrap_or_default(),
        reads: reads(call),
        body: call.held.body(),
        model: &call.model,
        model_span: call.model_span.clone(),
        second_rerank: call.second_rerank,
        details: call.details(),
        id: outlet::fresh_id(call.surface),
        created_s: super::unix_s(),
    }
}

/// The requests of one attempt, in order; `asked` gives its bodies away.
pub(super) fn outgoing(
    asked: &mut Asked,
    base_url: &BaseUrl,
    bearer: Option<&http::HeaderValue>,
    call: Call,
) -> Result<Vec<Outgoing>, Failure> {
    let (held, share) = call.held.into_body();
    let path = format!("{}{}", base_url.path(), asked.path);
    let bodies = std::mem::take(&mut asked.bodies);
    let request = |pieces: Vec<Piece>| {
        let pieces: Vec<Bytes> = pieces.into_iter().map(|piece| bytes(&held, piece)).collect();
        let length = pieces.iter().map(Bytes::len).sum();
        let header = header(asked, &path, base_url.authority(), length, bearer);
        let header = header.map_err(|_| Failure::new(Cause::Credential, Class::Final))?;
        Ok(Outgoing { header: Box::new(header), pieces, share: None })
    };
    let mut requests = bodies.into_iter().map(request).collect::<Result<Vec<_>, Failure>>()?;
    if let Some(last) = requests.last_mut() {
        last.share = share;
    }
    Ok(requests)
}

fn bytes(held: &Bytes, piece: Piece) -> Bytes {
    match piece {
        Piece::Held(range) => held.slice(range),
        Piece::New(bytes) => Bytes::from(bytes),
    }
}

fn header(
    asked: &Asked,
    path: &str,
    host: &str,
    length: usize,
    bearer: Option<&http::HeaderValue>,
) -> pingora_error::Result<RequestHeader> {
    let mut header = RequestHeader::build("POST", path.as_bytes(), Some(8))?;
    header.insert_header("Host", host)?;
    header.insert_header("User-Agent", USER_AGENT)?;
    header.insert_header("Accept", asked.accept)?;
    header.insert_header("Accept-Encoding", "identity")?;
    header.insert_header("Content-Type", asked.content_type.as_str())?;
    header.insert_header("Content-Length", length.to_string())?;
    if let Some(bearer) = bearer {
        header.insert_header("Authorization", bearer.clone())?;
    }
    Ok(header)
}

/// What the caller reads: JSON always on OpenAI surfaces, by `Accept` on native ones (contract section 1.2).
fn reads(call: &Call) -> Content {
    let negotiates = matches!(call.surface, Some(Surface::Encode | Surface::Extract | Surface::Score));
    if !negotiates {
        return Content::Json;
    }
    let Some(accept) = header_value(call.held.head(), b"accept") else { return Content::Msgpack };
    let has = |kind: &[u8]| accept.windows(kind.len()).any(|window| window.eq_ignore_ascii_case(kind));
    if !has(b"application/msgpack") && !has(b"application/x-msgpack") && has(b"application/json") {
        Content::Json
    } else {
        Content::Msgpack
    }
}

/// The value of a header line in a raw head.
fn header_value<'h>(head: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    head.split(|byte| *byte == b'\n').take_while(|line| *line != b"\r").find_map(|line| {
        let (field, value) = line.split_at_checked(name.len() + 1)?;
        (field[..name.len()].eq_ignore_ascii_case(name) && field[name.len()] == b':').then(|| value.trim_ascii())
    })
}
