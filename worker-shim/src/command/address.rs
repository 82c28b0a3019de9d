//! What does an address on the command line mean?

use crate::config::Address;
use crate::serve::loopback;
use std::path::Path;

/// A Unix socket's path has at most this many bytes.
const LONGEST_PATH: usize = 107;

/// Where the engine listens.
pub(super) fn engine(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return unix(path);
    }
    let address = tcp(text, "write http://host:port or unix:/path")?;
    if address.ends_with(":0") {
        return Err("the port must be 1 to 65535".into());
    }
    Ok(Address::Tcp(address))
}

/// Where the shim listens.
pub(super) fn socket(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return unix(path);
    }
    let address = tcp(text, "write unix:/path or http://127.0.0.1:9903")?;
    loopback(&address).map_err(|error| error.to_string())?;
    Ok(Address::Tcp(address))
}

pub(super) fn unix(path: &str) -> Result<Address, String> {
    if !Path::new(path).is_absolute() {
        return Err("write the socket's absolute path: unix:/run/spillway/shim.sock".into());
    }
    if path.len() > LONGEST_PATH || path.contains('\0') {
        return Err(format!("the system allows a socket's path at most {LONGEST_PATH} bytes: choose a shorter one"));
    }
    Ok(Address::Unix(path.into()))
}

/// `host:port`, with or without `http://` in front.
fn tcp(text: &str, hint: &str) -> Result<String, String> {
    if text.starts_with("https://") {
        return Err("it is spoken to without TLS: write http://host:port".into());
    }
    if text.contains('@') {
        return Err("it must not carry credentials: the key is named by --api-key-secret".into());
    }
    let address = text.strip_prefix("http://").unwrap_or(text);
    let address = address.strip_suffix('/').unwrap_or(address);
    let (host, port) = address.rsplit_once(':').ok_or(hint)?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    if is_port && is_host(host) { Ok(address.into()) } else { Err(hint.into()) }
}

/// Whether it is a name or an address, of version 6 in brackets.
pub(super) fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.strip_suffix(']').is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    }
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}
