//! How does this lane answer in place of the engine, so that every caller sees it?

use crate::house::House;
use crate::telemetry::{Exchange, Side};
use bytes::Bytes;
use pingora_error::Result;
use pingora_http::ResponseHeader;
use pingora_proxy::Session;
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::names;
use spillway_policies::Surface;
use std::time::Duration;

/// Most bytes of a body that are taken in before an answer of ours; fewer where bodies must be smaller.
const MOST_TAKEN: usize = 1024 * 1024;

/// How long that may take.
const TAKING: Duration = Duration::from_secs(1);

/// Answers in place of the engine; `local` when that is disclosed.
pub(super) async fn write(
    house: &House,
    session: &mut Session,
    log: &mut Exchange,
    answer: &ErrorAnswer,
    surface: Option<Surface>,
    local: bool,
) -> Result<()> {
    log.code = Some(answer.code);
    let mut body = answer.body(surface);
    let mut head = ResponseHeader::build(answer.status, Some(5))?;
    head.insert_header("Content-Type", names::JSON)?;
    head.insert_header("Content-Length", body.len().to_string())?;
    if let Some(wait) = answer.retry_after_s {
        head.insert_header("Retry-After", wait.to_string())?;
    }
    if local {
        log.served(Side::Local);
        head.insert_header(names::SERVED_BY, "local")?;
    }
    if session.req_header().method == http::Method::HEAD {
        body.clear();
    }
    let most = MOST_TAKEN.min(house.max_body_bytes);
    // Late, or much: it is answered all the same.
    tokio::time::timeout(TAKING, take_in(session, most)).await.ok();
    session.set_keepalive(None);
    session.write_response_header(Box::new(head), false).await?;
    session.write_response_body(Some(Bytes::from(body)), true).await
}

/// Takes in what the caller still sends. What is left unread makes pingora reset the HTTP/2 stream, and the kernel the TCP connection,
/// behind the answer: many callers lose it then.
async fn take_in(session: &mut Session, most: usize) {
    // Who waits for our word has sent nothing, and gets the answer instead.
    if session.req_header().headers.contains_key(http::header::EXPECT) {
        return;
    }
    let mut taken = 0;
    while let Ok(Some(piece)) = session.as_mut().read_request_body().await {
        taken += piece.len();
        if taken > most {
            return;
        }
    }
}
