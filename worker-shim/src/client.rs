//! How is the engine asked? One HTTP/1.1 request, bounded in time and size.
//!
//! Each call has a connection of its own and says so: an engine with a thread per connection (llama.cpp's) would otherwise give one to
//! the shim for good, and no call can meet a connection that the engine is about to close.

mod connect;

use crate::config::{Address, ApiKey};
use bytes::Bytes;
use connect::{Stream, connect};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use spillway_filters::presets::Method;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Largest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Largest answer head, in bytes, and most that is read at once.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// How long [`Client::is_there`] waits for a connection. Engines are beside us.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Asks one engine.
#[derive(Clone, Debug)]
pub struct Client {
    engine: Arc<Engine>,
}

#[derive(Debug)]
struct Engine {
    address: Address,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
}

/// What the engine answered. Redirects are answers too: nothing is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its body, whole.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// Nobody listens there.
    Refused,
    /// Somebody may be there, and did not answer within the limit.
    Silent,
    /// The answer broke off, is too large or is not HTTP.
    Broken,
}

impl Client {
    /// A client of the engine at this address. Nothing is connected yet.
    #[must_use]
    pub fn new(address: Address, api_key: Option<ApiKey>) -> Self {
        let host = match &address {
            Address::Tcp(authority) => HeaderValue::from_str(authority).ok(),
            Address::Unix(_) => None,
        };
        let host = host.unwrap_or(HeaderValue::from_static("localhost"));
        let authorization = api_key.and_then(|key| bearer(&key));
        Self { engine: Arc::new(Engine { address, host, authorization }) }
    }

    /// Asks the engine and reads the whole answer within `limit`. An empty body is none; a body is JSON. A call that is dropped takes its
    /// connection with it.
    ///
    /// # Errors
    ///
    /// When there is no answer that can be read.
    pub async fn ask(&self, method: Method, path: &str, body: &str, limit: Duration) -> Result<Answer, NoAnswer> {
        let request = self.engine.request(method, path, body)?;
        timeout(limit, self.engine.exchange(request)).await.unwrap_or(Err(NoAnswer::Silent))
    }

    /// Whether anybody accepts a connection.
    pub async fn is_there(&self) -> bool {
        self.reach(CONNECT_LIMIT).await.is_ok()
    }

    /// Connects within `limit`, and leaves again.
    pub(crate) async fn reach(&self, limit: Duration) -> Result<(), NoAnswer> {
        let connected = timeout(limit, connect(&self.engine.address)).await;
        connected.unwrap_or(Err(NoAnswer::Silent)).map(drop)
    }
}

impl Engine {
    fn request(&self, method: Method, path: &str, body: &str) -> Result<Request<Full<Bytes>>, NoAnswer> {
        let mut request = Request::builder()
            .method(method.token())
            .uri(path)
            .header(HOST, &self.host)
            .header(ACCEPT, "*/*")
            .header(CONNECTION, "close");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if method == Method::Post {
            // Also when it is zero: some servers answer 411 to a POST without it.
            request = request.header(CONTENT_LENGTH, body.len());
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).map_err(|_| NoAnswer::Broken)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, NoAnswer> {
        match connect(&self.address).await? {
            Stream::Tcp(stream) => talk(TokioIo::new(stream), request).await,
            Stream::Unix(stream) => talk(TokioIo::new(stream), request).await,
        }
    }
}

/// One request and its answer over a new connection, which ends with this future.
async fn talk<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Answer, NoAnswer>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    let handshake = http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).handshake(stream).await;
    let (mut sender, connection) = handshake.map_err(|_| NoAnswer::Broken)?;
    let answer = async { read(sender.send_request(request).await.map_err(|_| NoAnswer::Broken)?).await };
    tokio::pin!(answer);
    // Its end says nothing that the answer does not say.
    let moved = async { drop(connection.await) };
    tokio::select! {
        biased;
        answer = &mut answer => return answer,
        () = moved => {}
    }
    answer.await
}

async fn read(response: Response<Incoming>) -> Result<Answer, NoAnswer> {
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
    Ok(Answer { status, body: body.map_err(|_| NoAnswer::Broken)?.to_bytes() })
}

/// The key as it travels. One that no header can carry is not sent, and the engine then says that it is missing.
fn bearer(key: &ApiKey) -> Option<HeaderValue> {
    let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", key.0)) else {
        tracing::warn!("the engine's API key has characters that no header can carry: it is not sent");
        return None;
    };
    value.set_sensitive(true);
    Some(value)
}
