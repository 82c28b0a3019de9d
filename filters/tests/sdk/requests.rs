//! Every request that the real SDK was seen sending: `sdk_requests.json`.

use serde::Deserialize;
use spillway_filters::call::{self, Details, Format};
use spillway_filters::paths::{Asked, asked};
use spillway_filters::validate::{Dialect, Rules};
use spillway_filters::wire::request::{Method, Remote, RequestFraming, RequestHead, Verdict, parse};
use spillway_policies::Surface;

#[derive(Deserialize)]
struct Captures {
    captures: Vec<Capture>,
}

#[derive(Deserialize)]
struct Capture {
    name: String,
    requests: Vec<Sent>,
}

#[derive(Deserialize)]
struct Sent {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body_hex: String,
}

impl Sent {
    fn head(&self) -> String {
        let lines: String = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("{} {} HTTP/1.1\r\n{lines}\r\n", self.method, self.path)
    }

    fn body(&self) -> Vec<u8> {
        let digits = self.body_hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        digits.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
    }
}

/// A call as it is understood.
struct Row {
    name: &'static str,
    surface: Surface,
    model: &'static str,
    format: Format,
    remote: Remote,
    details: Details,
}

/// Every call of the fixture, in its order; what is read of each stands in the comment of its capture: the body.
fn rows() -> Vec<Row> {
    let encode = |name, model| Row {
        name,
        surface: Surface::Encode,
        model,
        format: Format::Msgpack,
        remote: Remote::Absent,
        details: Details::default(),
    };
    let generation = |name, surface, model, details: Details| Row {
        name,
        surface,
        model,
        format: Format::Json,
        remote: Remote::Absent,
        details: Details { output_cap: Some(4), ..details },
    };
    let (whole, stream) = (Details::default, || Details { stream: true, ..Details::default() });
    let chat = |details| Details { choices: Some(1), ..details };
    vec![
        encode("encode_all", "BAAI/bge-m3"),
        Row { remote: Remote::Forbid, ..encode("encode_single_forbid_gpu", "org/m") },
        Row { surface: Surface::Score, ..encode("score", "BAAI/bge-reranker-v2-m3") },
        Row { surface: Surface::Extract, ..encode("extract", "urchade/gliner") },
        generation("generate", Surface::Generate, "Qwen/Q", whole()),
        generation("stream_generate", Surface::Generate, "Qwen/Q", stream()),
        generation("chat", Surface::Chat, "Qwen/Q", chat(whole())),
        generation("stream_chat", Surface::Chat, "Qwen/Q", chat(stream())),
        generation("responses", Surface::Responses, "m", whole()),
        generation("restored_refusal_generate", Surface::Generate, "Qwen/Q", whole()),
        Row { remote: Remote::Forbid, ..encode("forbid_remote_only", "m") },
        encode("shutdown_503", "m"),
        encode("unloading_503", "m"),
        encode("server_overloaded", "m"),
    ]
}

/// What passes through: no call at all.
const LISTS: [(&str, &str); 2] = [("list_models", "/v1/models"), ("get_model", "/v1/models/a/b")];

const SIE: Rules<'_> = Rules { dialect: Dialect::Sie, accept: &[], dense_dim: None, max_output_tokens: Some(512) };

fn captures() -> Vec<Capture> {
    let captures: Captures =
        serde_json::from_str(include_str!("../fixtures/sdk_requests.json")).expect("the fixture is JSON");
    captures.captures
}

/// The head passes the gate, and the engine sees every line of it that is not about the connection.
fn passed(sent: &Sent, head: &str) -> RequestHead {
    let mut out = Vec::new();
    let verdict = parse(head.as_bytes(), &mut out);
    let Verdict::Fast(read) = verdict else { panic!("{head}: {verdict:?}") };
    let out = String::from_utf8(out).expect("ASCII");
    let is_hop = |name: &str| ["Connection", "Content-Length"].contains(&name);
    for (name, value) in sent.headers.iter().filter(|(name, _)| !is_hop(name)) {
        assert!(out.contains(&format!("\r\n{name}: {value}\r\n")), "{name} of {head}");
    }
    assert!(read.keep_alive && !read.content_encoded && !read.expects_continue);
    read
}

#[test]
fn every_call_of_the_sdk_is_understood() {
    let mut rows = rows().into_iter();
    for capture in captures().iter().filter(|capture| LISTS.iter().all(|(list, _)| *list != capture.name)) {
        let row = rows.next().expect("a row for each call");
        assert_eq!(capture.name, row.name);
        let [sent] = &capture.requests[..] else { panic!("{}: one request", row.name) };
        let (text, body) = (sent.head(), sent.body());
        let head = passed(sent, &text);
        assert_eq!((head.method, head.remote), (Method::Post, row.remote), "{}", row.name);
        assert_eq!(head.framing, RequestFraming::Length(body.len() as u64), "{}", row.name);
        let Asked::Inference(surface, in_path) = asked(text[head.path].as_bytes()) else { panic!("{}", row.name) };
        assert_eq!(surface, row.surface, "{}", row.name);
        let content_type = head.content_type.map_or("", |range| &text[range]).as_bytes();
        let format = Format::of(surface, content_type);
        assert_eq!(format, row.format, "{}", row.name);
        let model = match in_path {
            Some(model) => model.into_owned(),
            None => call::named(format, content_type, &body).expect("it names its model").model.into_owned(),
        };
        assert_eq!(model, row.model, "{}", row.name);
        // The whole of it, so also that nothing is rejected.
        assert_eq!(call::inspect(surface, format, &body, &SIE), Ok(row.details), "{}", row.name);
    }
    assert!(rows.next().is_none(), "a call for each row");
}

#[test]
fn its_lists_of_models_pass_the_gate() {
    let captures = captures();
    for (name, path) in LISTS {
        let capture = captures.iter().find(|capture| capture.name == name).expect("it is in the fixture");
        let [sent] = &capture.requests[..] else { panic!("{name}: one request") };
        let text = sent.head();
        let head = passed(sent, &text);
        // It says msgpack of a body that is not there.
        assert_eq!(
            (head.method, head.framing, head.remote),
            (Method::Get, RequestFraming::None, Remote::Absent),
            "{name}"
        );
        assert_eq!((&text[head.path.clone()], asked(text[head.path].as_bytes())), (path, Asked::Other), "{name}");
    }
    assert_eq!(captures.len(), rows().len() + LISTS.len());
}
