//! What do validation and conversion cost? `cargo bench -p spillway-filters`; the floors are what any reader or writer must pay.
//!
//! Throughput counts the bytes that come in. Times mean something beside the floor of the same run only.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use divan::{Bencher, black_box, counter::BytesCount};
use spillway_filters::answer::Content;
use spillway_filters::call::{self, Details, Format};
use spillway_filters::dialect::{self, Caller, Raw, Reading, Whole};
use spillway_filters::validate::{Dialect, Rules};
use spillway_policies::model::UpstreamModel;
use spillway_policies::routing::{Onboarding, Tasks};
use spillway_policies::surface::Task;
use spillway_policies::upstream::{Endpoint, Kind, Params, Timeouts, TlsFiles, UpstreamName};
use spillway_policies::url::BaseUrl;
use spillway_policies::verdict::Plan;
use spillway_policies::{Remote, Surface, Upstream, breaker, rate_cap};
use std::sync::Arc;

const VECTORS: usize = 384;
const WIDTH: usize = 1024;

fn main() {
    divan::main();
}

mod validation {
    use super::*;

    /// A chat of 5.5 KB: a system prompt, a few turns, a tool.
    fn chat() -> Vec<u8> {
        let turns: Vec<_> = (0..12)
            .map(|turn| {
                let role = if turn % 2 == 0 { "user" } else { "assistant" };
                serde_json::json!({"role": role, "content": "wide water, narrow gate; ".repeat(16)})
            })
            .collect();
        let parameters = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let tool = serde_json::json!({"type": "function", "function": {"name": "weather", "parameters": parameters}});
        let call = serde_json::json!({"model": "org/chat", "messages": turns, "tools": [tool], "temperature": 0.2,
            "max_tokens": 256, "stream": true, "stream_options": {"include_usage": true}, "stop": ["END"]});
        serde_json::to_vec(&call).expect("it renders")
    }

    #[divan::bench(args = [Dialect::Sie, Dialect::Openai])]
    fn chat_of_5_5_kb(bencher: Bencher<'_, '_>, dialect: Dialect) {
        let body = chat();
        let rules = Rules { dialect, accept: &[], dense_dim: None, max_output_tokens: None };
        let read = || call::inspect(Surface::Chat, Format::Json, black_box(&body), &rules).expect("well-formed");
        assert!(read().rejection.is_none());
        bencher.counter(BytesCount::of_slice(&body)).bench(read);
    }

    #[divan::bench]
    fn floor_skip_all(bencher: Bencher<'_, '_>) {
        let body = chat();
        bencher
            .counter(BytesCount::of_slice(&body))
            .bench(|| serde_json::from_slice::<serde::de::IgnoredAny>(black_box(&body)));
    }
}

mod vectors {
    use super::*;

    /// Embeddings of a host that heeds `encoding_format`, and of one that does not.
    #[divan::bench(args = ["base64", "floats"])]
    fn embeddings_to_floats(bencher: Bencher<'_, '_>, host: &str) {
        answered(bencher, Surface::Embeddings, Content::Json, "float", embeddings(host));
    }

    #[divan::bench(args = ["base64", "floats"])]
    fn embeddings_to_base64(bencher: Bencher<'_, '_>, host: &str) {
        answered(bencher, Surface::Embeddings, Content::Json, "base64", embeddings(host));
    }

    #[divan::bench(args = ["base64", "floats"])]
    fn encode_to_msgpack(bencher: Bencher<'_, '_>, host: &str) {
        answered(bencher, Surface::Encode, Content::Msgpack, "", embeddings(host));
    }

    #[divan::bench(args = ["base64", "floats"])]
    fn encode_to_json(bencher: Bencher<'_, '_>, host: &str) {
        answered(bencher, Surface::Encode, Content::Json, "", embeddings(host));
    }

    /// The answer of a SIE upstream, which passes through.
    #[divan::bench(args = [Content::Json, Content::Msgpack])]
    fn native_encode(bencher: Bencher<'_, '_>, reads: Content) {
        let whole = asked(Kind::Sie, Surface::Encode, reads, "");
        let answers = [Raw { content_type: None, body: native(reads) }];
        let read = || whole.read(black_box(&answers)).expect("a valid answer");
        bencher.counter(BytesCount::of_slice(&answers[0].body)).bench(read);
    }

    #[divan::bench]
    fn floor_native_json_to_f32(bencher: Bencher<'_, '_>) {
        let json = native(Content::Json);
        bencher
            .counter(BytesCount::of_slice(&json))
            .bench(|| serde_json::from_slice::<Native>(black_box(&json)).expect("vectors"));
    }

    #[divan::bench]
    fn floor_json_to_f32(bencher: Bencher<'_, '_>) {
        let json = serde_json::to_vec(&vec![numbers(); VECTORS]).expect("it renders");
        bencher
            .counter(BytesCount::of_slice(&json))
            .bench(|| serde_json::from_slice::<Vec<Vec<f32>>>(black_box(&json)).expect("vectors"));
    }

    #[divan::bench]
    fn floor_f32_to_json(bencher: Bencher<'_, '_>) {
        let vectors = vec![numbers(); VECTORS];
        bencher
            .counter(BytesCount::new(VECTORS * WIDTH * 4))
            .bench(|| serde_json::to_vec(black_box(&vectors)).expect("it renders"));
    }

    #[divan::bench]
    fn floor_base64_decode(bencher: Bencher<'_, '_>) {
        let text = STANDARD.encode(bytes().repeat(VECTORS));
        bencher.counter(BytesCount::of_str(&text)).bench(|| STANDARD.decode(black_box(&text)).expect("base64"));
    }
}

mod requests {
    use super::*;

    /// 8 MB of texts, which become several requests.
    fn embeddings() -> Vec<u8> {
        let text = "wide water, narrow gate; ".repeat(82);
        serde_json::to_vec(&serde_json::json!({"model": "m", "input": vec![text; 4096]})).expect("it renders")
    }

    #[divan::bench(args = ["openai", "sie"])]
    fn embeddings_of_8_mb(bencher: Bencher<'_, '_>, kind: &str) {
        let kind = if kind == "sie" { Kind::Sie } else { openai() };
        let (body, remote, tasks) = (embeddings(), remote(kind), tasks());
        let details = details(Surface::Embeddings, &body);
        let plan = Plan { remote: &remote, tasks: &tasks, trigger: None, surface: Surface::Embeddings };
        let caller = caller(Surface::Embeddings, Content::Json, &body, &details);
        let ask = || dialect::ask(black_box(&caller).clone(), &plan).expect("it can be asked").bodies;
        assert!(ask().len() > 1);
        bencher.counter(BytesCount::of_slice(&body)).bench(ask);
    }

    #[divan::bench]
    fn floor_validation(bencher: Bencher<'_, '_>) {
        let body = embeddings();
        bencher.counter(BytesCount::of_slice(&body)).bench(|| details(Surface::Embeddings, black_box(&body)));
    }
}

fn numbers() -> Vec<f32> {
    (0_u16..1024).map(|place| (f32::from(place) * 0.37).sin() / 32.0).collect()
}

fn bytes() -> Vec<u8> {
    numbers().iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn embeddings(host: &str) -> Vec<u8> {
    let vector = match host {
        "base64" => serde_json::json!(STANDARD.encode(bytes())),
        _ => serde_json::json!(numbers()),
    };
    let data: Vec<_> = (0..VECTORS)
        .map(|index| serde_json::json!({"object": "embedding", "index": index, "embedding": vector}))
        .collect();
    let usage = serde_json::json!({"prompt_tokens": 9, "total_tokens": 9});
    serde_json::to_vec(&serde_json::json!({"object": "list", "data": data, "model": "v", "usage": usage}))
        .expect("it renders")
}

/// The vectors of an answer of SIE, read.
#[derive(serde::Deserialize)]
struct Native {
    #[expect(dead_code, reason = "it is read to be measured")]
    items: Vec<NativeItem>,
}

#[derive(serde::Deserialize)]
struct NativeItem {
    #[expect(dead_code, reason = "it is read to be measured")]
    dense: NativeDense,
}

#[derive(serde::Deserialize)]
struct NativeDense {
    #[expect(dead_code, reason = "it is read to be measured")]
    values: Vec<f32>,
}

/// What SIE answers to encode.
fn native(reads: Content) -> Vec<u8> {
    let answers = [Raw { content_type: Some(b"application/json".to_vec()), body: embeddings("base64") }];
    asked(openai(), Surface::Encode, reads, "").read(&answers).expect("a valid answer").body
}

/// Reads an OpenAI host's answer back for a caller.
fn answered(bencher: Bencher<'_, '_>, surface: Surface, reads: Content, encoding: &str, body: Vec<u8>) {
    let whole = asked(openai(), surface, reads, encoding);
    let answers = [Raw { content_type: Some(b"application/json".to_vec()), body }];
    let read = || whole.read(black_box(&answers)).expect("a valid answer");
    bencher.counter(BytesCount::of_slice(&answers[0].body)).bench(read);
}

fn asked(kind: Kind, surface: Surface, reads: Content, encoding: &str) -> Box<Whole> {
    let texts: Vec<String> = (0..VECTORS).map(|number| format!("text {number}")).collect();
    let body = match surface {
        Surface::Embeddings => serde_json::json!({"model": "m", "input": texts, "encoding_format": encoding}),
        _ => {
            serde_json::json!({"items": texts.iter().map(|text| serde_json::json!({"text": text})).collect::<Vec<_>>()})
        }
    };
    let body = serde_json::to_vec(&body).expect("it renders");
    let details = details(surface, &body);
    let (remote, tasks) = (remote(kind), tasks());
    let plan = Plan { remote: &remote, tasks: &tasks, trigger: None, surface };
    match dialect::ask(caller(surface, reads, &body, &details), &plan).expect("it can be asked").reading {
        Reading::Whole(whole) => whole,
        Reading::Stream(_) => panic!("vectors do not stream"),
    }
}

fn details(surface: Surface, body: &[u8]) -> Details {
    let rules = Rules { dialect: Dialect::Sie, accept: &[], dense_dim: Some(1024), max_output_tokens: None };
    call::inspect(surface, Format::Json, body, &rules).expect("well-formed")
}

fn caller<'a>(surface: Surface, reads: Content, body: &'a [u8], details: &'a Details) -> Caller<'a> {
    Caller {
        surface,
        dialect: Dialect::Openai,
        format: Format::Json,
        content_type: b"application/json",
        reads,
        body,
        model: "m",
        model_span: call::named(Format::Json, b"", body).ok().map(|named| named.span),
        second_rerank: false,
        details,
        id: "id".to_owned(),
        created_s: 0,
    }
}

fn tasks() -> Tasks {
    let mut tasks = Tasks::default();
    tasks.dense_dim = Some(1024);
    tasks.declare(Task::Encode);
    tasks
}

fn openai() -> Kind {
    Kind::Openai(vec![Endpoint::Embeddings])
}

fn remote(kind: Kind) -> Remote {
    let upstream = Upstream {
        name: UpstreamName::parse("host").expect("a name"),
        kind,
        base_url: BaseUrl::parse("https://host.example.com/v1").expect("a URL"),
        credential: None,
        rate_cap: rate_cap::Settings { requests_per_minute: 60, max_concurrency: 4 },
        breaker: breaker::Settings::default(),
        params: Params::default(),
        timeouts: Timeouts::default(),
        tls: TlsFiles::default(),
        proxy_url: None,
    };
    let model = UpstreamModel::parse("v").expect("a name");
    Remote { upstream: Arc::new(upstream), model, max_batch: None, onboarding: Onboarding::default() }
}
