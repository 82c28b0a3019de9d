//! How do others ask for the state, and for a load or a sleep?
//!
//! HTTP/1.1 on a Unix socket or on loopback. Nothing is decided here: wishes go to the loop that owns the state, and the state comes from it.

mod answer;
mod listener;
mod problem;
mod stream;
mod told;

use crate::asked::Asked;
use crate::config::Address;
use crate::output::Output;
use answer::Door;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
pub(crate) use listener::loopback;
use listener::{Listener, Stream};
use spillway_filters::feed::STALE_MS;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
pub use told::Told;

/// Connections at a time. More wait to be accepted.
const MOST_CONNECTIONS: usize = 64;

/// Streams at a time: they last, and the rest of the connections is for calls that are short.
const MOST_STREAMS: usize = 48;

/// How long a request may take to arrive, and how long a connection may idle.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// How long a reader may take nothing of what waits for it. By then it has given its stream up itself.
const STALL_LIMIT: Duration = Duration::from_millis(STALE_MS);

/// Most bytes of a head, and of an answer that waits for its reader.
const BUFFER_BYTES: usize = 16 * 1024;

/// How long to wait when the system gives no connection: it has run out of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The shim's own socket, bound. A Unix socket's file goes when this does, unless it is somebody else's by then.
pub struct Socket {
    listener: Listener,
}

impl Socket {
    /// Binds, inside a tokio runtime. The folder of a Unix socket is made, and a socket file that nobody listens on is replaced. `PATH.lock`
    /// beside it is held as long as the socket is.
    ///
    /// # Errors
    /// `AddrInUse`: somebody answers there. `AlreadyExists`: a file that is no socket has that name. `InvalidInput`: other machines could
    /// reach a TCP address. What the system says otherwise.
    pub fn bind(address: &Address, mode: u32) -> io::Result<Self> {
        Listener::bind(address, mode).map(|listener| Self { listener })
    }

    /// Where it listens: the port that the system chose, where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> Address {
        self.listener.address()
    }

    /// Serves until it is dropped; its connections end with it. A reader that stalls holds nobody else.
    ///
    /// `state` is what is told, `output` is where the engine's last lines are, and `asked` is where wishes go. Once nobody takes them there,
    /// every answer is 503.
    pub async fn serve(self, state: watch::Receiver<Arc<Told>>, output: Arc<Output>, asked: mpsc::Sender<Asked>) {
        let (streams, is_open_to_pages) = (Arc::new(Semaphore::new(MOST_STREAMS)), self.listener.is_open_to_pages());
        let door = Arc::new(Door { state, output, asked, streams, is_open_to_pages });
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                    Ok(stream) => drop(connections.spawn(connection(stream, door.clone()))),
                    Err(error) => {
                        tracing::warn!(%error, "a connection to the socket could not be accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }
}

async fn connection(stream: Box<dyn Stream>, door: Arc<Door>) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALL_LIMIT));
    let service = service_fn(move |request| {
        let door = door.clone();
        async move { Ok::<_, Infallible>(door.answer(request).await) }
    });
    // How a caller goes away is no news: what it subscribed to ends with its connection.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_LIMIT)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), service)
        .await;
}
