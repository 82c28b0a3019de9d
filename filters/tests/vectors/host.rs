//! An upstream to put calls to.

use serde_json::Value;
use spillway_filters::answer::Content;
use spillway_filters::call::{self, Details, Format};
use spillway_filters::dialect::{self, Answer, Asked, Caller, Raw, Reading};
use spillway_filters::edit::Piece;
use spillway_filters::validate::{Dialect, Rules};
use spillway_policies::model::UpstreamModel;
use spillway_policies::routing::{Onboarding, Remote, Sparse, Tasks};
use spillway_policies::surface::Task;
use spillway_policies::upstream::{Endpoint, Kind, Params, Timeouts, TlsFiles, Upstream, UpstreamName};
use spillway_policies::url::BaseUrl;
use spillway_policies::verdict::Plan;
use spillway_policies::{Cause, Class, Failure, Surface, breaker, rate_cap};
use std::sync::Arc;

/// The call asks for what cannot be said there.
pub(crate) const UNTRANSLATABLE: Failure = Failure::new(Cause::Unsupported, Class::Invalid);

/// The answer is not a valid one.
pub(crate) const INVALID: Failure = Failure::new(Cause::InvalidAnswer, Class::Final);

/// One upstream that serves one model.
pub(crate) struct Host {
    upstream: Upstream,
    model: UpstreamModel,
    pub(crate) tasks: Tasks,
    pub(crate) max_batch: Option<u32>,
}

/// A call on its way to a host.
pub(crate) struct Call<'a> {
    pub(crate) surface: Surface,
    pub(crate) format: Format,
    pub(crate) reads: Content,
    pub(crate) second_rerank: bool,
    pub(crate) body: &'a [u8],
}

impl<'a> Call<'a> {
    /// A JSON call whose answer is read as JSON.
    pub(crate) fn json(surface: Surface, body: &'a [u8]) -> Self {
        Self { surface, format: Format::Json, reads: Content::Json, second_rerank: false, body }
    }
}

impl Host {
    /// An OpenAI host with embeddings and rerank, and a model two wide.
    pub(crate) fn openai() -> Self {
        Self::new(Kind::Openai(vec![Endpoint::Embeddings, Endpoint::Rerank]), "vendor-model")
    }

    /// A SIE.
    pub(crate) fn sie() -> Self {
        Self::new(Kind::Sie, "org/name:default")
    }

    fn new(kind: Kind, model: &str) -> Self {
        let upstream = Upstream {
            name: UpstreamName::parse("up").expect("a name"),
            kind,
            base_url: BaseUrl::parse("https://up.example/v1").expect("a URL"),
            credential: None,
            rate_cap: rate_cap::Settings { requests_per_minute: 60, max_concurrency: 4 },
            breaker: breaker::Settings { failures: 5, window_ms: 30_000, cooldown_ms: 60_000 },
            params: Params::default(),
            timeouts: Timeouts::default(),
            tls: TlsFiles::default(),
            proxy_url: None,
        };
        let mut tasks = Tasks::default();
        [Task::Encode, Task::Score, Task::Extract].into_iter().for_each(|task| tasks.declare(task));
        tasks.dense_dim = Some(2);
        tasks.sparse = Some(Sparse { dim: Some(10) });
        Self { upstream, model: UpstreamModel::parse(model).expect("a model"), tasks, max_batch: None }
    }

    /// The operator sets a field.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.upstream.params.set.push((name.to_owned(), value.to_owned()));
    }

    /// The operator strips a field.
    pub(crate) fn strip(&mut self, name: &str) {
        self.upstream.params.strip.push(name.to_owned());
    }

    /// What a call is checked against.
    pub(crate) const RULES: Rules<'static> =
        Rules { dialect: Dialect::Openai, accept: &[], dense_dim: None, max_output_tokens: None };

    /// Puts a call to it.
    pub(crate) fn ask(&self, call: &Call<'_>) -> Result<Asked, Failure> {
        let remote = Remote {
            upstream: Arc::new(self.upstream.clone()),
            model: self.model.clone(),
            max_batch: self.max_batch,
            onboarding: Onboarding::default(),
        };
        let plan = Plan { remote: &remote, tasks: &self.tasks, trigger: None, surface: call.surface };
        let details = call::inspect(call.surface, call.format, call.body, &Self::RULES).expect("a well-formed call");
        // The field rules have tests of their own: here every call goes out, and what it cannot say is found on the way.
        let details = Details { rejection: None, ..details };
        let caller = Caller {
            surface: call.surface,
            dialect: Dialect::Openai,
            format: call.format,
            content_type: b"application/json",
            reads: call.reads,
            body: call.body,
            model: "org/m",
            model_span: call::named(Format::Json, b"", call.body).ok().map(|named| named.span),
            second_rerank: call.second_rerank,
            details: &details,
            id: "fresh-1".into(),
            created_s: 1_750_000_000,
        };
        dialect::ask(caller, &plan)
    }

    /// Puts a JSON call to it whose answer is read as JSON.
    pub(crate) fn ask_json(&self, surface: Surface, body: &Value) -> Result<Asked, Failure> {
        self.ask(&Call::json(surface, &text(body)))
    }
}

/// A value as JSON.
pub(crate) fn text(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("JSON")
}

/// A value as msgpack.
pub(crate) fn msgpack(value: &Value) -> Vec<u8> {
    rmp_serde::to_vec_named(value).expect("msgpack")
}

/// One body as bytes.
pub(crate) fn bytes(pieces: &[Piece], held: &[u8]) -> Vec<u8> {
    pieces
        .iter()
        .flat_map(|piece| match piece {
            Piece::Held(range) => &held[range.clone()],
            Piece::New(bytes) => bytes.as_slice(),
        })
        .copied()
        .collect()
}

/// The bodies that are sent.
pub(crate) fn bodies(asked: &Asked, held: &[u8]) -> Vec<Value> {
    asked
        .bodies
        .iter()
        .map(|pieces| match asked.content_type.as_str() {
            "application/msgpack" => rmp_serde::from_slice(&bytes(pieces, held)).expect("msgpack"),
            _ => serde_json::from_slice(&bytes(pieces, held)).expect("JSON"),
        })
        .collect()
}

/// The one body that is sent.
pub(crate) fn body(asked: &Asked, held: &[u8]) -> Value {
    let bodies = bodies(asked, held);
    assert_eq!(bodies.len(), 1, "one request");
    bodies.into_iter().next().expect("one")
}

/// What `asked` makes of whole answers.
pub(crate) fn answer(asked: &Asked, answers: &[Vec<u8>]) -> Result<Answer, Failure> {
    let Reading::Whole(whole) = &asked.reading else { panic!("read whole") };
    let raw = |body: &Vec<u8>| Raw { content_type: Some(b"application/json".to_vec()), body: body.clone() };
    whole.read(&answers.iter().map(raw).collect::<Vec<_>>())
}

/// What `asked` makes of JSON answers, for a caller of JSON.
pub(crate) fn read(asked: &Asked, answers: &[Value]) -> Result<Value, Failure> {
    let answer = answer(asked, &answers.iter().map(text).collect::<Vec<_>>())?;
    assert_eq!(answer.content_type, "application/json");
    Ok(serde_json::from_slice(&answer.body).expect("JSON"))
}

/// The most bytes that are read of one answer.
pub(crate) fn most_bytes(asked: &Asked) -> usize {
    let Reading::Whole(whole) = &asked.reading else { panic!("read whole") };
    whole.most_bytes()
}

/// The bytes that hexadecimal digits write.
pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
}
