//! What an address in the configuration means: a TCP host and port, or a Unix socket.

use spillway_policies::url::{BadUrl, Url};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where to listen, or where something listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `host:port`, an IPv6 host in brackets. Port 0 lets the system choose.
    Tcp(String),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// A Unix socket path has at most this many bytes on Linux.
const MOST_SOCKET_PATH_BYTES: usize = 107;

const TCP_HINT: &str = "write host:port, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080, or unix:/path/of.sock";

/// Why a text is not an address, and what to write instead. Never the text itself.
pub(super) struct BadAddress {
    pub(super) problem: String,
    pub(super) hint: &'static str,
}

impl BadAddress {
    fn new(problem: impl Into<String>, hint: &'static str) -> Self {
        Self { problem: problem.into(), hint }
    }
}

impl Address {
    /// An address to listen at.
    pub(super) fn listening(text: &str) -> Result<Self, BadAddress> {
        if let Some(socket) = unix(text) {
            return socket;
        }
        if text.contains("://") {
            return Err(BadAddress::new("is an address, not a URL", TCP_HINT));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| BadAddress::new("needs a port", TCP_HINT))?;
        if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) || port.parse::<u16>().is_err() {
            return Err(BadAddress::new("must end in a port from 0 to 65535", TCP_HINT));
        }
        if is_host(host) {
            Ok(Self::Tcp(text.into()))
        } else {
            Err(BadAddress::new("must start with a host name or an IP address", TCP_HINT))
        }
    }

    /// The shim's: a Unix socket, or a loopback address. Whoever reaches it can put models to sleep, so it is nowhere else.
    pub(super) fn shim(text: &str) -> Result<Self, BadAddress> {
        if let Some(socket) = unix(text) {
            return socket;
        }
        let loopback = text.strip_prefix("http://").and_then(|text| text.parse::<std::net::SocketAddr>().ok());
        match loopback {
            Some(address) if address.ip().is_loopback() && address.port() != 0 => Ok(Self::Tcp(address.to_string())),
            _ => Err(BadAddress::new(
                "must be a Unix socket or a loopback address",
                "write unix:/path/of.sock, as in spillway-shim's --socket, or http://127.0.0.1:9903",
            )),
        }
    }

    /// The engine's base URL: where it listens, and the path in front of its API.
    pub(super) fn engine(text: &str) -> Result<(Self, String), BadAddress> {
        if let Some(socket) = unix(text) {
            return Ok((socket?, String::new()));
        }
        let url = Url::parse(text).map_err(|bad| match bad {
            BadUrl::Credentials => {
                BadAddress::new("must not carry credentials", "callers bring their own, and Spillway passes them on")
            }
            _ => BadAddress::new(bad.to_string(), "write http://host:port or unix:/path/of.sock"),
        })?;
        if url.is_tls() {
            return Err(BadAddress::new(
                "must be http://: this version speaks to the engine without TLS",
                "put the engine on loopback or on a Unix socket",
            ));
        }
        if url.port() == 0 {
            return Err(BadAddress::new("needs a port from 1 to 65535", ""));
        }
        let host = if url.host().contains(':') { format!("[{}]", url.host()) } else { url.host().into() };
        Ok((Self::Tcp(format!("{host}:{}", url.port())), url.path().into()))
    }

    /// Whether two listeners at these addresses would take each other's connections, or one would call itself.
    pub(super) fn collides(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tcp(one), Self::Tcp(other)) => {
                let (Some((host, port)), Some((other_host, other_port))) =
                    (one.rsplit_once(':'), other.rsplit_once(':'))
                else {
                    return false;
                };
                let (host, other_host) = (plain_host(host), plain_host(other_host));
                let wildcard = |host: &str| matches!(host, "0.0.0.0" | "[::]");
                let nearby = |host: &str| wildcard(host) || matches!(host, "127.0.0.1" | "[::1]");
                port != "0"
                    && port == other_port
                    && (host == other_host
                        || wildcard(&host) && nearby(&other_host)
                        || wildcard(&other_host) && nearby(&host))
            }
            (Self::Unix(one), Self::Unix(other)) => one == other,
            _ => false,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(text) => f.write_str(text),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn plain_host(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    if host == "localhost" { "127.0.0.1".into() } else { host }
}

fn unix(text: &str) -> Option<Result<Address, BadAddress>> {
    let path = text.strip_prefix("unix:")?;
    Some(if !Path::new(path).is_absolute() {
        Err(BadAddress::new("must name a socket by its absolute path", "write unix:/path/of.sock, with one slash"))
    } else if path.len() > MOST_SOCKET_PATH_BYTES || path.contains('\0') {
        Err(BadAddress::new(
            format!("must be a path of at most {MOST_SOCKET_PATH_BYTES} bytes: the system allows no more for a socket"),
            "",
        ))
    } else {
        Ok(Address::Unix(path.into()))
    })
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.strip_suffix(']').is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    }
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_can_be_listened_at() {
        for text in ["127.0.0.1:8080", "0.0.0.0:0", "[::]:80", "[::1]:65535", "localhost:1", "unix:/run/s.sock"] {
            assert!(Address::listening(text).is_ok_and(|address| address.to_string() == text), "{text}");
        }
        for text in [
            "8080",
            ":8080",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:65536",
            "127.0.0.1:+1",
            "::1:80",
            "[x]:80",
            "http://127.0.0.1:80",
            "unix:",
            "unix:s.sock",
            "a b:1",
        ] {
            assert!(Address::listening(text).is_err(), "{text}");
        }
        assert!(Address::listening(&format!("unix:/{}", "x".repeat(106))).is_ok());
        assert!(Address::listening(&format!("unix:/{}", "x".repeat(107))).is_err());
    }

    #[test]
    fn an_engines_url_is_taken_apart() {
        let parts = |text| Address::engine(text).map(|(address, path)| (address.to_string(), path)).ok();
        assert_eq!(parts("http://127.0.0.1:8081/"), Some(("127.0.0.1:8081".into(), String::new())));
        assert_eq!(parts("http://[::1]:8081/v2/x"), Some(("[::1]:8081".into(), "/v2/x".into())));
        assert_eq!(parts("http://engine"), Some(("engine:80".into(), String::new())));
        assert_eq!(parts("unix:/run/e.sock"), Some(("unix:/run/e.sock".into(), String::new())));
        for text in ["https://127.0.0.1:1", "127.0.0.1:8081", "http://u:p@host", "http://host:0", "http://host/?q"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    #[test]
    fn one_place_cannot_be_listened_at_twice() {
        let address =
            |text: &str| if text.starts_with("unix:") { Address::Unix(text.into()) } else { Address::Tcp(text.into()) };
        for (one, other, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "localhost:80", true),
            ("0.0.0.0:80", "127.0.0.1:80", true),
            ("[::1]:80", "[::]:80", true),
            ("127.0.0.1:80", "10.0.0.1:80", false),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
            ("unix:/a", "unix:/a", true),
            ("unix:/a", "127.0.0.1:80", false),
        ] {
            assert_eq!(address(one).collides(&address(other)), expected, "{one} {other}");
        }
    }
}
