//! Which URLs an operator may point Spillway at (contract section 4).

use alloc::string::String;
use core::net::IpAddr;

/// Why a URL is refused. The text never repeats the URL: it may hold a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// Something outside 0x21 to 0x7e, or nothing at all.
    #[error("must be visible ASCII without spaces")]
    NotVisibleAscii,
    /// `?` or `#`.
    #[error("must not have a query or fragment")]
    QueryOrFragment,
    /// The port is not a number up to 65535, or the host is not well-formed.
    #[error("does not parse as a URL: check host and port")]
    Unparseable,
    /// Neither `http://` nor `https://`.
    #[error("must start with https:// (or http:// for loopback)")]
    Scheme,
    /// `user:password@`.
    #[error("must not carry credentials; name them with api_key_secret or api_key_file")]
    Credentials,
    /// A percent sign in the authority.
    #[error("must not have a percent sign in its host")]
    PercentInAuthority,
    /// No host.
    #[error("needs a host")]
    NoHost,
    /// Plain http to something that is not loopback.
    #[error("must be https:// outside loopback (localhost, 127.0.0.0/8, ::1)")]
    TlsRequired,
}

impl BadUrl {
    /// The stable name of the reason.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::NotVisibleAscii => "not_visible_ascii",
            Self::QueryOrFragment => "query_or_fragment",
            Self::Unparseable => "unparseable",
            Self::Scheme => "scheme",
            Self::Credentials => "credentials",
            Self::PercentInAuthority => "percent_in_authority",
            Self::NoHost => "no_host",
            Self::TlsRequired => "tls_required",
        }
    }
}

/// An upstream's address: https, or http to loopback only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Checks and keeps a base URL; trailing slashes go, nothing else is normalised.
    ///
    /// # Errors
    /// See [`BadUrl`].
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let url = Url::parse(text)?;
        if url.tls || url.is_loopback() { Ok(Self(url)) } else { Err(BadUrl::TlsRequired) }
    }
}

impl core::ops::Deref for BaseUrl {
    type Target = Url;

    fn deref(&self) -> &Url {
        &self.0
    }
}

/// An http or https URL without credentials, query or fragment. Used as it stands for `proxy_url` and the engine's `base_url`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    tls: bool,
    host: String,
    port: u16,
    path_at: usize,
}

impl Url {
    /// Checks and keeps a URL.
    ///
    /// # Errors
    /// See [`BadUrl`]; every reason but [`BadUrl::TlsRequired`].
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadUrl::NotVisibleAscii);
        }
        if text.contains(['?', '#']) {
            return Err(BadUrl::QueryOrFragment);
        }
        let (tls, scheme_len) = scheme(text)?;
        let authority = text[scheme_len..].split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(BadUrl::Credentials);
        }
        if authority.contains('%') {
            return Err(BadUrl::PercentInAuthority);
        }
        let (host, port) = host_and_port(authority, tls)?;
        let text = text.trim_end_matches('/');
        let path_at = (scheme_len + authority.len()).min(text.len());
        Ok(Self { text: text.into(), tls, host: host.into(), port, path_at })
    }

    /// The URL as written, without trailing slashes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub const fn is_tls(&self) -> bool {
        self.tls
    }

    /// Host name or address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, the scheme's own when none is written.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The path prefix, empty or starting with a slash.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.text[self.path_at..]
    }

    /// Host and port as a `Host` header states them.
    #[must_use]
    pub fn authority(&self) -> &str {
        let start = self.text.find("://").map_or(0, |at| at + 3);
        self.text[start..self.path_at].trim_end_matches(':')
    }

    /// `localhost` in any case, or a literal loopback address. An IPv4 loopback address mapped into IPv6 does not count.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

fn scheme(text: &str) -> Result<(bool, usize), BadUrl> {
    let starts = |prefix: &str| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    match (starts("https://"), starts("http://")) {
        (true, _) => Ok((true, 8)),
        (_, true) => Ok((false, 7)),
        _ => Err(BadUrl::Scheme),
    }
}

fn host_and_port(authority: &str, tls: bool) -> Result<(&str, u16), BadUrl> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(BadUrl::Unparseable)?;
            host.parse::<core::net::Ipv6Addr>().map_err(|_| BadUrl::Unparseable)?;
            (host, if after.is_empty() { "" } else { after.strip_prefix(':').ok_or(BadUrl::Unparseable)? })
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    if host.is_empty() {
        return Err(BadUrl::NoHost);
    }
    if host.contains(['\\', '[', ']']) && !authority.starts_with('[') {
        return Err(BadUrl::Unparseable);
    }
    let port = match port {
        "" => {
            if tls {
                443
            } else {
                80
            }
        }
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| BadUrl::Unparseable)?
        }
        _ => return Err(BadUrl::Unparseable),
    };
    Ok((host, port))
}
