//! The request an upstream gets: our own headers only, framing rebuilt, the caller's body with the upstream's name for the model.

use crate::intake::Call;
use pingora_http::RequestHeader;
use spillway_filters::call::Format;
use spillway_filters::edit::{self, Piece};
use spillway_filters::multipart;
use spillway_filters::names;
use spillway_filters::paths;
use spillway_policies::upstream::Kind;
use spillway_policies::verdict::Plan;
use spillway_policies::{Cause, Class, Failure};

const USER_AGENT: &str = concat!("spillway/", env!("CARGO_PKG_VERSION"));

/// What is sent.
pub(super) struct Request {
    pub(super) header: Box<RequestHeader>,
    pub(super) pieces: Vec<Piece>,
}

/// Builds the request. Invariant: no header of the caller is looked at but its formats.
pub(super) fn build(call: &Call, plan: &Plan<'_>, bearer: Option<http::HeaderValue>) -> Result<Request, Failure> {
    let upstream = &plan.remote.upstream;
    let openai = matches!(upstream.kind, Kind::Openai(_));
    let model = plan.remote.model.as_str();
    let body = call.held.body();
    if call.details().profile.is_some() {
        return unprofiled(call, plan, bearer);
    }
    let pieces = match &call.model_span {
        None => vec![Piece::Held(0..body.len())],
        Some(_) if openai && !(upstream.params.set.is_empty() && upstream.params.strip.is_empty()) => {
            edit::with_params(body, model, &upstream.params)
                .map_err(|_| Failure::new(Cause::NotReplayable, Class::Final))?
        }
        Some(span) => edit::renamed(call.format, body.len(), span.clone(), model),
    };
    finish(call, plan, bearer, pieces)
}

/// The same for a call that names one of our profiles in its body: rare, so it may copy.
fn unprofiled(call: &Call, plan: &Plan<'_>, bearer: Option<http::HeaderValue>) -> Result<Request, Failure> {
    let unreplayable = Failure::new(Cause::NotReplayable, Class::Final);
    let openai = matches!(plan.remote.upstream.kind, Kind::Openai(_));
    let body = edit::without_profile(plan.surface, call.format, openai, call.held.body()).ok_or(unreplayable)?;
    let pieces = match call.model_span {
        None => vec![Piece::New(body)],
        Some(_) => {
            let params = &plan.remote.upstream.params;
            let pieces = edit::with_params(&body, plan.remote.model.as_str(), params).map_err(|_| unreplayable)?;
            vec![Piece::New(pieces.into_iter().flat_map(|piece| own(piece, &body)).collect())]
        }
    };
    finish(call, plan, bearer, pieces)
}

fn own(piece: Piece, body: &[u8]) -> Vec<u8> {
    match piece {
        Piece::Held(range) => body[range].to_vec(),
        Piece::New(bytes) => bytes,
    }
}

fn finish(
    call: &Call,
    plan: &Plan<'_>,
    bearer: Option<http::HeaderValue>,
    pieces: Vec<Piece>,
) -> Result<Request, Failure> {
    let upstream = &plan.remote.upstream;
    let openai = matches!(upstream.kind, Kind::Openai(_));
    let model = plan.remote.model.as_str();
    let length: usize = pieces.iter().map(piece_len).sum();
    let path = format!("{}{}", upstream.base_url.path(), paths::upstream_path(plan.surface, model, openai));
    let header = header(call, &path, upstream.base_url.authority(), length, bearer);
    let header = header.map_err(|_| Failure::new(Cause::Credential, Class::Final))?;
    Ok(Request { header: Box::new(header), pieces })
}

fn piece_len(piece: &Piece) -> usize {
    match piece {
        Piece::Held(range) => range.len(),
        Piece::New(bytes) => bytes.len(),
    }
}

fn header(
    call: &Call,
    path: &str,
    host: &str,
    length: usize,
    bearer: Option<http::HeaderValue>,
) -> pingora_error::Result<RequestHeader> {
    let mut header = RequestHeader::build("POST", path.as_bytes(), Some(8))?;
    header.insert_header("Host", host)?;
    header.insert_header("User-Agent", USER_AGENT)?;
    header.insert_header("Accept", accept(call))?;
    header.insert_header("Accept-Encoding", "identity")?;
    header.insert_header("Content-Type", content_type(call))?;
    header.insert_header("Content-Length", length.to_string())?;
    if let Some(bearer) = bearer {
        header.insert_header("Authorization", bearer)?;
    }
    Ok(header)
}

fn accept(call: &Call) -> &'static str {
    match call.format {
        _ if call.details().stream => names::EVENT_STREAM,
        Format::Multipart => "*/*",
        Format::Json | Format::Msgpack if wants_json(call) => names::JSON,
        Format::Json | Format::Msgpack => names::MSGPACK,
    }
}

/// Whether the caller gets JSON: always on OpenAI surfaces, by `Accept` on native ones (contract section 1.2).
pub(super) fn wants_json(call: &Call) -> bool {
    let Some(surface) = call.surface else { return true };
    if !surface.is_native() || surface == spillway_policies::Surface::Generate {
        return true;
    }
    let Some(accept) = header_value(call.held.head(), b"accept") else { return false };
    let has = |kind: &[u8]| accept.windows(kind.len()).any(|window| window.eq_ignore_ascii_case(kind));
    !has(b"application/msgpack") && !has(b"application/x-msgpack") && has(b"application/json")
}

fn content_type(call: &Call) -> String {
    match call.format {
        Format::Json => names::JSON.to_owned(),
        Format::Msgpack => names::MSGPACK.to_owned(),
        Format::Multipart => {
            let boundary = call.content_type().and_then(multipart::boundary).unwrap_or_default();
            format!("multipart/form-data; boundary=\"{}\"", String::from_utf8_lossy(boundary))
        }
    }
}

/// The value of a header line in a raw head.
fn header_value<'h>(head: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    head.split(|byte| *byte == b'\n').take_while(|line| *line != b"\r").find_map(|line| {
        let (field, value) = line.split_at_checked(name.len() + 1)?;
        (field[..name.len()].eq_ignore_ascii_case(name) && field[name.len()] == b':').then(|| value.trim_ascii())
    })
}
