//! What do valid requests and answers look like on every surface?

use serde_json::{Value, json};

use super::client::Request;
use super::script::{Answer, Play};

/// An inference surface, streams apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the surfaces' own")]
pub enum Surface {
    Audio,
    Chat,
    ChatStream,
    Completions,
    CompletionsStream,
    Embeddings,
    Encode,
    Extract,
    Generate,
    GenerateStream,
    Rerank,
    Responses,
    Score,
}

impl Surface {
    /// The surface under its name in the fixtures.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "audio" => Self::Audio,
            "chat" => Self::Chat,
            "chat.stream" => Self::ChatStream,
            "completions" => Self::Completions,
            "completions.stream" => Self::CompletionsStream,
            "embeddings" => Self::Embeddings,
            "encode" => Self::Encode,
            "extract" => Self::Extract,
            "generate" => Self::Generate,
            "generate.stream" => Self::GenerateStream,
            "rerank" => Self::Rerank,
            "responses" => Self::Responses,
            "score" => Self::Score,
            _ => return None,
        })
    }

    /// The surface behind a path.
    pub fn of(path: &str, stream: bool) -> Self {
        let last = |name: &str| path.ends_with(name);
        match () {
            () if last("/chat/completions") && stream => Self::ChatStream,
            () if last("/chat/completions") => Self::Chat,
            () if last("/completions") && stream => Self::CompletionsStream,
            () if last("/completions") => Self::Completions,
            () if last("/responses") => Self::Responses,
            () if last("/embeddings") => Self::Embeddings,
            () if last("/rerank") => Self::Rerank,
            () if last("/transcriptions") => Self::Audio,
            () if path.contains("/v1/encode/") => Self::Encode,
            () if path.contains("/v1/score/") => Self::Score,
            () if path.contains("/v1/extract/") => Self::Extract,
            () if stream => Self::GenerateStream,
            () => Self::Generate,
        }
    }

    /// Whether errors stand under `detail` rather than `error`.
    pub fn is_native(self) -> bool {
        matches!(self, Self::Encode | Self::Score | Self::Extract | Self::Generate | Self::GenerateStream)
    }

    /// Whether the call asks for a stream.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::ChatStream | Self::CompletionsStream | Self::GenerateStream)
    }
}

/// A valid request for the model.
pub fn request(surface: Surface, model: &str) -> Request {
    let stream = surface.is_stream();
    let escaped = model.replace('/', "__");
    let (path, mut body) = match surface {
        Surface::Audio => return audio(model),
        Surface::Chat | Surface::ChatStream => ("/v1/chat/completions".to_owned(), chat_body(model)),
        Surface::Completions | Surface::CompletionsStream => {
            ("/v1/completions".to_owned(), json!({"model": model, "prompt": "hi", "max_tokens": 16}))
        }
        Surface::Embeddings => ("/v1/embeddings".to_owned(), json!({"model": model, "input": "hi"})),
        Surface::Encode => (format!("/v1/encode/{model}"), json!({"items": [{"text": "hi"}]})),
        Surface::Extract => {
            (format!("/v1/extract/{model}"), json!({"items": [{"text": "hi"}], "params": {"labels": ["person"]}}))
        }
        Surface::Generate | Surface::GenerateStream => {
            (format!("/v1/generate/{escaped}"), json!({"prompt": "hi", "max_new_tokens": 16}))
        }
        Surface::Rerank => ("/v1/rerank".to_owned(), json!({"model": model, "query": "q", "documents": ["a", "b"]})),
        Surface::Responses => {
            ("/v1/responses".to_owned(), json!({"model": model, "input": "hi", "max_output_tokens": 16}))
        }
        Surface::Score => {
            (format!("/v1/score/{model}"), json!({"query": {"text": "q"}, "items": [{"text": "a"}, {"text": "b"}]}))
        }
    };
    if stream {
        body["stream"] = Value::Bool(true);
    }
    Request::post(&path, "").field("Accept", "application/json").body(body.to_string())
}

/// The body of a small chat request.
pub fn chat_body(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 16})
}

/// A buffered chat request for the model.
pub fn chat(model: &str) -> Request {
    request(Surface::Chat, model)
}

fn audio(model: &str) -> Request {
    let body = format!(
        "--cut\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n{model}\r\n\
         --cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n--cut--\r\n"
    );
    Request::new("POST", "/v1/audio/transcriptions")
        .field("Content-Type", "multipart/form-data; boundary=cut")
        .body(body)
}

/// A valid answer; `text` is what the model said.
pub fn answer(surface: Surface, model: &str, text: &str) -> Play {
    match surface {
        Surface::ChatStream => Play::events(&chat_events(model, &[text])),
        Surface::CompletionsStream => Play::events(&completion_events(model, &[text])),
        Surface::GenerateStream => Play::events(&generate_events(&[text])),
        _ => Answer::json(200, &success_body(surface, model, text).to_string()).into(),
    }
}

/// The JSON of a valid answer; a stream's is that of the same call without one.
pub fn success_body(surface: Surface, model: &str, text: &str) -> Value {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4});
    match surface {
        Surface::Audio => json!({"text": text}),
        Surface::Completions | Surface::CompletionsStream => json!({
            "id": "cmpl-up", "object": "text_completion", "created": 1, "model": model,
            "choices": [{"index": 0, "text": text, "finish_reason": "stop", "logprobs": null}], "usage": usage}),
        Surface::Embeddings => json!({
            "object": "list", "model": model, "data": [{"object": "embedding", "index": 0, "embedding": [1.0, 2.0]}],
            "usage": {"prompt_tokens": 3, "total_tokens": 3}}),
        Surface::Encode => json!({
            "model": model, "timing": null, "usage": {"input_tokens": 3},
            "items": [{"dense": {"dims": 2, "dtype": "float32", "values": [1.0, 2.0]}}]}),
        Surface::Extract => json!({
            "model": model, "usage": {"input_tokens": 3},
            "items": [{"entities": [], "relations": [], "classifications": [], "objects": [], "data": {}}]}),
        Surface::Generate | Surface::GenerateStream => {
            json!({"model": model, "text": text, "finish_reason": "stop", "usage": usage})
        }
        Surface::Rerank => json!({
            "model": model, "usage": {"prompt_tokens": 3, "total_tokens": 3},
            "results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]}),
        Surface::Responses => json!({
            "id": "resp_up", "object": "response", "created_at": 1, "status": "completed", "model": model,
            "output": [{"type": "message", "id": "msg_up", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": text, "annotations": []}]}],
            "usage": {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}}),
        Surface::Score => json!({
            "model": model, "query_id": null, "usage": {"input_tokens": 3},
            "scores": [{"item_id": "1", "score": 0.9, "rank": 0}, {"item_id": "0", "score": 0.1, "rank": 1}]}),
        Surface::Chat | Surface::ChatStream => json!({
            "id": "chatcmpl-up", "object": "chat.completion", "created": 1, "model": model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": usage}),
    }
}

/// One event that carries this JSON.
pub fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// The last event of every stream that ended well.
pub const DONE: &str = "data: [DONE]\n\n";

fn chat_chunk(model: &str, choices: &Value) -> String {
    data(
        &json!({"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}),
    )
}

/// A chat event that says who speaks, and nothing else.
pub fn chat_role(model: &str) -> String {
    chat_chunk(model, &json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]))
}

/// A chat event with content.
pub fn chat_text(model: &str, text: &str) -> String {
    chat_chunk(model, &json!([{"index": 0, "delta": {"content": text}, "finish_reason": null}]))
}

/// The chat events that end a stream well: the finish, the usage, `[DONE]`.
pub fn chat_finish(model: &str) -> Vec<String> {
    let usage = json!({"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}});
    vec![chat_chunk(model, &json!([{"index": 0, "delta": {}, "finish_reason": "stop"}])), data(&usage), DONE.to_owned()]
}

/// A whole chat stream, one event for each text.
pub fn chat_events(model: &str, texts: &[&str]) -> Vec<String> {
    let texts = texts.iter().map(|text| chat_text(model, text));
    std::iter::once(chat_role(model)).chain(texts).chain(chat_finish(model)).collect()
}

fn completion_chunk(model: &str, choices: &Value) -> String {
    data(&json!({"id": "cmpl-up", "object": "text_completion", "created": 1, "model": model, "choices": choices}))
}

/// A completions event with text.
pub fn completion_text(model: &str, text: &str) -> String {
    completion_chunk(model, &json!([{"index": 0, "text": text, "finish_reason": null, "logprobs": null}]))
}

/// A whole completions stream.
pub fn completion_events(model: &str, texts: &[&str]) -> Vec<String> {
    let mut events: Vec<String> = texts.iter().map(|text| completion_text(model, text)).collect();
    events.push(completion_chunk(model, &json!([{"index": 0, "text": "", "finish_reason": "stop", "logprobs": null}])));
    events
        .push(data(&json!({"id": "cmpl-up", "object": "text_completion", "created": 1, "model": model, "choices": [],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}})));
    events.push(DONE.to_owned());
    events
}

/// A native generate event with text.
pub fn generate_text(seq: usize, text: &str) -> String {
    data(&json!({"request_id": "r-up", "seq": seq, "text_delta": text, "done": false}))
}

/// A native terminal event with this reason and these further members.
pub fn generate_end(seq: usize, reason: &str, more: &[(&str, Value)]) -> String {
    let mut end = json!({"request_id": "r-up", "seq": seq, "text_delta": "", "done": true, "finish_reason": reason});
    for (name, value) in more {
        end[*name] = value.clone();
    }
    data(&end)
}

/// A whole native generate stream.
pub fn generate_events(texts: &[&str]) -> Vec<String> {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4});
    let mut events: Vec<String> = texts.iter().enumerate().map(|(seq, text)| generate_text(seq, text)).collect();
    events.push(generate_end(texts.len(), "stop", &[("usage", usage)]));
    events.push(DONE.to_owned());
    events
}

/// A native answer in msgpack: a dense vector 1.0, 2.0 for encode, one empty item for extract.
pub(crate) fn msgpack(surface: Surface) -> Vec<u8> {
    // {"items": [ITEM]}; an array is a map with binary keys nd, type, kind, shape, data.
    let mut bytes = b"\x81\xa5items\x91".to_vec();
    if surface == Surface::Encode {
        bytes
            .extend_from_slice(b"\x81\xa5dense\x81\xa6values\x85\xc4\x02nd\xc3\xc4\x04type\xa3<f4\xc4\x04kind\xc4\x00");
        bytes.extend_from_slice(b"\xc4\x05shape\x91\x02\xc4\x04data\xc4\x08\x00\x00\x80\x3f\x00\x00\x00\x40");
    } else {
        bytes.extend_from_slice(b"\x81\xa8entities\x90");
    }
    bytes
}
