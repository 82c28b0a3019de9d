//! Does anybody listen at an address?

use super::NoAnswer;
use crate::config::Address;
use std::io::{Error, ErrorKind};
use tokio::net::{TcpStream, UnixStream};

/// A connection to the engine.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

pub(super) async fn connect(address: &Address) -> Result<Stream, NoAnswer> {
    let connected = match address {
        Address::Tcp(authority) => TcpStream::connect(authority).await.and_then(other).map(Stream::Tcp),
        Address::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
    };
    connected.map_err(|error| meaning(&error))
}

/// A connection to a port that nobody listens on can become one to itself, when the port is one that the system hands out; it would then
/// be taken when the engine wants to listen.
fn other(stream: TcpStream) -> Result<TcpStream, Error> {
    if stream.local_addr()? == stream.peer_addr()? { Err(ErrorKind::ConnectionRefused.into()) } else { Ok(stream) }
}

fn meaning(error: &Error) -> NoAnswer {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => NoAnswer::Refused,
        // A Unix socket whose listener accepts nothing, until its queue is full, would block.
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::WouldBlock => {
            NoAnswer::Silent
        }
        _ => NoAnswer::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpSocket;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_to_itself_is_nobody() {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let itself = socket.local_addr().expect("it is bound");
        let stream = socket.connect(itself).await.expect("Linux connects it to itself");
        assert_eq!(other(stream).map_err(|error| meaning(&error)).err(), Some(NoAnswer::Refused));
    }

    #[tokio::test]
    async fn a_listener_is_somebody() {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = Address::Tcp(listener.local_addr().expect("it is bound").to_string());
        assert!(matches!(connect(&address).await, Ok(Stream::Tcp(_))));
    }
}
