//! What do the engine and the upstream of the benchmark say? One thread of their own plays both.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::wire::{content_length, head_end};

/// The model whose calls the engine refuses as still loading.
pub(crate) const COLD: &str = "cold";
/// The model whose streams say one thing and then next to nothing.
pub(crate) const IDLE: &str = "idle";
/// The content of the first content-bearing event of every stream.
pub(crate) const FIRST_CONTENT: &[u8] = br#""content":"tok""#;

const IDLE_GAP: Duration = Duration::from_secs(5);

/// Where the two listen.
pub(crate) struct Script {
    pub(crate) engine: u16,
    pub(crate) upstream: u16,
    pub(crate) gaps: Gaps,
}

/// How long after each refusal the upstream was asked.
pub(crate) struct Gaps(Receiver<f64>);

impl Gaps {
    /// Microseconds from the refusal's last byte written to the re-issued request fully read, since the last look.
    pub(crate) fn take(&self) -> Vec<f64> {
        self.0.try_iter().collect()
    }
}

/// When the engine last refused, written by its connections and read by the upstream's.
#[derive(Clone)]
struct Marks {
    start: Instant,
    /// Microseconds after `start`, as bits; NaN where no refusal waits for its re-issue.
    refused: Arc<AtomicU64>,
    gaps: Sender<f64>,
}

impl Marks {
    fn new() -> (Self, Gaps) {
        let (gaps, seen) = channel();
        (Self { start: Instant::now(), refused: Arc::new(AtomicU64::new(f64::NAN.to_bits())), gaps }, Gaps(seen))
    }

    fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * 1e6
    }

    fn refused(&self) {
        self.refused.store(self.now().to_bits(), Ordering::Relaxed);
    }

    fn asked(&self) {
        let gap = self.now() - f64::from_bits(self.refused.swap(f64::NAN.to_bits(), Ordering::Relaxed));
        // Nobody looks any more when the run is over.
        if gap.is_finite() {
            let _ = self.gaps.send(gap);
        }
    }
}

#[derive(Clone, Copy)]
enum Role {
    Engine,
    Upstream,
}

/// Starts both; they run until the process ends.
pub(crate) fn start() -> io::Result<Script> {
    let listen = || StdListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let (engine, upstream) = (listen()?, listen()?);
    let (marks, gaps) = Marks::new();
    let script = Script { engine: engine.local_addr()?.port(), upstream: upstream.local_addr()?.port(), gaps };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("scripted".into()).spawn(move || {
        runtime.block_on(async {
            let upstream = tokio::spawn(accept(upstream, Role::Upstream, marks.clone()));
            let ended = (accept(engine, Role::Engine, marks).await, upstream.await);
            eprintln!("bench: the scripted engine stopped: {ended:?}");
        });
    })?;
    Ok(script)
}

async fn accept(listener: StdListener, role: Role, marks: Marks) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        // A peer that hangs up in the middle is its own business.
        tokio::spawn(converse(stream, role, marks.clone()));
    }
}

async fn converse(mut stream: TcpStream, role: Role, marks: Marks) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(8192);
    while let Some(length) = read_request(&mut stream, &mut buffer).await? {
        let request = &buffer[..length];
        match (role, request.starts_with(b"POST "), contains(request, br#""stream":true"#)) {
            (_, false, _) => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await?,
            (Role::Engine, true, _) if names(request, COLD) => {
                stream.write_all(REFUSAL).await?;
                marks.refused();
            }
            (Role::Engine, true, true) if names(request, IDLE) => return idle(stream).await,
            (Role::Engine, true, _) if names(request, "r") => stream.write_all(&rich_answer()).await?,
            (Role::Engine, true, _) => stream.write_all(SMALL_ANSWER).await?,
            (Role::Upstream, true, _) if request.starts_with(b"POST /v1/embeddings ") => {
                stream.write_all(&vectors(request)).await?;
            }
            (Role::Upstream, true, true) => {
                marks.asked();
                stream.write_all(&chat_stream()).await?;
            }
            (Role::Upstream, true, false) => {
                marks.asked();
                stream.write_all(&chat_answer()).await?;
            }
        }
        buffer.drain(..length);
    }
    Ok(())
}

/// The length of the next whole request in `buffer`, or `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
    loop {
        if let Some(head) = head_end(buffer) {
            let whole = head + content_length(&buffer[..head]).unwrap_or(0);
            if buffer.len() >= whole {
                return Ok(Some(whole));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn names(request: &[u8], model: &str) -> bool {
    contains(request, format!(r#""model":"{model}""#).as_bytes())
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// One content event at once, then one every few seconds until the other side leaves.
async fn idle(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(STREAM_HEAD).await?;
    loop {
        stream.write_all(&chunk(&delta(FIRST_CONTENT))).await?;
        let mut end = [0; 64];
        tokio::select! {
            () = tokio::time::sleep(IDLE_GAP) => {}
            read = stream.read(&mut end) => if read? == 0 { return Ok(()) },
        }
    }
}

const SMALL_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n\
{\"object\":\"list\",\"data\":[{\"index\":0,\"embedding\":[0.1,0.2,0.3,0.4,0.5]}],\"model\":\"m\",\"u\":1}";

const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ndate: Sun, 29 Nov 2026 22:00:00 GMT\r\nserver: uvicorn\r\n\
retry-after: 5\r\ncontent-length: 98\r\ncontent-type: application/json\r\n\r\n\
{\"error\":{\"message\":\"model is loading\",\"type\":\"server_error\",\"param\":null,\"code\":\"MODEL_LOADING\"}}";

const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ndate: Sun, 29 Nov 2026 22:00:00 GMT\r\nserver: uvicorn\r\n\
content-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

fn rich_answer() -> Vec<u8> {
    let opening = r#"{"object":"list","model":"r","data":[{"object":"embedding","index":0,"embedding":""#;
    let closing = r#""}],"usage":{"prompt_tokens":9,"total_tokens":9}}"#;
    let body = format!("{opening}{}{closing}", "A".repeat(1024 - opening.len() - closing.len()));
    let fields = "date: Sun, 29 Nov 2026 22:00:00 GMT\r\nserver: uvicorn\r\nx-request-id: 01JDXX3M7Y2Q8ZP4V6K9T5R1WB\r\n\
        x-sie-model: vendor/vectors\r\nx-sie-version: 1.4.2\r\nx-sie-queue-ms: 3\r\ncontent-type: application/json\r\n";
    format!("HTTP/1.1 200 OK\r\n{fields}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn chat_answer() -> Vec<u8> {
    let body = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"vendor/warm","choices":[{"index":0,"message":{"role":"assistant","content":"tok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}"#;
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// How each input of an embeddings call begins.
pub(crate) const INPUT: &str = "text number ";

/// A vector of 1,024 components for each input, in base64.
fn vectors(request: &[u8]) -> Vec<u8> {
    let inputs = request.windows(INPUT.len()).filter(|window| *window == INPUT.as_bytes()).count();
    let vector = "zMxM".repeat(1365) + "PQ==";
    let data: Vec<String> = (0..inputs)
        .map(|index| format!(r#"{{"object":"embedding","index":{index},"embedding":"{vector}"}}"#))
        .collect();
    let body = format!(
        r#"{{"object":"list","data":[{}],"model":"v","usage":{{"prompt_tokens":{inputs},"total_tokens":{inputs}}}}}"#,
        data.join(",")
    );
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// A whole stream at once: a role, a word, the end, the usage.
fn chat_stream() -> Vec<u8> {
    let mut bytes = STREAM_HEAD.to_vec();
    for event in [
        delta(br#""role":"assistant","content":"""#),
        delta(FIRST_CONTENT),
        event(r#""choices":[{"index":0,"delta":{},"finish_reason":"stop"}]"#),
        event(r#""choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}"#),
        b"data: [DONE]\n\n".to_vec(),
    ] {
        bytes.extend(chunk(&event));
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn delta(inner: &[u8]) -> Vec<u8> {
    event(&format!(r#""choices":[{{"index":0,"delta":{{{}}},"finish_reason":null}}]"#, String::from_utf8_lossy(inner)))
}

fn event(rest: &str) -> Vec<u8> {
    format!(
        r#"data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"vendor/warm",{rest}}}"#
    )
    .into_bytes()
    .into_iter()
    .chain(*b"\n\n")
    .collect()
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{FIRST_CONTENT, REFUSAL, SMALL_ANSWER, chat_answer, chat_stream, contains, rich_answer};
    use crate::wire::{content_length, head_end};

    #[test]
    fn every_buffered_answer_is_json_of_the_announced_length() {
        for answer in [SMALL_ANSWER.to_vec(), REFUSAL.to_vec(), rich_answer(), chat_answer()] {
            let head = head_end(&answer).expect("a whole head");
            assert_eq!(content_length(&answer[..head]), Some(answer.len() - head));
            serde_json::from_slice::<Value>(&answer[head..]).expect("JSON");
        }
    }

    #[test]
    fn every_event_of_the_stream_is_json() {
        let text = String::from_utf8(chat_stream()).expect("UTF-8");
        let events: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let (done, events) = events.split_last().expect("events");
        assert_eq!((*done, events.len()), ("[DONE]", 4));
        for event in events {
            serde_json::from_str::<Value>(event).expect("JSON");
        }
        assert!(contains(text.as_bytes(), FIRST_CONTENT));
    }
}
