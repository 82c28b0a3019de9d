//! Who stands behind the sidecar? A listener whose every connection runs a script, and what it saw.

use crate::pipe::{Conn, Head, Place, Wire};
use parking_lot::Mutex;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

type Script = Arc<dyn Fn(Conn) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A listener, until it is dropped.
pub(crate) struct Engine {
    pub(crate) place: Place,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The protocol that a listener wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Socket {
    Tcp,
    Unix,
}

impl Engine {
    /// On loopback.
    pub(crate) async fn tcp<F>(script: impl Fn(Conn) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::listen(Socket::Tcp, Path::new(""), None, script).await
    }

    /// On loopback, over TLS. A failed handshake is not a connection.
    pub(crate) async fn tls<F>(acceptor: TlsAcceptor, script: impl Fn(Conn) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::listen(Socket::Tcp, Path::new(""), Some(acceptor), script).await
    }

    pub(crate) async fn listen<F>(
        socket: Socket,
        folder: &Path,
        tls: Option<TlsAcceptor>,
        script: impl Fn(Conn) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let script: Script = Arc::new(move |conn| Box::pin(script(conn)));
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let (place, accepting) = match socket {
            Socket::Tcp => {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                let place = Place::Tcp(listener.local_addr().expect("an address"));
                let task = tokio::spawn(async move {
                    while let Ok((stream, _)) = listener.accept().await {
                        stream.set_nodelay(true).expect("a TCP option");
                        run(Box::new(stream), tls.clone(), &script, &count);
                    }
                });
                (place, task)
            }
            Socket::Unix => {
                let path = folder.join("engine.sock");
                let listener = UnixListener::bind(&path).expect("a socket");
                let task = tokio::spawn(async move {
                    while let Ok((stream, _)) = listener.accept().await {
                        run(Box::new(stream), None, &script, &count);
                    }
                });
                (Place::Unix(path), task)
            }
        };
        Self { place, connections, accepting }
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn run(wire: Box<dyn Wire>, tls: Option<TlsAcceptor>, script: &Script, count: &Arc<AtomicUsize>) {
    let (script, count) = (script.clone(), count.clone());
    tokio::spawn(async move {
        let wire = match tls {
            None => wire,
            Some(tls) => match tls.accept(wire).await {
                Ok(stream) => Box::new(stream),
                Err(_) => return,
            },
        };
        count.fetch_add(1, Ordering::SeqCst);
        script(Conn::new(wire)).await;
    });
}

/// One request as an engine got it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

/// Every request that an engine got.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Seen>>>);

impl Journal {
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.lock().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub(crate) fn last(&self) -> Seen {
        self.0.lock().last().cloned().expect("the engine got a request")
    }

    /// Reads the next request of a connection and notes it; none at the end.
    pub(crate) async fn next(&self, conn: &mut Conn) -> Option<Seen> {
        let head = conn.next_head().await?;
        let body = conn.body(&head).await;
        let seen = Seen { head, body };
        self.0.lock().push(seen.clone());
        Some(seen)
    }
}

/// An answer with a JSON body.
pub(crate) fn json(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The refusal of a SIE engine that is loading the model.
pub(crate) fn loading() -> String {
    let body = r#"{"error":{"message":"loading","type":"server_error","param":null,"code":"MODEL_LOADING"}}"#;
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A whole chat answer that says `text`.
pub(crate) fn said(text: &str) -> String {
    json(
        "200 OK",
        &format!(
            r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}}}"#
        ),
    )
}

/// Answers every request of every connection with the same bytes.
pub(crate) async fn always(answer: impl Into<String>) -> (Engine, Journal) {
    let (journal, answer) = (Journal::default(), answer.into());
    let seen = journal.clone();
    let engine = Engine::tcp(move |conn| repeat(conn, seen.clone(), answer.clone())).await;
    (engine, journal)
}

pub(crate) async fn repeat(mut conn: Conn, journal: Journal, answer: String) {
    while journal.next(&mut conn).await.is_some() {
        if conn.try_send(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}
