//! One request to a control surface: the engine's, or the shim's. Not on the path of any caller.

use crate::config::Address;
use bytes::Bytes;
use http::HeaderValue;
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

/// What a call authorises itself by, for a question that is asked on its behalf.
#[derive(Hash)]
pub(crate) struct Credential(HeaderValue);

impl Credential {
    /// What stands in the head of a call.
    pub(crate) fn of(call: &[u8]) -> Option<Self> {
        let named = |line: &&[u8]| line.get(..14).is_some_and(|name| name.eq_ignore_ascii_case(b"authorization:"));
        let line = call.split(|byte| *byte == b'\n').skip(1).find(named)?;
        let mut value = HeaderValue::from_bytes(line[14..].trim_ascii()).ok()?;
        // Whoever prints the request does not print this.
        value.set_sensitive(true);
        Some(Self(value))
    }
}

/// The answer's status and the beginning of its body; none: there was no answer.
pub(crate) async fn ask(peers: &[HttpPeer], question: Question<'_>) -> Option<(u16, Bytes)> {
    ask_as(None, peers, question).await
}

/// The same, with what the caller authorises itself by.
pub(crate) async fn ask_as(
    credential: Option<Credential>,
    peers: &[HttpPeer],
    question: Question<'_>,
) -> Option<(u16, Bytes)> {
    let mut session = send_as(credential, peers, question).await?;
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
    send_as(None, peers, question).await
}

async fn send_as(credential: Option<Credential>, peers: &[HttpPeer], question: Question<'_>) -> Option<HttpSession> {
    let Question { method, path, body, host } = question;
    let host = match host {
        Address::Tcp(address) => address.as_str(),
        Address::Unix(_) => "localhost",
    };
    let mut session = connect(peers).await?;
    let mut header = RequestHeader::build(method, path.as_bytes(), Some(4)).ok()?;
    header.insert_header("Host", host).ok()?;
    if let Some(Credential(value)) = credential {
        header.insert_header("Authorization", value).ok()?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_what_the_call_authorises_itself_by_and_is_not_printed() {
        let head =
            b"POST /authorization: HTTP/1.1\r\nX-Authorization: no\r\nAUTHORIZATION:  Bearer k \r\nCookie: c\r\n\r\n";
        let Credential(value) = Credential::of(head).expect("there is one");
        assert_eq!(value.as_bytes(), b"Bearer k");
        assert_eq!(format!("{value:?}"), "Sensitive");
        assert!(Credential::of(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_none());
        assert!(Credential::of(b"").is_none());
    }
}
