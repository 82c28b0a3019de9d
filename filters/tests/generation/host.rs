//! An upstream to put calls to.

use serde_json::Value;
use spillway_filters::answer::Content;
use spillway_filters::call::{self, Format};
use spillway_filters::dialect::{self, Asked, Caller, Raw, Reading};
use spillway_filters::validate::{Dialect, Rules};
use spillway_policies::model::UpstreamModel;
use spillway_policies::routing::{Onboarding, Remote, Tasks};
use spillway_policies::surface::Task;
use spillway_policies::upstream::{Endpoint, Kind, Params, Timeouts, TlsFiles, Upstream, UpstreamName};
use spillway_policies::url::BaseUrl;
use spillway_policies::verdict::Plan;
use spillway_policies::{Cause, Class, Failure, Surface, breaker, rate_cap};
use std::sync::Arc;

/// The call asks for what cannot be said there.
pub(crate) const UNTRANSLATABLE: Failure = Failure::new(Cause::Unsupported, Class::Invalid);

/// The upstream has no way to serve the call.
pub(crate) const UNSUPPORTED: Failure = Failure::new(Cause::Unsupported, Class::Final);

/// The answer is not a valid one.
pub(crate) const INVALID: Failure = Failure::new(Cause::InvalidAnswer, Class::Final);

/// A call that breaks the field rules is not asked at all; what is asked of one that passes in another dialect is tested here too.
const fn rules(surface: Surface) -> Rules<'static> {
    // SIE's own completions have no log-probabilities.
    let dialect = if matches!(surface, Surface::Completions) { Dialect::Openai } else { Dialect::Sie };
    Rules { dialect, accept: &[], dense_dim: None, max_output_tokens: None }
}

/// One upstream that serves one model.
pub(crate) struct Host {
    upstream: Upstream,
    model: UpstreamModel,
    pub(crate) onboarding: Onboarding,
    pub(crate) tasks: Tasks,
    /// Whose API the caller asked.
    pub(crate) dialect: Dialect,
}

impl Host {
    /// An OpenAI host with these endpoints.
    pub(crate) fn openai(endpoints: &[Endpoint]) -> Self {
        Self::new(Kind::Openai(endpoints.to_vec()), "vendor-model")
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
        tasks.declare(Task::Generate);
        tasks.context_length = Some(1000);
        tasks.max_output_tokens = Some(100);
        let model = UpstreamModel::parse(model).expect("a model");
        Self { upstream, model, onboarding: Onboarding::default(), tasks, dialect: Dialect::Openai }
    }

    /// The operator sets a field.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.upstream.params.set.push((name.to_owned(), value.to_owned()));
    }

    /// The operator strips a field.
    pub(crate) fn strip(&mut self, name: &str) {
        self.upstream.params.strip.push(name.to_owned());
    }

    /// Puts a JSON call to it.
    pub(crate) fn ask(&self, surface: Surface, body: &[u8]) -> Result<Asked, Failure> {
        self.ask_as(surface, "application/json", body)
    }

    /// Puts a call of any content type to it.
    pub(crate) fn ask_as(&self, surface: Surface, content_type: &str, body: &[u8]) -> Result<Asked, Failure> {
        let format = Format::of(surface, content_type.as_bytes());
        let remote = Remote {
            upstream: Arc::new(self.upstream.clone()),
            model: self.model.clone(),
            max_batch: None,
            onboarding: self.onboarding.clone(),
        };
        let plan = Plan { remote: &remote, tasks: &self.tasks, trigger: None, surface };
        let mut details = call::inspect(surface, format, body, &rules(surface)).expect("a well-formed call");
        details.rejection = None;
        let model_span = call::named(format, content_type.as_bytes(), body).ok().map(|named| named.span);
        let caller = Caller {
            surface,
            dialect: self.dialect,
            format,
            content_type: content_type.as_bytes(),
            reads: Content::Json,
            body,
            model: "org/m",
            model_span,
            second_rerank: false,
            details: &details,
            id: "fresh-1".into(),
            created_s: 1_750_000_000,
        };
        dialect::ask(caller, &plan)
    }
}

/// A value as bytes.
pub(crate) fn text(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("JSON")
}

/// The one body that is sent.
pub(crate) fn body(asked: &Asked, held: &[u8]) -> Value {
    let [pieces] = asked.bodies.as_slice() else { panic!("one request") };
    let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.clone().into_bytes(held)).collect();
    serde_json::from_slice(&bytes).expect("JSON")
}

/// What `asked` makes of one whole JSON answer.
pub(crate) fn read(asked: &Asked, answer: &Value) -> Result<Value, Failure> {
    let Reading::Whole(whole) = &asked.reading else { panic!("read whole") };
    let raw = Raw { content_type: Some(b"application/json".to_vec()), body: text(answer) };
    let answer = whole.read(&[raw])?;
    assert_eq!(answer.content_type, "application/json");
    Ok(serde_json::from_slice(&answer.body).expect("JSON"))
}

/// A host's whole completions answer.
pub(crate) fn completion(text: &str, finish_reason: &str) -> Value {
    serde_json::json!({
        "id": "cmpl-theirs", "object": "text_completion", "created": 1, "model": "vendor-model",
        "choices": [{"index": 0, "text": text, "logprobs": null, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    })
}

/// A host's whole chat answer.
pub(crate) fn chat(message: &Value, finish_reason: &str) -> Value {
    serde_json::json!({
        "id": "chatcmpl-theirs", "object": "chat.completion", "created": 1, "model": "vendor-model",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "prompt_tokens_details": {"cached_tokens": 1}},
    })
}
