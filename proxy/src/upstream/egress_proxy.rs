//! The way out through an HTTP proxy: a CONNECT tunnel, in which TLS with the upstream then begins. The proxy sees a host name, nothing else.

use async_trait::async_trait;
use pingora_core::connectors::L4Connect;
use pingora_core::protocols::l4::socket::SocketAddr;
use pingora_core::protocols::l4::stream::Stream;
use pingora_error::{Error, ErrorType, OrErr as _, Result};
use spillway_filters::wire::response::{self, ResponseVerdict};
use spillway_policies::url::{BaseUrl, Url};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Most bytes of the proxy's answer.
const MOST_HEAD: usize = 16 * 1024;

/// Connects to one upstream through one proxy.
#[derive(Debug)]
pub(super) struct EgressProxy {
    proxy: (String, u16),
    target: String,
}

impl EgressProxy {
    pub(super) fn new(proxy: &Url, upstream: &BaseUrl) -> Self {
        let host = upstream.host();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        Self { proxy: (proxy.host().to_owned(), proxy.port()), target: format!("{host}:{}", upstream.port()) }
    }
}

#[async_trait]
impl L4Connect for EgressProxy {
    /// The address is not used: the proxy resolves the upstream's name.
    async fn connect(&self, _: &SocketAddr) -> Result<Stream> {
        let (host, port) = (self.proxy.0.as_str(), self.proxy.1);
        let failed = "the egress proxy cannot be reached";
        let mut socket = TcpStream::connect((host, port)).await.or_err(ErrorType::ConnectError, failed)?;
        socket.set_nodelay(true).or_err(ErrorType::ConnectError, failed)?;
        let request = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", self.target);
        socket.write_all(request.as_bytes()).await.or_err(ErrorType::ConnectProxyFailure, failed)?;
        let (mut answer, mut head) = (Vec::new(), Vec::new());
        loop {
            let count = socket.read_buf(&mut answer).await.or_err(ErrorType::ConnectProxyFailure, failed)?;
            match response::parse(&answer, false, &mut head) {
                ResponseVerdict::NeedMore if count > 0 && answer.len() < MOST_HEAD => {}
                // The upstream does not speak first in TLS: bytes behind the head are nobody's.
                ResponseVerdict::Head(found) if found.status / 100 == 2 && found.len == answer.len() => {
                    return Ok(Stream::from(socket));
                }
                _ => return Error::e_explain(ErrorType::ConnectProxyFailure, "the egress proxy refused the tunnel"),
            }
        }
    }
}
