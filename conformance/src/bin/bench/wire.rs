//! Which bytes are sent, and when is an answer complete?

use crate::scripted::INPUT;
use std::io;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const SMALL_BODY: &str = r#"{"model":"m","input":"hello world, this is a small embedding request body"}"#;

/// What a client of a hosted API really sends: 16 header fields in all.
const RICH_FIELDS: &str = "accept: application/json\r\n\
    content-type: application/json\r\n\
    accept-encoding: gzip, deflate\r\n\
    user-agent: OpenAI/Python 2.54.0\r\n\
    authorization: Bearer sk-local-0123456789abcdef0123456789abcdef\r\n\
    x-stainless-lang: python\r\n\
    x-stainless-package-version: 2.54.0\r\n\
    x-stainless-os: Linux\r\n\
    x-stainless-arch: x64\r\n\
    x-stainless-runtime: CPython\r\n\
    x-stainless-runtime-version: 3.12.1\r\n\
    x-stainless-async: false\r\n\
    x-stainless-retry-count: 0\r\n\
    traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";

/// A request as the load generator sends it, and the name it has in the report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    /// 1 KB of body, 16 header fields, a 1 KB answer.
    Rich,
    /// 75 bytes of body, 3 header fields, a 90-byte answer.
    Small,
}

impl Shape {
    pub(crate) const ALL: [Self; 2] = [Self::Small, Self::Rich];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rich => "1 KB, 16 headers",
            Self::Small => "75 B",
        }
    }

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Rich => "rich",
            Self::Small => "small",
        }
    }

    pub(crate) fn request(self) -> Vec<u8> {
        match self {
            Self::Rich => post("/v1/embeddings", RICH_FIELDS, &padded(r#"{"model":"r","input":""#, r#""}"#)),
            Self::Small => post("/v1/embeddings", "content-type: application/json\r\n", SMALL_BODY),
        }
    }
}

/// A chat call of about 1 KB for `model`.
pub(crate) fn chat(model: &str, stream: bool) -> Vec<u8> {
    let opening =
        format!(r#"{{"model":"{model}","stream":{stream},"max_tokens":64,"messages":[{{"role":"user","content":""#);
    post("/v1/chat/completions", "content-type: application/json\r\n", &padded(&opening, r#""}]}"#))
}

/// An embeddings call of so many inputs, answered in base64 as the OpenAI clients ask for it.
pub(crate) fn embeddings(model: &str, inputs: usize) -> Vec<u8> {
    let inputs: Vec<String> = (0..inputs).map(|number| format!(r#""{INPUT}{number}""#)).collect();
    let body = format!(r#"{{"model":"{model}","encoding_format":"base64","input":[{}]}}"#, inputs.join(","));
    post("/v1/embeddings", "content-type: application/json\r\n", &body)
}

/// A body of exactly 1 KB, its middle filled with words.
fn padded(opening: &str, closing: &str) -> String {
    let fill: String = "wide water ".chars().cycle().take(1024 - opening.len() - closing.len()).collect();
    format!("{opening}{fill}{closing}")
}

fn post(path: &str, fields: &str, body: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nHost: bench\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Where the head in `bytes` ends, once it does.
pub(crate) fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// The value of a header field, by its lower-case name.
pub(crate) fn field<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    std::str::from_utf8(head).ok()?.split("\r\n").skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Announced length of the body behind `head`.
pub(crate) fn content_length(head: &[u8]) -> Option<usize> {
    field(head, "content-length")?.parse().ok()
}

/// One keep-alive connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Sends `request` and reads the whole answer. True where it is a 200.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> io::Result<bool> {
        self.send(request).await?;
        self.read_answer().await
    }

    pub(crate) async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.buffer.clear();
        self.stream.write_all(request).await
    }

    /// Reads one answer to its end, whatever its framing.
    pub(crate) async fn read_answer(&mut self) -> io::Result<bool> {
        let head = loop {
            if let Some(end) = head_end(&self.buffer) {
                break end;
            }
            self.more().await?;
        };
        match content_length(&self.buffer[..head]) {
            Some(length) => {
                while self.buffer.len() < head + length {
                    self.more().await?;
                }
            }
            None => self.read_until(b"0\r\n\r\n").await?,
        }
        Ok(self.buffer.starts_with(b"HTTP/1.1 200 "))
    }

    /// Reads until `needle` has come in after the last request.
    pub(crate) async fn read_until(&mut self, needle: &[u8]) -> io::Result<()> {
        while !self.buffer.windows(needle.len()).any(|window| window == needle) {
            self.more().await?;
        }
        Ok(())
    }

    /// Everything received since the last request.
    pub(crate) fn received(&self) -> &[u8] {
        &self.buffer
    }

    async fn more(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, chat, content_length, field, head_end};

    fn body(request: &[u8]) -> &[u8] {
        &request[head_end(request).expect("a whole head")..]
    }

    #[test]
    fn the_two_shapes_are_what_the_report_calls_them() {
        let (small, rich) = (Shape::Small.request(), Shape::Rich.request());
        assert_eq!(body(&small).len(), 75);
        assert_eq!(body(&rich).len(), 1024);
        let head = std::str::from_utf8(&rich[..rich.len() - 1024]).expect("ASCII");
        assert_eq!(head.trim_end().lines().count() - 1, 16);
        assert_eq!(content_length(&small), Some(75));
    }

    #[test]
    fn bodies_are_json_that_names_a_model() {
        for request in [Shape::Small.request(), Shape::Rich.request(), chat("cold", true)] {
            let value: serde_json::Value = serde_json::from_slice(body(&request)).expect("JSON");
            assert!(value["model"].is_string());
        }
    }

    #[test]
    fn fields_are_found_by_name_in_any_case() {
        let head = b"HTTP/1.1 200 OK\r\nX-SIE-Served-By: remote\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(field(head, "x-sie-served-by"), Some("remote"));
        assert_eq!(field(head, "x-sie-upstream"), None);
        assert_eq!(content_length(head), Some(3));
    }
}
