//! One request to a control surface: the engine's, or the shim's. Not on the path of any caller.

use crate::config::Address;
use bytes::Bytes;
use pingora_core::connectors::http::Connector;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_http::RequestHeader;
use std::sync::LazyLock;

/// Most bytes of an answer that are read.
const MOST_BYTES: usize = 64 * 1024;

/// What is asked.
pub(crate) struct Question<'a> {
    pub(crate) method: &'static str,
    pub(crate) path: &'a str,
    /// A JSON body; empty: none.
    pub(crate) body: String,
    /// Where, for the Host line.
    pub(crate) host: &'a Address,
}

/// The answer's status and the beginning of its body; none: there was no answer.
pub(crate) async fn ask(peers: &[HttpPeer], question: Question<'_>) -> Option<(u16, Bytes)> {
    let mut session = send(peers, question).await?;
    let status = session.response_header()?.status.as_u16();
    let mut body = Vec::new();
    while body.len() < MOST_BYTES {
        match session.read_response_body().await.ok()? {
            Some(piece) => body.extend_from_slice(&piece),
            None => break,
        }
    }
    Some((status, body.into()))
}

/// Whether anybody accepts a connection.
pub(crate) async fn is_there(peers: &[HttpPeer]) -> bool {
    connect(peers).await.is_some()
}

/// Sends a question and reads the head of its answer, on a connection of its own: a load may take minutes, a stream has no end.
pub(crate) async fn send(peers: &[HttpPeer], question: Question<'_>) -> Option<HttpSession> {
    let Question { method, path, body, host } = question;
    let host = match host {
        Address::Tcp(address) => address.as_str(),
        Address::Unix(_) => "localhost",
    };
    let mut session = connect(peers).await?;
    let mut header = RequestHeader::build(method, path.as_bytes(), Some(4)).ok()?;
    header.insert_header("Host", host).ok()?;
    if !body.is_empty() {
        header.insert_header("Content-Type", "application/json").ok()?;
    }
    if method != "GET" {
        header.insert_header("Content-Length", body.len().to_string()).ok()?;
    }
    session.write_request_header(Box::new(header)).await.ok()?;
    session.write_request_body(Bytes::from(body), true).await.ok()?;
    session.read_response_header().await.ok()?;
    Some(session)
}

/// Nothing is given back to it, so it keeps no connection. Making one costs milliseconds: it reads the system's certificates.
static CONNECTOR: LazyLock<Connector> = LazyLock::new(|| Connector::new(None));

async fn connect(peers: &[HttpPeer]) -> Option<HttpSession> {
    for peer in peers {
        if let Ok((session, _)) = CONNECTOR.get_http_session(peer).await {
            return Some(session);
        }
    }
    None
}
