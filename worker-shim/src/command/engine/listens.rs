//! Where does a command make its engine listen?

use super::Launched;
use crate::command::address::{is_host, unix};
use crate::config::Address;
use spillway_filters::presets::Launch;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};
use std::path::absolute;

/// What is asked at an engine that listens everywhere.
const LOOPBACK: &str = "127.0.0.1";

/// The value of this flag or variable is not what it has to be.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::command) struct Unclear {
    pub(in crate::command) name: &'static str,
    pub(in crate::command) wanted: &'static str,
}

impl Launched<'_> {
    /// The address at which the command, or else the environment, makes the engine listen; loopback and `port` where they do not say.
    pub(in crate::command) fn listens(&self, launch: &Launch, port: u16) -> Result<Address, Unclear> {
        if let Some((name, path)) = self.last_value(launch.socket_flags) {
            return socket(name, &path);
        }
        let host = self.last_value(launch.host_flags).or_else(|| self.variable(launch.host_variable));
        let host = match host {
            Some((name, text)) if text.ends_with(".sock") => return socket(name, &text),
            Some((name, text)) => host_of(&text).ok_or(Unclear { name, wanted: "host that can be connected to" })?,
            None => LOOPBACK.to_owned(),
        };
        Ok(Address::Tcp(format!("{host}:{}", self.port(launch)?.unwrap_or(port))))
    }

    /// None: neither the command nor the environment says one.
    fn port(&self, launch: &Launch) -> Result<Option<u16>, Unclear> {
        if let Some((name, value)) = self.last_value(launch.port_flags) {
            return port_of(&value).map(Some).ok_or(Unclear { name, wanted: "port from 1 to 65535" });
        }
        Ok(self.variable(launch.port_variable).and_then(|(_, value)| port_of(&value)))
    }

    fn variable(&self, name: &'static str) -> Option<(&'static str, Cow<'_, str>)> {
        let value = Some(name).filter(|name| !name.is_empty()).and_then(self.environment)?;
        Some((name, value.into()))
    }
}

/// A relative path begins where we are, and so does the engine.
fn socket(name: &'static str, path: &str) -> Result<Address, Unclear> {
    let path = absolute(path).ok().and_then(|path| unix(path.to_str()?).ok());
    path.ok_or(Unclear { name, wanted: "path of a Unix socket that the system allows" })
}

/// The host to connect to.
fn host_of(text: &str) -> Option<String> {
    let (host, _) = split(text);
    if matches!(host, "" | "*") {
        return Some(LOOPBACK.to_owned());
    }
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => Some(LOOPBACK.to_owned()),
        Ok(IpAddr::V6(address)) => Some(format!("[{address}]")),
        Ok(IpAddr::V4(_)) | Err(_) => is_host(host).then(|| host.to_owned()),
    }
}

/// A port alone, behind an address, or published by a container (`HOST:CONTAINER`): that one is reached at the host's.
fn port_of(text: &str) -> Option<u16> {
    let (host, port) = split(text);
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let published = port.and_then(|_| host.rsplit(':').next()).filter(is_number);
    published.or(port).unwrap_or(host).parse().ok().filter(|port| *port != 0)
}

/// The host and the port of an address, or one of them, as engines take them.
fn split(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    let (address, scheme_port) = match text.strip_prefix("http://") {
        Some(url) => (url.split('/').next().unwrap_or(url), Some("80")),
        None => (text, None),
    };
    match address.rsplit_once(':') {
        Some((host, port)) if !address.ends_with(']') && address.parse::<Ipv6Addr>().is_err() => (host, Some(port)),
        _ => (address, scheme_port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    const ENGINE: Launch = Launch {
        port_flags: &["--port", "-listen"],
        port_variable: "PORT",
        host_flags: &["--host", "-listen"],
        host_variable: "HOST",
        socket_flags: &["--uds"],
        ..Launch::UNKNOWN
    };

    fn listens(command: &str, variables: &[(&str, &str)]) -> Result<String, Unclear> {
        let command: Vec<_> = command.split_whitespace().map(OsString::from).collect();
        let environment = |name: &str| variables.iter().find(|(found, _)| *found == name).map(|found| found.1.into());
        Launched::new(&command, &environment).listens(&ENGINE, 80).map(|address| address.to_string())
    }

    #[test]
    fn the_commands_word_counts_before_the_environments() {
        let variables = &[("HOST", "10.0.0.1:90"), ("PORT", "91")];
        for (command, variables, wanted) in [
            ("e", &[][..], "http://127.0.0.1:80"),
            ("e --port 81 --ports 9", &[], "http://127.0.0.1:81"),
            ("e --port=81 --port 82", variables, "http://10.0.0.1:82"),
            ("e --port", variables, "http://10.0.0.1:91"),
            ("e", variables, "http://10.0.0.1:91"),
            ("e --host 10.0.0.2", variables, "http://10.0.0.2:91"),
            ("e --host 10.0.0.2 --host=b --port 83", variables, "http://b:83"),
            ("e -listen :84", variables, "http://127.0.0.1:84"),
            ("e --port 8081:80", &[], "http://127.0.0.1:8081"),
            ("e --port 127.0.0.1:8081:80", &[], "http://127.0.0.1:8081"),
            ("e -listen 10.0.0.3:85", variables, "http://10.0.0.3:85"),
            ("e", &[("PORT", "0.0.0.0")], "http://127.0.0.1:80"),
            ("e --uds /e --host 10.0.0.2 --port 81", variables, "unix:/e"),
        ] {
            assert_eq!(listens(command, variables).as_deref(), Ok(wanted), "{command} {variables:?}");
        }
    }

    #[test]
    fn every_form_of_a_host_is_read() {
        for (host, wanted) in [
            ("127.0.0.2", "http://127.0.0.2:80"),
            ("localhost", "http://localhost:80"),
            ("engine.pod:81", "http://engine.pod:80"),
            ("::1", "http://[::1]:80"),
            ("[::1]", "http://[::1]:80"),
            ("[::1]:81", "http://[::1]:80"),
            ("http://10.0.0.1:81/x", "http://10.0.0.1:80"),
            ("0.0.0.0", "http://127.0.0.1:80"),
            ("::", "http://127.0.0.1:80"),
            ("[::]:81", "http://127.0.0.1:80"),
            ("*", "http://127.0.0.1:80"),
            (":81", "http://127.0.0.1:80"),
            ("", "http://127.0.0.1:80"),
            ("/run/e.sock", "unix:/run/e.sock"),
        ] {
            assert_eq!(listens(&format!("e --host={host}"), &[]).as_deref(), Ok(wanted), "{host}");
            assert_eq!(listens("e", &[("HOST", host)]).as_deref(), Ok(wanted), "{host}");
        }
    }

    #[test]
    fn every_form_of_a_port_is_read() {
        for (port, wanted) in [
            ("81", 81),
            (":81", 81),
            ("127.0.0.1:81", 81),
            ("http://0.0.0.0:81/", 81),
            ("http://a", 80),
            ("[::1]:81", 81),
        ] {
            assert_eq!(port_of(port), Some(wanted), "{port}");
        }
        for port in ["", "0", "-1", "65536", "a", "0.0.0.0", "::1", "[::1]", "$PORT"] {
            assert_eq!(port_of(port), None, "{port}");
        }
    }

    #[test]
    fn a_relative_socket_begins_here() {
        let here = std::env::current_dir().expect("there is one");
        let wanted = Ok(format!("unix:{}", here.join("e.sock").display()));
        assert_eq!(listens("e --uds e.sock", &[]), wanted);
        assert_eq!(listens("e --host e.sock", &[]), wanted);
    }

    #[test]
    fn what_cannot_be_connected_to_is_said_with_its_flag() {
        let long = format!("/{}.sock", "x".repeat(120));
        for (command, name) in [
            ("e --port 0".to_owned(), "--port"),
            ("e --port=$PORT".to_owned(), "--port"),
            ("e --host $HOST".to_owned(), "--host"),
            ("e --host /run/e".to_owned(), "--host"),
            (format!("e --host {long}"), "--host"),
            (format!("e --uds {long}"), "--uds"),
        ] {
            assert_eq!(listens(&command, &[]).map_err(|unclear| unclear.name), Err(name), "{command}");
        }
        assert_eq!(listens("e", &[("HOST", "a b")]).map_err(|unclear| unclear.name), Err("HOST"));
    }
}
