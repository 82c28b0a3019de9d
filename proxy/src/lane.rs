//! The fast lane: one small task per HTTP/1.1 connection, which reads requests and runs [`exchange::serve`] for each.
//!
//! What is not HTTP/1.1 is handed to the full lane with the bytes already read, after the strict gate has seen them.

use crate::client::{Client, Served};
use crate::connection::{Connection, Ended};
use crate::full_lane::FullLane;
use crate::house::House;
use crate::intake::Rejection;
use crate::{exchange, tunnel};
use async_trait::async_trait;
use pingora_core::apps::ServerApp;
use pingora_core::protocols::{ALPN, Stream};
use pingora_core::server::ShutdownWatch;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::paths;
use spillway_filters::wire::request::{self, Method, RequestHead, Verdict};
use spillway_filters::wire::{Reject, RejectKind};
use spillway_policies::Surface;
use std::ops::Range;
use std::sync::Arc;

/// The application behind the front listener.
pub(crate) struct Lane {
    house: Arc<House>,
    full: Arc<FullLane>,
}

impl Lane {
    /// A lane over shared state.
    #[must_use]
    pub(crate) fn new(house: Arc<House>, full: Arc<FullLane>) -> Self {
        Self { house, full }
    }
}

#[async_trait]
impl ServerApp for Lane {
    /// Moves the connection into a task of its own: pingora's accept task is sized by its handshake state and would live as long.
    async fn process_new(self: &Arc<Self>, stream: Stream, shutdown: &ShutdownWatch) -> Option<Stream> {
        if !self.house.fast_lane || stream.selected_alpn_proto() == Some(ALPN::H2) {
            self.full.serve(stream, Vec::new(), shutdown).await;
            return None;
        }
        let (lane, shutdown) = (self.clone(), shutdown.clone());
        tokio::spawn(async move { lane.connection(stream, shutdown).await });
        None
    }
}

/// What the front of a connection turned out to be.
enum Next {
    Closed,
    Exchange(RequestHead),
    HandOver,
    Reject(Reject),
    Tunnel(RequestHead),
}

impl Lane {
    async fn connection(&self, stream: Stream, shutdown: ShutdownWatch) {
        let mut connection = Connection::new(stream, self.house.clock.deadline());
        loop {
            let served = match self.next(&mut connection).await {
                Next::Exchange(head) => self.exchange(&mut connection, head).await,
                Next::Closed => break,
                Next::HandOver => {
                    let Connection { stream, inbox, .. } = connection;
                    return Box::pin(self.full.serve(stream, inbox, &shutdown)).await;
                }
                Next::Reject(reject) => Box::pin(self.reject(&mut connection, reject)).await,
                Next::Tunnel(head) => Box::pin(self.tunnel(&mut connection, head)).await,
            };
            if served == Served::Close {
                break;
            }
        }
        Box::pin(linger(connection)).await;
    }

    /// Waits for the next head. Its deadline is armed once, so a dripped head is bounded.
    async fn next(&self, connection: &mut Connection) -> Next {
        let house = &self.house;
        let mut parsed = 0;
        let mut armed = false;
        connection.deadline.arm(house.idle_timeout_ms);
        loop {
            if !connection.inbox.is_empty() {
                // A head ends with a line: without a new line end only its size and its first bytes can decide.
                let unseen = &connection.inbox[parsed..];
                if parsed == 0
                    || unseen.contains(&b'\n')
                    || connection.inbox.len() > spillway_filters::wire::MAX_HEAD_BYTES
                {
                    match request::parse(&connection.inbox, &mut connection.request_head) {
                        Verdict::NeedMore => parsed = connection.inbox.len(),
                        Verdict::Fast(head) => return Next::Exchange(head),
                        Verdict::Http10(_) | Verdict::Http2Preface => return Next::HandOver,
                        Verdict::Reject(reject) => return Next::Reject(reject),
                        Verdict::Upgrade(head) => return Next::Tunnel(head),
                    }
                }
                if !armed {
                    connection.deadline.arm(house.head_timeout_ms);
                    armed = true;
                }
            } else if house.is_draining() {
                return Next::Closed;
            }
            match connection.fill_unless(|| house.is_draining()).await {
                Ok(_) => {}
                Err(Ended::Late) if !connection.inbox.is_empty() => {
                    return Next::Reject(Reject { kind: RejectKind::HeadTimeout, path: None });
                }
                Err(_) => return Next::Closed,
            }
        }
    }

    async fn exchange(&self, connection: &mut Connection, head: RequestHead) -> Served {
        let inside = self.house.enter();
        let surface = surface(&connection.inbox, head.method, &head.path);
        let mut open = self.house.access.open(surface);
        let client = Client::new(connection, &mut open.log, head, surface, self.house.is_retired());
        let served = exchange::serve(&self.house, client).await;
        open.close();
        drop(inside);
        served
    }

    async fn tunnel(&self, connection: &mut Connection, head: RequestHead) -> Served {
        let inside = self.house.enter();
        let mut open = self.house.access.open(None);
        let client = Client::new(connection, &mut open.log, head, None, false);
        let served = tunnel::serve(&self.house, client).await;
        open.close();
        drop(inside);
        served
    }

    /// What is ambiguous is answered and goes nowhere.
    async fn reject(&self, connection: &mut Connection, reject: Reject) -> Served {
        let surface = reject.path.and_then(|path| surface(&connection.inbox, Method::Post, &path));
        let answer = match reject.kind {
            RejectKind::HeadTimeout => ErrorAnswer::too_slow(reject.kind.message()),
            kind => ErrorAnswer::framing(kind.status(), kind.message()),
        };
        let mut open = self.house.access.open(surface);
        let client = Client::headless(connection, &mut open.log, surface);
        let served = client.reject(Rejection::Answer { answer, close: true }).await;
        open.close();
        served
    }
}

fn surface(inbox: &[u8], method: Method, path: &Range<usize>) -> Option<Surface> {
    if method == Method::Post { paths::surface(&inbox[path.clone()]) } else { None }
}

/// Closes a connection so that the last answer arrives: what the caller still sends is read and dropped for a moment, because a close over
/// unread bytes would be a reset that destroys the answer on its way.
async fn linger(mut connection: Connection) {
    const MOST_MS: u64 = 1_000;
    connection.deadline.arm(MOST_MS);
    if connection.shut().await.is_err() {
        return;
    }
    while connection.fill().await.is_ok() {
        connection.inbox.clear();
    }
}

/// Puts the path prefix of the engine's base URL before the target of a request head.
pub(crate) fn prefix_target(head: &mut Vec<u8>, prefix: &str) {
    if prefix.is_empty() {
        return;
    }
    if let Some(space) = head.iter().position(|byte| *byte == b' ') {
        head.splice(space + 1..space + 1, prefix.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a connection's task costs in memory while it waits (lanes decision 5).
    #[test]
    fn the_task_of_a_connection_is_small() {
        fn size_of_future<'a, F>(_: impl FnOnce(&'a Lane, Stream, ShutdownWatch) -> F) -> usize {
            size_of::<F>()
        }
        let size = size_of_future(Lane::connection);
        assert!(size <= 2048, "{size} bytes");
    }

    #[test]
    fn a_prefix_goes_before_the_target() {
        let mut head = b"POST /v1/x HTTP/1.1\r\n".to_vec();
        prefix_target(&mut head, "/engine");
        assert_eq!(head, b"POST /engine/v1/x HTTP/1.1\r\n");
    }
}
