//! The way out to one upstream: its connector, credential and gate, shared by every model that names it.

use super::egress_proxy::EgressProxy;
use crate::clock::Clock;
use crate::config::secret::Credentials;
use http::HeaderValue;
use parking_lot::Mutex;
use pingora_core::connectors::ConnectorOptions;
use pingora_core::connectors::http::Connector;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::{ALPN, HttpPeer};
use pingora_error::ErrorType;
use spillway_policies::breaker::Outcome;
use spillway_policies::gate::{Gate, Permit};
use spillway_policies::{Cause, Class, Failure, Surface, Upstream};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Idle connections kept to one upstream.
const POOL: usize = 128;

/// One upstream as the sidecar reaches it.
pub(crate) struct Outlet {
    upstream: Arc<Upstream>,
    connector: Connector,
    egress_proxy: Option<Arc<EgressProxy>>,
    credentials: Credentials,
    gate: Mutex<Gate>,
    clock: Arc<Clock>,
}

impl Outlet {
    pub(crate) fn new(upstream: Arc<Upstream>, clock: Arc<Clock>) -> Self {
        let mut options = ConnectorOptions::new(POOL);
        options.ca_file = upstream.tls.ca_file.clone();
        options.cert_key_file = upstream.tls.client.clone();
        Self {
            connector: Connector::new(Some(options)),
            egress_proxy: upstream
                .proxy_url
                .as_ref()
                .map(|proxy| Arc::new(EgressProxy::new(proxy, &upstream.base_url))),
            credentials: Credentials::new(upstream.credential.as_ref()),
            gate: Mutex::new(Gate::new(&upstream.rate_cap, upstream.breaker, clock.now())),
            upstream,
            clock,
        }
    }

    /// The value of the `Authorization` header, read anew for each call.
    pub(super) fn bearer(&self) -> Result<Option<HeaderValue>, Failure> {
        let unusable = Failure::new(Cause::Credential, Class::Final);
        let Some(secret) = self.credentials.bearer().map_err(|_| unusable)? else { return Ok(None) };
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", secret.expose())).map_err(|_| unusable)?;
        bearer.set_sensitive(true);
        Ok(Some(bearer))
    }

    /// A permit for one attempt of so many requests.
    pub(super) fn admit(self: &Arc<Self>, requests: usize) -> Result<Pass, Failure> {
        let requests = u32::try_from(requests).unwrap_or(u32::MAX);
        match self.gate.lock().admit(requests, self.clock.now()) {
            Ok(permit) => Ok(Pass { outlet: self.clone(), permit: Some(permit) }),
            Err(shut) => {
                let class = if shut.cause == Cause::BreakerOpen { Class::Unavailable } else { Class::Busy };
                let mut failure = Failure::new(shut.cause, class);
                failure.retry_after_s = Some(shut.retry_after_s);
                Err(failure)
            }
        }
    }

    /// A connection, new or idle, and where it goes. Every address of a name is tried: nothing is sent before one of them answers, so it is
    /// still one attempt.
    pub(super) async fn connect(&self) -> Result<(HttpSession, HttpPeer), Failure> {
        let mut failed = Failure::new(Cause::Connect, Class::Unavailable);
        for peer in self.peers().await? {
            match self.connector.get_http_session(&peer).await {
                Ok((session, _)) => return Ok((session, peer)),
                Err(error) => {
                    failed.cause = match error.etype() {
                        ErrorType::ConnectTimedout | ErrorType::TLSHandshakeTimedout => Cause::Timeout,
                        ErrorType::TLSHandshakeFailure | ErrorType::InvalidCert | ErrorType::HandshakeError => {
                            Cause::Tls
                        }
                        _ => Cause::Connect,
                    };
                }
            }
        }
        Err(failed)
    }

    /// Where to connect. A name is resolved each time, so that a moved host is found; proxy variables of the environment play no part.
    async fn peers(&self) -> Result<Vec<HttpPeer>, Failure> {
        let url = &self.upstream.base_url;
        let unreachable = Failure::new(Cause::Connect, Class::Unavailable);
        let addresses: Vec<SocketAddr> = match url.host().parse::<IpAddr>() {
            // The proxy resolves the name.
            _ if self.egress_proxy.is_some() => vec![SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), url.port())],
            Ok(address) => vec![SocketAddr::new(address, url.port())],
            Err(_) => tokio::net::lookup_host((url.host(), url.port())).await.map_err(|_| unreachable)?.collect(),
        };
        let limit = Some(Duration::from_millis(self.upstream.timeouts.connect_ms));
        let peer = |address| {
            let mut peer = HttpPeer::new(address, url.is_tls(), url.host().to_owned());
            (peer.options.connection_timeout, peer.options.total_connection_timeout) = (limit, limit);
            peer.options.alpn = ALPN::H1;
            if let Some(proxy) = &self.egress_proxy {
                peer.options.custom_l4 = Some(proxy.clone());
            }
            peer
        };
        Ok(addresses.into_iter().map(peer).collect())
    }

    /// Gives back a connection whose answer was read to its end.
    pub(super) async fn keep(&self, session: HttpSession, peer: &HttpPeer, idle: Duration) {
        self.connector.release_http_session(session, peer, Some(idle)).await;
    }
}

/// What broke a connection: an upstream may refuse our certificate, or the lack of one, after the handshake.
pub(super) fn broken(error: &pingora_error::Error) -> Cause {
    let io = error.root_cause().downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    if io.is_some_and(|inner| inner.is::<rustls::Error>()) { Cause::Tls } else { Cause::Connect }
}

/// A permit that comes back whatever happens: dropped without a result, it says nothing about the upstream.
pub(crate) struct Pass {
    outlet: Arc<Outlet>,
    permit: Option<Permit>,
}

impl Pass {
    /// The attempt has ended.
    pub(super) fn settle(mut self, outcome: Outcome) {
        self.give_back(outcome);
    }

    fn give_back(&mut self, outcome: Outcome) {
        if let Some(permit) = self.permit.take() {
            self.outlet.gate.lock().settle(permit, outcome, self.outlet.clock.now());
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.give_back(Outcome::Cancelled);
    }
}

/// An id of our own for an answer: the upstream's would name a request of ours at its side.
pub(super) fn fresh_id(surface: Option<Surface>) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let prefix = match surface {
        Some(Surface::Completions) => "cmpl-",
        Some(Surface::Generate) => "gen-",
        Some(Surface::Rerank) => "rerank-",
        Some(Surface::Responses) => "resp_",
        _ => "chatcmpl-",
    };
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{prefix}{:016x}{:08x}", since & u128::from(u64::MAX), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_begins_as_its_surface_writes_it() {
        for (surface, prefix) in
            [(Surface::Chat, "chatcmpl-"), (Surface::Completions, "cmpl-"), (Surface::Responses, "resp_")]
        {
            let id = fresh_id(Some(surface));
            assert!(id.starts_with(prefix) && id != fresh_id(Some(surface)), "{id}");
        }
    }
}
