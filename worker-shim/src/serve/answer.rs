//! What is the answer to one request on the socket?

use super::REQUEST_LIMIT;
use super::Told;
use super::problem::Problem;
use super::stream::{Feed, Subscription};
use crate::asked::{Asked, Reply};
use crate::output::Output;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use spillway_filters::feed::{Activity, Snapshot, Wish, paths};
use spillway_filters::names;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

/// What browsers say of the page that asks; no script can leave it out.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Largest request body, in bytes.
const MOST_BODY_BYTES: usize = 64 * 1024;

/// Longest name of a subscriber, in characters.
const LONGEST_NAME: usize = 64;

/// Longest name of a model, in bytes.
const LONGEST_MODEL: usize = 512;

/// A whole answer, or a stream.
pub(super) type Body = Either<Full<Bytes>, Feed>;

/// What answers are made of.
pub(super) struct Door {
    pub(super) state: watch::Receiver<Arc<Told>>,
    pub(super) output: Arc<Output>,
    pub(super) asked: mpsc::Sender<Asked>,
    /// A place for each stream.
    pub(super) streams: Arc<Semaphore>,
    pub(super) is_open_to_pages: bool,
}

impl Door {
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        self.route(request).await.unwrap_or_else(|problem| problem.answer())
    }

    async fn route(&self, request: Request<Incoming>) -> Result<Response<Body>, Problem> {
        let path = request.uri().path().to_owned();
        let allowed = match &*path {
            paths::STATE | paths::STREAM | paths::LOG => Method::GET,
            paths::LOAD | paths::SLEEP | paths::ACTIVITY => Method::POST,
            _ => return Err(Problem::no_such_path()),
        };
        if *request.method() != allowed {
            return Err(Problem::method(&allowed));
        }
        if self.is_open_to_pages && is_of_a_page(request.headers()) {
            return Err(Problem::of_a_page());
        }
        if self.asked.is_closed() {
            return Err(Problem::ending());
        }
        match &*path {
            paths::STATE => Ok(self.state(StatusCode::OK)),
            paths::STREAM => self.stream(request.uri().query()).await,
            paths::LOAD => self.wish(request, Asked::Load).await,
            paths::SLEEP => self.wish(request, Asked::Sleep).await,
            paths::ACTIVITY => self.activity(request).await,
            _ => Ok(self.log()),
        }
    }

    fn state(&self, status: StatusCode) -> Response<Body> {
        let told = self.state.borrow().clone();
        whole(status, names::JSON, rendered(&told.now()))
    }

    fn log(&self) -> Response<Body> {
        let mut text = String::new();
        for line in self.output.lines() {
            text.push_str(&line);
            text.push('\n');
        }
        whole(StatusCode::OK, "text/plain; charset=utf-8", text)
    }

    async fn stream(&self, query: Option<&str>) -> Result<Response<Body>, Problem> {
        let name = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("as="));
        if name.is_some_and(|name| !is_name(name)) {
            return Err(Problem::name());
        }
        let place = self.streams.clone().try_acquire_owned().map_err(|_| Problem::streams())?;
        let subscription = match name {
            None => None,
            Some(name) => {
                let begun = Subscription::begin(name.into(), self.asked.clone()).await;
                Some(begun.ok_or_else(Problem::ending)?)
            }
        };
        let feed = Feed::new(self.state.clone(), subscription, place);
        let mut stream = answer(StatusCode::OK, names::EVENT_STREAM, Either::Right(feed));
        // A stream that ends is the last thing on its connection.
        stream.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        Ok(stream)
    }

    async fn wish(
        &self,
        request: Request<Incoming>,
        asked: impl FnOnce(Wish, oneshot::Sender<Reply>) -> Asked,
    ) -> Result<Response<Body>, Problem> {
        let body = body(request).await?;
        let wish: Wish = match &*body {
            [] => Wish::default(),
            body => from_object(body, serde_json::from_slice).ok_or_else(Problem::wish)?,
        };
        if wish.model.as_ref().is_some_and(|model| !(1..=LONGEST_MODEL).contains(&model.len())) {
            return Err(Problem::model());
        }
        let (reply, answer) = oneshot::channel();
        self.asked.send(asked(wish, reply)).await.map_err(|_| Problem::ending())?;
        match answer.await.map_err(|_| Problem::ending())? {
            Reply::Done => Ok(self.state(StatusCode::OK)),
            Reply::Begun => Ok(self.state(StatusCode::ACCEPTED)),
            Reply::Refused(refused) => Err(refused.into()),
        }
    }

    async fn activity(&self, request: Request<Incoming>) -> Result<Response<Body>, Problem> {
        let body = body(request).await?;
        let activity: Activity = from_object(&body, serde_json::from_slice).ok_or_else(Problem::activity)?;
        if !is_name(&activity.r#as) {
            return Err(Problem::name());
        }
        self.asked.send(Asked::Activity(activity)).await.map_err(|_| Problem::ending())?;
        let mut heard = Response::new(Either::Left(Full::default()));
        *heard.status_mut() = StatusCode::NO_CONTENT;
        Ok(heard)
    }
}

async fn body(request: Request<Incoming>) -> Result<Bytes, Problem> {
    let collecting = Limited::new(request.into_body(), MOST_BODY_BYTES).collect();
    match tokio::time::timeout(REQUEST_LIMIT, collecting).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::too_large()),
        Ok(Err(_)) | Err(_) => Err(Problem::unfinished()),
    }
}

/// What a JSON object says, as `read` reads it. Left to itself, that takes an array of the fields for one too.
fn from_object<'a, T>(body: &'a [u8], read: impl FnOnce(&'a [u8]) -> serde_json::Result<T>) -> Option<T> {
    body.trim_ascii_start().starts_with(b"{").then(|| read(body).ok()).flatten()
}

/// Whether a page that somebody visits on this machine asks: it is neither to load models nor to read what the engine wrote. Browsers send an
/// origin or say how the page is related to us, or both; one that does neither names the page's host, whatever address is behind it.
fn is_of_a_page(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let is_this_machine = host.is_some_and(|authority| {
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    });
    headers.contains_key(ORIGIN) || headers.contains_key(SEC_FETCH_SITE) || !is_this_machine
}

fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

pub(super) fn rendered(snapshot: &Snapshot) -> Vec<u8> {
    serde_json::to_vec(snapshot).expect("a snapshot has text keys and nothing that does not render")
}

pub(super) fn whole(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    answer(status, content_type, Either::Left(Full::new(body.into())))
}

fn answer(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}
