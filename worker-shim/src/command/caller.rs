//! How is a shim that runs asked?

use super::Stop;
use crate::config::Address;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use spillway_filters::event_stream::EventStream;
use spillway_filters::feed::{MAX_SNAPSHOT_BYTES, STALE_MS, Snapshot, paths};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;

/// How long a shim may take to answer: it answers at once, whatever its engine does.
const LIMIT: Duration = Duration::from_secs(10);

/// Asks one shim. Every question has its own connection.
pub(super) struct Caller<'a> {
    socket: &'a Address,
}

/// A whole answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Seconds after which asking again may help.
    pub(super) retry_after: Option<u64>,
    pub(super) body: Bytes,
}

impl<'a> Caller<'a> {
    pub(super) const fn new(socket: &'a Address) -> Self {
        Self { socket }
    }

    pub(super) async fn ask(&self, method: Method, path: &str, body: String) -> Result<Answer, Stop> {
        let mut connection = JoinSet::new();
        let asking = async {
            let answer = self.send(&mut connection, method, path, body).await?;
            let status = answer.status().as_u16();
            let retry_after = answer.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse().ok());
            let body = Limited::new(answer.into_body(), MAX_SNAPSHOT_BYTES).collect().await;
            Ok(Answer { status, retry_after, body: body.map_err(|_| self.broke_off())?.to_bytes() })
        };
        tokio::time::timeout(LIMIT, asking).await.unwrap_or_else(|_| Err(self.is_silent()))
    }

    /// Every change of the state from now on.
    pub(super) async fn follow(&self) -> Result<Changes<'_>, Stop> {
        let mut connection = JoinSet::new();
        let asking = self.send(&mut connection, Method::GET, paths::STREAM, String::new());
        let answer = tokio::time::timeout(LIMIT, asking).await.unwrap_or_else(|_| Err(self.is_silent()))?;
        if answer.status() != 200 {
            return Err(Stop::failed(format!("the shim at {} is ending", self.socket)));
        }
        let events = EventStream::new(MAX_SNAPSHOT_BYTES);
        Ok(Changes { caller: self, body: answer.into_body(), events, _connection: connection })
    }

    async fn send(
        &self,
        connection: &mut JoinSet<()>,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<Response<Incoming>, Stop> {
        let stream = self.connect().await.map_err(|error| self.is_not_there(&error))?;
        let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| self.broke_off())?;
        connection.spawn(async move { drop(driver.await) });
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().expect("the paths are constants");
        request.headers_mut().insert(HOST, self.host());
        sender.send_request(request).await.map_err(|_| self.broke_off())
    }

    fn host(&self) -> HeaderValue {
        let address = match self.socket {
            Address::Tcp(address) => HeaderValue::from_str(address).ok(),
            Address::Unix(_) => None,
        };
        address.unwrap_or(HeaderValue::from_static("localhost"))
    }

    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        match self.socket {
            Address::Tcp(address) => Ok(Box::new(TcpStream::connect(address).await?)),
            Address::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
        }
    }

    fn is_not_there(&self, error: &io::Error) -> Stop {
        if error.kind() == io::ErrorKind::PermissionDenied {
            return Stop::failed(format!(
                "this user may not ask at {}, where a shim may run: be the user that it runs as, or start it with --socket-mode 660 \
                 and share a group with it",
                self.socket
            ));
        }
        Stop::failed(format!(
            "no shim answers at {}: {error}; start one, or say with --socket where it listens",
            self.socket
        ))
    }

    fn is_silent(&self) -> Stop {
        Stop::failed(format!("the shim at {} does not answer", self.socket))
    }

    fn broke_off(&self) -> Stop {
        Stop::failed(format!("what answers at {} broke off, or is no shim", self.socket))
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The stream of a shim's state.
pub(super) struct Changes<'a> {
    caller: &'a Caller<'a>,
    body: Incoming,
    events: EventStream,
    /// Ends with this.
    _connection: JoinSet<()>,
}

impl Changes<'_> {
    /// The next snapshot. May be given up while it waits.
    pub(super) async fn next(&mut self) -> Result<Snapshot, Stop> {
        loop {
            if let Some(event) = self.events.next_event().map_err(|_| self.caller.broke_off())? {
                return snapshot(&event.data);
            }
            let waiting = tokio::time::timeout(Duration::from_millis(STALE_MS), self.body.frame());
            let frame = waiting.await.map_err(|_| self.caller.is_silent())?;
            let ended = || Stop::failed(format!("the shim at {} has ended", self.caller.socket));
            let frame = frame.ok_or_else(ended)?.map_err(|_| ended())?;
            self.events.feed(frame.data_ref().map_or(&[], |data| data));
        }
    }
}

pub(super) fn snapshot(json: &[u8]) -> Result<Snapshot, Stop> {
    serde_json::from_slice(json)
        .map_err(|_| Stop::failed("the state is of a version that this program does not read: take the shim's own"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_ask_is_told_so_and_not_that_nobody_is_there() {
        let socket = Address::Unix("/run/spillway/shim.sock".into());
        let said = |kind| Caller::new(&socket).is_not_there(&io::Error::from(kind)).text;
        assert_eq!(
            said(io::ErrorKind::PermissionDenied),
            "error: this user may not ask at unix:/run/spillway/shim.sock, where a shim may run: be the user that it runs as, \
             or start it with --socket-mode 660 and share a group with it\n"
        );
        assert!(said(io::ErrorKind::NotFound).starts_with("error: no shim answers at unix:/run/spillway/shim.sock: "));
    }
}
