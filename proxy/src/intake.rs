//! Which call is this? Bounded read of the body, then as much reading of it as the route needs.

use crate::budget::Share;
use crate::client::Client;
use crate::connection::{Connection, Ended};
use crate::held::Held;
use crate::house::House;
use spillway_filters::call::{self, Details, Format};
use spillway_filters::error_answer::ErrorAnswer;
use spillway_filters::paths::{self, Asked};
use spillway_filters::validate::Dialect;
use spillway_filters::wire::RejectKind;
use spillway_filters::wire::chunk::Dechunk;
use spillway_filters::wire::request::{self, Method, Remote, RequestFraming, RequestHead};
use spillway_policies::model::Selector;
use spillway_policies::routing::{Barred, Route, Routes};
use spillway_policies::{Consent, Surface};
use std::ops::Range;

/// One understood request.
pub(crate) struct Call {
    pub(crate) held: Held,
    /// None: not inference, it passes through.
    pub(crate) surface: Option<Surface>,
    /// The model as written; empty when there is none.
    pub(crate) model: String,
    /// Where the body names the model, when it does.
    pub(crate) model_span: Option<Range<usize>>,
    pub(crate) format: Format,
    /// What the whole body says; read only for configured models.
    details: Option<Box<Details>>,
    pub(crate) forbids_remote: bool,
    pub(crate) is_head: bool,
    /// GET, HEAD or OPTIONS.
    pub(crate) only_reads: bool,
    /// `GET /v1/models` or `/v1/models/{m}`.
    pub(crate) lists_models: bool,
    /// The path is `/v2/rerank`.
    pub(crate) second_rerank: bool,
    pub(crate) path: Range<usize>,
    pub(crate) content_type: Option<Range<usize>>,
}

/// What was read.
pub(crate) enum Intake {
    /// The whole request.
    Held(Call),
    /// A body larger than the limit, for a model that is local only: it streams through unheld.
    TooLarge(RequestHead, Upload),
}

/// How a body that is not held goes on.
pub(crate) enum Upload {
    /// The bytes behind the head, as they come.
    Length(u64),
    /// What was decoded until the limit was passed, what was read behind it, the decoder for the rest, and whether there is none.
    Chunked { decoded: Vec<u8>, unread: Vec<u8>, dechunk: Dechunk, done: bool, share: Option<Share> },
}

/// Why a request goes nowhere.
pub(crate) enum Rejection {
    /// The caller is wrong. The connection stays usable when the whole body was read.
    Answer { answer: ErrorAnswer, close: bool },
    /// `max_held_bytes` is used up: a refusal of ours, which nothing can bridge because the body is not held.
    Full,
    /// The caller has left.
    Gone,
}

impl Call {
    /// The path, query excluded.
    pub(crate) fn path(&self) -> &[u8] {
        &self.held.head()[self.path.clone()]
    }

    /// The content type, when one was sent.
    pub(crate) fn content_type(&self) -> Option<&[u8]> {
        Some(&self.held.head()[self.content_type.clone()?])
    }

    /// What its body says, as far as it was read.
    pub(crate) fn details(&self) -> &Details {
        self.details.as_deref().unwrap_or(&Details::NONE)
    }

    /// Why the field rules reject this call on its route. A call for the engine alone is the engine's to judge, and an engine that
    /// validates before it refuses judges a hybrid one first: then the rules wait for the re-issue (product section 4 item 3).
    ///
    /// Where there is no engine to say so, a model that does not do what its caller asks is the caller's mistake too.
    pub(crate) fn rejection(&self, route: &Route<'_>, engine_judges: bool) -> Option<ErrorAnswer> {
        match route {
            Route::Local => None,
            Route::Hybrid { .. } if engine_judges => None,
            Route::Remote { tasks, .. } if self.surface.is_some_and(|surface| !tasks.has(surface.task())) => {
                self.surface.map(ErrorAnswer::not_this_task)
            }
            Route::Hybrid { .. } | Route::Remote { .. } => self.details().rejection.as_deref().cloned(),
        }
    }

    /// What this call is served by.
    pub(crate) fn resolve<'r>(&self, routes: &'r Routes, remote_serving: bool) -> Result<Route<'r>, Barred> {
        if self.surface.is_none() {
            return Ok(Route::Local);
        }
        let selector = Selector::parse(&self.model, self.details().profile.as_deref());
        routes.resolve(&selector, Consent::of(remote_serving, self.forbids_remote))
    }
}

/// Reads one request. On success the head for the engine is complete, framing included.
pub(crate) async fn read(house: &House, client: &mut Client<'_>) -> Result<Intake, Rejection> {
    let mut head = client.take_head();
    let limit = house.max_body_bytes;
    if matches!(head.framing, RequestFraming::Length(length) if length > limit as u64) {
        return Box::pin(too_large(house, client, head)).await;
    }
    let held = match head.framing {
        RequestFraming::None => {
            let mut buffer = std::mem::take(&mut client.connection.inbox);
            client.connection.inbox = split_tail(&mut buffer, head.len);
            Held::in_place(buffer, head.len..head.len, None)
        }
        RequestFraming::Length(length) => {
            read_length(house, client, &mut head, usize::try_from(length).unwrap_or(limit)).await?
        }
        RequestFraming::Chunked => match Box::pin(read_chunked(house, client, &mut head)).await? {
            Decoded::Whole(held) => held,
            Decoded::TooLarge { buffer, upload } => {
                let decoded = if let Upload::Chunked { decoded, .. } = &upload { decoded.as_slice() } else { &[] };
                let local = may_stream(house, &head, &buffer, decoded);
                client.connection.inbox = buffer;
                return if local {
                    Ok(Intake::TooLarge(head, upload))
                } else {
                    Err(reject(ErrorAnswer::body_too_large(), true))
                };
            }
        },
    };
    client.whole();
    let out = &mut client.connection.request_head;
    crate::lane::prefix_target(out, &house.engine.path_prefix);
    match head.framing {
        RequestFraming::None => request::finish_none(out),
        _ => request::finish_fixed(out, held.body().len() as u64),
    }
    let call = understand(house, head, held).map_err(|answer| reject(answer, false))?;
    if call.surface.is_some() {
        client.log.model = house.routes.configured_name(&call.model).map(str::to_owned);
    }
    Ok(Intake::Held(call))
}

const fn reject(answer: ErrorAnswer, close: bool) -> Rejection {
    Rejection::Answer { answer, close }
}

/// Cuts what stands behind `end` off: the next, pipelined request.
fn split_tail(buffer: &mut Vec<u8>, end: usize) -> Vec<u8> {
    if buffer.len() > end { buffer.split_off(end) } else { Vec::new() }
}

async fn read_length(
    house: &House,
    client: &mut Client<'_>,
    head: &mut RequestHead,
    length: usize,
) -> Result<Held, Rejection> {
    let end = head.len + length;
    let mut counted = client.connection.inbox.len().min(end) - head.len;
    // Bytes count when they arrive: a caller who announces much and sends little takes nothing from the others.
    let mut share = house.held.take(counted).ok_or(Rejection::Full)?;
    if client.connection.inbox.len() < end {
        continue_if_asked(client, head).await?;
        client.connection.inbox.reserve_exact(end - client.connection.inbox.len());
        let mut pace = Pace::new(house, client.connection);
        while client.connection.inbox.len() < end {
            pace.more(client.connection).await?;
            let have = client.connection.inbox.len().min(end) - head.len;
            if !share.grow(have - counted) {
                return Err(Rejection::Full);
            }
            counted = have;
        }
    }
    let mut buffer = std::mem::take(&mut client.connection.inbox);
    client.connection.inbox = split_tail(&mut buffer, end);
    Ok(Held::in_place(buffer, head.len..end, Some(share)))
}

/// The time a body has: `body_timeout_s` for each piece of [`PIECE`] bytes, so that a dripped body is bounded too.
pub(crate) struct Pace {
    timeout_ms: u64,
    since_armed: usize,
}

const PIECE: usize = 64 * 1024;

impl Pace {
    pub(crate) fn new(house: &House, connection: &Connection) -> Self {
        connection.deadline.arm(house.body_timeout_ms);
        Self { timeout_ms: house.body_timeout_ms, since_armed: 0 }
    }

    /// So many bytes have come.
    pub(crate) fn took(&mut self, count: usize, connection: &Connection) {
        self.since_armed += count;
        if self.since_armed >= PIECE {
            self.since_armed = 0;
            connection.deadline.arm(self.timeout_ms);
        }
    }

    /// Reads once.
    async fn more(&mut self, connection: &mut Connection) -> Result<(), Rejection> {
        match connection.fill().await {
            Ok(count) => {
                self.took(count, connection);
                Ok(())
            }
            Err(Ended::Gone) => Err(Rejection::Gone),
            Err(Ended::Late) => Err(reject(ErrorAnswer::too_slow(RejectKind::BodyTimeout.message()), true)),
        }
    }
}

/// A body that is sent only once it is asked for.
pub(crate) async fn continue_if_asked(client: &mut Client<'_>, head: &mut RequestHead) -> Result<(), Rejection> {
    if !std::mem::take(&mut head.expects_continue) {
        return Ok(());
    }
    let Connection { stream, deadline, .. } = &mut *client.connection;
    Connection::write(stream, deadline, b"HTTP/1.1 100 Continue\r\n\r\n", b"").await.map_err(|_| Rejection::Gone)
}

/// A chunked body after reading.
enum Decoded {
    Whole(Held),
    TooLarge { buffer: Vec<u8>, upload: Upload },
}

/// Decodes a chunked body up to the limit.
async fn read_chunked(house: &House, client: &mut Client<'_>, head: &mut RequestHead) -> Result<Decoded, Rejection> {
    let mut share = house.held.take(0);
    let mut dechunk = Dechunk::new();
    let mut body = Vec::new();
    let mut rest = client.connection.inbox.split_off(head.len);
    let buffer = std::mem::take(&mut client.connection.inbox);
    if rest.is_empty() {
        continue_if_asked(client, head).await?;
    }
    let mut pace = Pace::new(house, client.connection);
    loop {
        let before = body.len();
        // No limit inside the decoder: one read cannot pass ours by much, and the decoder must be able to go on.
        let (used, done) = dechunk.feed(&rest, &mut body, usize::MAX).map_err(|error| {
            let kind = RejectKind::from(error);
            reject(ErrorAnswer::framing(kind.status(), kind.message()), true)
        })?;
        if !share.as_mut().is_some_and(|share| share.grow(body.len() - before)) {
            return Err(Rejection::Full);
        }
        // Past the limit only the model's name is waited for: it decides whether the rest may stream through.
        let named = || body.len() >= FIRST_BYTES || done || call::named_early(&body).is_some();
        if body.len() > house.max_body_bytes && named() {
            let upload = Upload::Chunked { decoded: body, unread: rest.split_off(used), dechunk, done, share };
            return Ok(Decoded::TooLarge { buffer, upload });
        }
        if done {
            client.connection.inbox = rest.split_off(used);
            return Ok(Decoded::Whole(Held::decoded(buffer, body, share)));
        }
        rest.clear();
        pace.more(client.connection).await?;
        std::mem::swap(&mut rest, &mut client.connection.inbox);
    }
}

/// A body over the limit may pass unheld when its model is known to be local only. The body itself may have to name the model: its first
/// bytes usually do, and a request that is refused for its size costs nothing else.
async fn too_large(house: &House, client: &mut Client<'_>, mut head: RequestHead) -> Result<Intake, Rejection> {
    let RequestFraming::Length(length) = head.framing else { return Err(reject(ErrorAnswer::body_too_large(), true)) };
    if matches!(asked_of(&head, &client.connection.inbox[head.path.clone()]), Asked::Inference(_, None)) {
        continue_if_asked(client, &mut head).await?;
        let mut pace = Pace::new(house, client.connection);
        let enough = head.len + FIRST_BYTES.min(usize::try_from(length).unwrap_or(FIRST_BYTES));
        while client.connection.inbox.len() < enough
            && call::named_early(&client.connection.inbox[head.len..]).is_none()
        {
            pace.more(client.connection).await?;
        }
    }
    let inbox = &client.connection.inbox;
    if may_stream(house, &head, inbox, &inbox[head.len..]) {
        Ok(Intake::TooLarge(head, Upload::Length(length)))
    } else {
        Err(reject(ErrorAnswer::body_too_large(), true))
    }
}

/// Whether no policy can apply to a request, as far as its head and the first bytes of its body say.
fn may_stream(house: &House, head: &RequestHead, buffer: &[u8], first: &[u8]) -> bool {
    match asked_of(head, &buffer[head.path.clone()]) {
        Asked::Other => true,
        Asked::Nameless(_) => false,
        Asked::Inference(_, Some(model)) => house.is_local_only(&model),
        Asked::Inference(..) => call::named_early(first).is_some_and(|model| house.is_local_only(&model)),
    }
}

/// How much of a body that is too large to hold is looked at for its model.
const FIRST_BYTES: usize = 16 * 1024;

fn asked_of<'a>(head: &RequestHead, path: &'a [u8]) -> Asked<'a> {
    if head.method == Method::Post { paths::asked(path) } else { Asked::Other }
}

/// Names the model, and reads the whole body when that model may leave the machine.
fn understand(house: &House, head: RequestHead, held: Held) -> Result<Call, ErrorAnswer> {
    let path = &held.head()[head.path.clone()];
    let mut call = Call {
        surface: None,
        model: String::new(),
        model_span: None,
        format: Format::Json,
        details: None,
        forbids_remote: head.remote == Remote::Forbid,
        is_head: head.method == Method::Head,
        only_reads: matches!(head.method, Method::Get | Method::Head)
            || held.head().trim_ascii_start().starts_with(b"OPTIONS "),
        lists_models: head.method == Method::Get && (path == b"/v1/models" || path.starts_with(b"/v1/models/")),
        second_rerank: path == b"/v2/rerank",
        path: head.path.clone(),
        content_type: head.content_type.clone(),
        held,
    };
    let (surface, named) = match asked_of(&head, call.path()) {
        Asked::Other => return Ok(call),
        Asked::Nameless(_) => return Err(NAME_IN_PATH),
        Asked::Inference(surface, named) => (surface, named.map(|name| name.into_owned())),
    };
    let content_type = call.content_type().unwrap_or_default();
    let format = Format::of(surface, content_type);
    let (model, span) = match named {
        Some(model) => (model, None),
        None if head.content_encoded => return Err(ENCODED),
        None => {
            let named = call::named(format, content_type, call.held.body())?;
            (named.model.into_owned(), Some(named.span))
        }
    };
    if !house.is_local_only(&model) {
        if head.content_encoded {
            return Err(ENCODED);
        }
        let mut rules = house.field_rules(&model);
        if call.second_rerank {
            // Cohere's own path, whatever the engine.
            rules.dialect = Dialect::Openai;
        }
        call.details = Some(Box::new(call::inspect(surface, format, call.held.body(), &rules)?));
    }
    (call.surface, call.model, call.model_span, call.format) = (Some(surface), model, span, format);
    Ok(call)
}

const ENCODED: ErrorAnswer = ErrorAnswer::framing(415, "send the body without Content-Encoding");

const NAME_IN_PATH: ErrorAnswer =
    ErrorAnswer::invalid_field("model", "say which model: its name stands in the path, in UTF-8");
